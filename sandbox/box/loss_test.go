package box_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/link"
)

// TestLostInTheMiddle: the guest dies, its output survives, the next command
// starts another.
func TestLostInTheMiddle(t *testing.T) {
	l := &launcher{lives: []life{commands(func(c *call) {
		_ = c.out.Write(link.Stdout, []byte("before\n"))
		if c.req.Argv[0] == "die" {
			_ = c.session.Close()
		} else {
			c.wait()
		}
	}), honest()}}
	b := start(t, config(t, l))
	other, err := b.Spawn(t.Context(), argv("sleep"))
	if err != nil {
		t.Fatal(err)
	}
	for other.Result().Output.TotalBytes == 0 {
		time.Sleep(time.Millisecond)
	}
	if res := exec(t, b, argv("die")); res.Cause != sandbox.Lost || res.Output.String() != "before\n" {
		t.Errorf("got %+v", res)
	}
	<-other.Done()
	if res := other.Result(); res.Cause != sandbox.Lost || res.Output.String() != "before\n" {
		t.Errorf("the other: %+v", res)
	}
	if res := exec(t, b, argv("echo", "x")); !res.OK() || l.launched.Load() != 2 {
		t.Errorf("then %+v, %d launches", res, l.launched.Load())
	}
}

// TestLastWords: what a guest said before it died is not lost to the moment at
// which the host notices.
func TestLastWords(t *testing.T) {
	for range 500 {
		l := &launcher{lives: []life{commands(func(c *call) {
			_ = c.out.Write(link.Stdout, []byte("before\n"))
			_ = c.session.Close()
		})}}
		b := start(t, config(t, l))
		if res := exec(t, b, argv("die")); res.Cause != sandbox.Lost || res.Output.String() != "before\n" {
			t.Fatalf("got %+v", res)
		}
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOutOfMemory: a sandbox that the kernel ended for memory is not just lost.
func TestOutOfMemory(t *testing.T) {
	l := &launcher{}
	l.lives = []life{commands(func(c *call) {
		l.ooms.Add(1)
		_ = c.session.Close()
	}), honest()}
	b := start(t, config(t, l))
	if res := exec(t, b, argv("x")); res.Cause != sandbox.OutOfMemory {
		t.Errorf("got %+v", res)
	}
	if res := exec(t, b, argv("exit", "1")); res.Cause != sandbox.Exited {
		t.Errorf("then %+v", res)
	}
}

// TestNoSecondLaunch: a sandbox that cannot be started again is an error; the
// one after may work.
func TestNoSecondLaunch(t *testing.T) {
	errNo := errors.New("no more memory")
	l := &launcher{lives: []life{commands(func(c *call) { _ = c.session.Close() }), honest()}, refuse: func(n int) error {
		if n == 1 {
			return errNo
		}
		return nil
	}}
	b := start(t, config(t, l))
	if res := exec(t, b, argv("x")); res.Cause != sandbox.Lost {
		t.Errorf("got %+v", res)
	}
	if _, err := b.Exec(t.Context(), argv("x")); !errors.Is(err, errNo) {
		t.Errorf("got %v", err)
	}
	if res := exec(t, b, argv("echo")); !res.OK() {
		t.Errorf("then %+v", res)
	}
}

// TestUnkillable: what cannot be ended is an error, in time; nothing is started
// beside it.
func TestUnkillable(t *testing.T) {
	l := &launcher{lives: []life{commands(func(c *call) { _ = c.session.Close() })}, stubborn: true, faulty: true}
	cfg := config(t, l)
	cleaned := 0
	cfg.Cleanup = func(context.Context) error { cleaned++; return nil }
	b := start(t, cfg)
	if res := exec(t, b, argv("x")); res.Cause != sandbox.Lost {
		t.Errorf("got %+v", res)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if res, err := b.Exec(ctx, argv("x")); err == nil && res.Cause != sandbox.Canceled || l.launched.Load() != 1 {
		t.Errorf("a second one beside the first: %+v, %v, %d launches", res, err, l.launched.Load())
	}
	began := time.Now()
	if err := within(t, "close", func() error { return b.Close(context.Background()) }); err == nil {
		t.Error("close hides that it could not end the sandbox")
	}
	if d := time.Since(began); d > 15*time.Second || cleaned != 1 {
		t.Errorf("took %s, cleaned %d times", d, cleaned)
	}
}
