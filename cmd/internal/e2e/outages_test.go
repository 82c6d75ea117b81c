package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
)

// pausing is a script whose model holds its first reply of one turn back.
type pausing struct {
	steps   []modeltest.Step
	asked   chan struct{} // closed when the model is asked
	release func()
}

// pauseAt holds the first request to which the model has spoken n times.
func pauseAt(t *testing.T, steps []modeltest.Step, n int) pausing {
	t.Helper()
	asked, goOn := make(chan struct{}), make(chan struct{})
	var ask, release sync.Once
	p := pausing{asked: asked, release: func() { release.Do(func() { close(goOn) }) }}
	t.Cleanup(p.release)
	for _, inner := range steps {
		p.steps = append(p.steps, func(r modeltest.Request) modeltest.Reply {
			if spoken(r) == n {
				ask.Do(func() {
					close(asked)
					<-goOn
				})
			}
			return inner(r)
		})
	}
	return p
}

func spoken(r modeltest.Request) int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == model.RoleAssistant {
			n++
		}
	}
	return n
}

// socket is the redis-server's.
func (c *chaos) socket() string { return strings.TrimPrefix(c.redis, "unix://") }

// restartRedis kills the redis-server, stays without for a while, and starts
// it on what it had kept.
func (c *chaos) restartRedis(away time.Duration) {
	c.t.Helper()
	c.stopRedis()
	pause(c.t.Context(), away)
	c.stopRedis = c.startRedis(strings.TrimSuffix(c.socket(), "/s"))
}

// pause is how long a fault lasts.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// client speaks to the redis-server past all links.
func (c *chaos) client() *redis.Client {
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: c.socket()})
	c.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// loseQueue forgets the queue, and keeps the records.
func (c *chaos) loseQueue() {
	c.t.Helper()
	rdb := c.client()
	keys, err := rdb.Keys(c.t.Context(), "asynq:*").Result()
	if err == nil && len(keys) > 0 {
		err = rdb.Del(c.t.Context(), keys...).Err()
	}
	if err != nil || len(keys) == 0 {
		c.t.Fatalf("queue keys %v: %v", keys, err)
	}
}

// silence is how long a connection is cut.
const silence = 20 * time.Second

// TestOutages: what Redis does in the middle of a run shows in no outcome.
func TestOutages(t *testing.T) {
	want, _ := undisturbed(t)
	workers := func(c *chaos, n int) (out []*exec.Cmd) {
		for range n {
			out = append(out, c.worker())
		}
		return out
	}
	linked := func(c *chaos, n int) (out []*link) {
		for range n {
			k := newLink(c.t, c.socket())
			c.worker("GREENWRIGHT_REDIS_URL=" + k.url())
			out = append(out, k)
		}
		return out
	}
	cases := map[string]struct {
		turn  int // of the model, in which it happens
		start func(c *chaos) (outage func(release func()))
	}{
		"redis is killed and comes back": {3, func(c *chaos) func(func()) {
			workers(c, 1)
			return func(func()) { c.restartRedis(500 * time.Millisecond) }
		}},
		"redis is away for longer than a lease": {3, func(c *chaos) func(func()) {
			workers(c, 2)
			return func(release func()) {
				c.stopRedis()
				release()
				c.restartRedis(3 * lease)
			}
		}},
		"redis is killed before anything was done": {0, func(c *chaos) func(func()) {
			workers(c, 2)
			return func(release func()) { c.stopRedis(); release(); c.restartRedis(lease / 2) }
		}},
		"redis is killed at the submission": {6, func(c *chaos) func(func()) {
			workers(c, 2)
			return func(release func()) { c.stopRedis(); release(); c.restartRedis(lease / 2) }
		}},
		"the connection of one is cut": {3, func(c *chaos) func(func()) {
			links := linked(c, 1)
			workers(c, 1)
			return func(release func()) { // whichever has the run
				links[0].cut()
				release()
				pause(c.t.Context(), silence)
				links[0].mend()
			}
		}},
		"the connections of all are cut": {4, func(c *chaos) func(func()) {
			links := linked(c, 2)
			return func(release func()) {
				for _, k := range links {
					k.cut()
				}
				release()
				pause(c.t.Context(), silence)
				for _, k := range links {
					k.mend()
				}
			}
		}},
		"the queue is lost": {3, func(c *chaos) func(func()) {
			workers(c, 1)
			return func(func()) { c.loseQueue() }
		}},
		"the queue and the worker are lost": {3, func(c *chaos) func(func()) {
			w := workers(c, 1)
			return func(func()) {
				killNow(w[0])
				c.loseQueue()
				workers(c, 1)
			}
		}},
		"redis and the worker are lost": {5, func(c *chaos) func(func()) {
			w := workers(c, 1)
			return func(func()) {
				killNow(w[0])
				c.restartRedis(0)
				workers(c, 1)
			}
		}},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pauseAt(t, chaosScript(), tt.turn)
			c := newChaos(t, p.steps)
			outage := tt.start(c)
			number, _ := c.issue("Adding is wrong", "", "/agent fix")
			c.awaitChannel("the model", p.asked)
			outage(p.release)
			p.release()
			mended := time.Now()
			c.ended(number)
			t.Logf("ended %s after the outage", time.Since(mended).Round(100*time.Millisecond))
			got := c.outcome(number)
			c.settle(&got, want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-undisturbed +got):\n%s", diff)
			}
			c.quiet()
			if os.Getenv("CHAOS_LOG") != "" {
				t.Logf("log:\n%s", c.log)
			}
		})
	}
}

// awaitChannel waits until it is closed.
func (w *world) awaitChannel(what string, ch <-chan struct{}) {
	w.t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		w.t.Fatalf("waited for %s\n%s", what, w.log)
	}
}
