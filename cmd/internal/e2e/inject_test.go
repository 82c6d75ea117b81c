package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs/journal"
)

const (
	// freezeOn makes the program stop itself, as SIGSTOP does, when it has
	// written the first record that matches the expression.
	freezeOn = "GREENWRIGHT_E2E_FREEZE_ON"
	// clockOff sets the program's clock off: "3600s" from the start, or
	// "3600s@2s": from two seconds after the start.
	clockOff = "GREENWRIGHT_E2E_CLOCK"
)

// injected are the faults that the environment asks for.
func injected() []wire.Option {
	var opts []wire.Option
	if text := os.Getenv(freezeOn); text != "" {
		opts = append(opts, wire.WithJournals(freezing(regexp.MustCompile(text))))
	}
	if text := os.Getenv(clockOff); text != "" {
		opts = append(opts, wire.WithClock(offClock(text)))
	}
	return opts
}

// freezing stops the process once, right after a record.
func freezing(on *regexp.Regexp) func(journal.Sink) journal.Sink {
	var done atomic.Bool
	return func(inner journal.Sink) journal.Sink {
		return sinkFunc(func(ctx context.Context, seq uint64, line []byte) error {
			err := inner.Append(ctx, seq, line)
			if err == nil && on.Match(bytes.TrimSpace(line)) && done.CompareAndSwap(false, true) {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			}
			return err
		})
	}
}

// offClock is a clock that is wrong, perhaps only after a while.
func offClock(text string) func() time.Time {
	by, after, later := strings.Cut(text, "@")
	off, err := time.ParseDuration(by)
	if err != nil {
		panic(err)
	}
	var wait time.Duration
	if later {
		if wait, err = time.ParseDuration(after); err != nil {
			panic(err)
		}
	}
	begun := time.Now()
	return func() time.Time {
		now := time.Now()
		if now.Sub(begun) < wait {
			return now
		}
		return now.Add(off)
	}
}

// awaitFrozen waits until a process is stopped.
func (c *chaos) awaitFrozen(cmd *exec.Cmd) {
	c.t.Helper()
	c.await("a stopped process", func() error {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		if err != nil {
			return err
		}
		if _, state, ok := strings.Cut(string(stat), ") "); !ok || !strings.HasPrefix(state, "T") {
			return fmt.Errorf("its state is %.1s", state)
		}
		return nil
	})
}

// freeze stops a process; its children go on. It is thawed when the test ends.
func (c *chaos) freeze(cmd *exec.Cmd) {
	c.t.Helper()
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		c.t.Fatal(err)
	}
	c.awaitFrozen(cmd)
	c.thawLater(cmd)
}

// thawLater lets a stopped process go on before it is waited for.
func (c *chaos) thawLater(cmd *exec.Cmd) {
	c.t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGCONT) })
}

func (c *chaos) thaw(cmd *exec.Cmd) {
	c.t.Helper()
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		c.t.Fatal(err)
	}
}

// killNow is kill -9, and waits for the end.
func killNow(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// gate is a way to the forge that holds one request until it is opened.
type gate struct {
	url     string
	arrived chan struct{}
	open    chan struct{}
	passed  chan struct{} // closed when the held request was answered
}

// newGate holds the first request that match likes.
func newGate(t *testing.T, to string, match func(*http.Request) bool) *gate {
	t.Helper()
	base, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{arrived: make(chan struct{}), open: make(chan struct{}), passed: make(chan struct{})}
	var held atomic.Bool
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = base.Scheme, base.Host
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if match(r) && held.CompareAndSwap(false, true) {
			close(g.arrived)
			defer close(g.passed)
			<-g.open
			r = r.WithContext(context.WithoutCancel(r.Context())) // it was on its way, whoever waits for the answer
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	g.url = s.URL + base.Path
	return g
}
