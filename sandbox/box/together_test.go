package box_test

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/box"
)

func TestManyAtOnce(t *testing.T) {
	l := &launcher{lives: []life{honest()}}
	b := start(t, config(t, l))
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			for range 10 {
				word := strings.Repeat("x", i+1)
				res, err := b.Exec(t.Context(), sandbox.Cmd{Argv: []string{"cat"}, Stdin: strings.NewReader(word)})
				if err != nil || res.Output.String() != word || !res.OK() {
					t.Errorf("got %+v, %v", res, err)
				}
			}
		})
	}
	all.Wait()
	if l.launched.Load() != 1 {
		t.Errorf("%d launches", l.launched.Load())
	}
}

// TestCloseAgainstAll: whatever meets Close ends, with a result, or ErrClosed.
func TestCloseAgainstAll(t *testing.T) {
	for range 25 {
		l := &launcher{lives: []life{honest()}}
		cfg := config(t, l)
		var cleaned atomic.Int64
		cfg.Cleanup = func(context.Context) error { cleaned.Add(1); return nil }
		g := &gateway{}
		cfg.Spec.Gateway = g
		b, err := box.New(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				cmd := sandbox.Cmd{Argv: []string{[]string{"sleep", "echo", "talk"}[i%3]}, Network: true}
				if i%4 == 0 {
					p, err := b.Spawn(t.Context(), cmd)
					if err != nil {
						if !errors.Is(err, sandbox.ErrClosed) {
							t.Errorf("spawn: %v", err)
						}
						return
					}
					_, _ = p.Stop(t.Context())
					<-p.Done()
					return
				}
				res, err := b.Exec(t.Context(), cmd)
				if err == nil && res.Cause != sandbox.Canceled && (res.Cause != sandbox.Exited || cmd.Argv[0] != "echo") || err != nil && !errors.Is(err, sandbox.ErrClosed) {
					t.Errorf("%s: %+v, %v", cmd.Argv[0], res, err)
				}
			})
		}
		for range 3 {
			all.Go(func() {
				if err := b.Close(context.Background()); err != nil {
					t.Errorf("close: %v", err)
				}
				if l.open.Load() != 0 || cleaned.Load() != 1 {
					t.Errorf("closed with %d guests, cleaned %d times", l.open.Load(), cleaned.Load())
				}
			})
		}
		all.Wait()
		if _, err := b.Exec(t.Context(), argv("echo")); !errors.Is(err, sandbox.ErrClosed) {
			t.Errorf("after: %v", err)
		}
		if g.opened.Load() != g.done.Load() {
			t.Errorf("the way out was opened %d times and closed %d times", g.opened.Load(), g.done.Load())
		}
	}
}

// TestCloseDuringALaunch does not wait for it.
func TestCloseDuringALaunch(t *testing.T) {
	l := &launcher{lives: []life{commands(func(c *call) { _ = c.session.Close() }), func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }}}
	b := start(t, config(t, l))
	exec(t, b, argv("x"))
	ended := make(chan error, 1)
	go func() {
		_, err := b.Exec(context.WithoutCancel(t.Context()), argv("x"))
		ended <- err
	}()
	for l.launched.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	if err := b.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("took %s", d)
	}
	if err := <-ended; !errors.Is(err, sandbox.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// TestDiskLimit: it holds for the next command as well.
func TestDiskLimit(t *testing.T) {
	cfg := config(t, &launcher{lives: []life{honest()}})
	cfg.Spec.Limits.WorkspaceBytes = 1 << 20
	b := start(t, cfg)
	file := func(name string) string { return filepath.Join(cfg.Spec.Workspace, name) }
	if res := exec(t, b, sandbox.Cmd{Argv: []string{"fill", file("small"), "1000"}, Timeout: time.Second}); res.Cause == sandbox.DiskLimit {
		t.Errorf("within the limit: %+v", res)
	}
	for _, name := range []string{"a", "b", "c"} {
		cmd := argv("fill", file(name), "3000000")
		cmd.Timeout = 5 * time.Second
		if res := exec(t, b, cmd); res.Cause != sandbox.DiskLimit {
			t.Errorf("file %s: %+v", name, res)
		}
	}
	if res := exec(t, b, argv("echo")); !res.OK() {
		t.Errorf("a command that adds nothing: %+v", res)
	}
}

// TestOneLookAtTheDisk: commands that come and go do not make it run twice,
// which the race detector would see, and leave nothing.
func TestOneLookAtTheDisk(t *testing.T) {
	b := around(t, honest())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 150 {
				exec(t, b, argv("echo"))
			}
		})
	}
	all.Wait()
}
