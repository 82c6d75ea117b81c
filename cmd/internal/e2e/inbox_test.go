package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/vcs"
)

// TestThreeMessages: what people say to a live run is heard in order and each
// once, though its worker is killed, and though none is up at the third.
func TestThreeMessages(t *testing.T) { chaosEach(t, threeMessages) }

func threeMessages(t *testing.T, on vcs.ForgeName) {
	p := pauseAt(t, chaosScript(), 2)
	c := newChaosOn(t, on, p.steps)
	c.front = true
	w := &inhabited{c.world}
	scripted(&w.cfg)
	w.cfg.Redis.URL = c.secret()
	w.begin(wire.RoleReceiver)
	first := c.worker()
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	<-p.asked
	handed := func(n int) func() error {
		return func() error {
			if got := strings.Count(w.log.String(), "message handed on"); got != n {
				return fmt.Errorf("%d are handed on", got)
			}
			return nil
		}
	}
	for i, text := range []string{"mind the sign", "and the width"} {
		w.says(number, "maintainer", "/agent fix "+text)
		w.await("the message", handed(i+1))
	}
	killNow(first)
	p.release()
	w.says(number, "maintainer", "/agent fix then rest")
	if err := w.hub.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.worker()
	c.ended(number)
	text := w.toldLast("Adding is wrong")
	at := 0
	for _, m := range []string{"mind the sign", "and the width", "then rest"} {
		if n := strings.Count(text, m); n != 1 {
			t.Errorf("%q was heard %d times:\n%s", m, n, text)
		}
		if i := strings.Index(text, m); i < at {
			t.Errorf("%q came too early", m)
		} else {
			at = i
		}
	}
	if o := c.outcome(number); o.Pulls != 1 || o.Comments != 1 || !o.Verdict {
		t.Errorf("%+v", o)
	}
}
