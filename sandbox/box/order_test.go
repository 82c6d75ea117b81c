package box_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/link"
)

// filter holds everything back until it is closed.
type filter struct {
	dst    io.Writer
	held   []byte
	closed *atomic.Int64
	err    error
}

func (f *filter) Write(p []byte) (int, error) {
	f.held = append(f.held, p...)
	return len(p), f.err
}

func (f *filter) Close() error {
	f.closed.Add(1)
	_, err := f.dst.Write(f.held)
	return err
}

// TestFilter: it is closed once for each stream, however the command ends, and
// what it held back is in everything.
func TestFilter(t *testing.T) {
	for name, c := range map[string]struct {
		cmd  sandbox.Cmd
		want int64
		out  string
	}{
		"exit":             {argv("echo", "x"), 1, "x\n"},
		"split":            {sandbox.Cmd{Argv: []string{"split"}, OnStderr: func([]byte) {}}, 2, "out\nout\nerr\n"},
		"time":             {sandbox.Cmd{Argv: []string{"sleep"}, Timeout: 100 * time.Millisecond}, 1, "up\n"},
		"loss":             {argv("die"), 1, "before\n"},
		"no output file":   {sandbox.Cmd{Argv: []string{"echo"}, Artifact: "/nowhere/at/all"}, 0, ""},
		"full output file": {sandbox.Cmd{Argv: []string{"echo", "x"}, Artifact: "/dev/full"}, 1, "x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var made, closed atomic.Int64
			cfg := config(t, &launcher{lives: []life{commands(func(c *call) {
				if c.req.Argv[0] == "die" {
					_ = c.out.Write(link.Stdout, []byte("before\n"))
					_ = c.session.Close()
					return
				}
				runHonest(c)
			})}})
			cfg.Spec.Filter = func(dst io.Writer) io.WriteCloser {
				made.Add(1)
				return &filter{dst: dst, closed: &closed}
			}
			b := start(t, cfg)
			res, err := b.Exec(t.Context(), c.cmd)
			if made.Load() != c.want || closed.Load() != c.want || res.Output.String() != c.out {
				t.Errorf("made %d, closed %d times, output %q, %v", made.Load(), closed.Load(), res.Output, err)
			}
		})
	}
}

// TestOutputFileThatFails: it is an error, and the command is concluded all the
// same.
func TestOutputFileThatFails(t *testing.T) {
	b := around(t, honest())
	res, err := b.Exec(t.Context(), sandbox.Cmd{Argv: []string{"exit", "3"}, Artifact: "/nowhere/at/all"})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %+v, %v", res, err)
	}
	res, err = b.Exec(t.Context(), sandbox.Cmd{Argv: []string{"yes", "100000"}, Artifact: "/dev/full"})
	if err == nil || res.Cause != sandbox.Exited || res.Output.TotalBytes != 100000 {
		t.Errorf("full: got %s, %d bytes, %v", res.Cause, res.Output.TotalBytes, err)
	}
	if res := exec(t, b, argv("echo")); !res.OK() {
		t.Errorf("then %+v", res)
	}
}

// TestFilterThatFails: its error is the command's.
func TestFilterThatFails(t *testing.T) {
	var closed atomic.Int64
	errFull := errors.New("full")
	cfg := config(t, &launcher{lives: []life{honest()}})
	cfg.Spec.Filter = func(dst io.Writer) io.WriteCloser { return &filter{dst: dst, closed: &closed, err: errFull} }
	b := start(t, cfg)
	if res, err := b.Exec(t.Context(), argv("echo")); !errors.Is(err, errFull) || res.Cause != sandbox.Exited || closed.Load() != 1 {
		t.Errorf("got %+v, %v, closed %d times", res, err, closed.Load())
	}
}

// TestPanicOfACallback is the caller's error; nothing hangs, the box goes on.
func TestPanicOfACallback(t *testing.T) {
	b := around(t, honest())
	calls := 0
	err := within(t, "exec", func() error {
		_, err := b.Exec(t.Context(), sandbox.Cmd{Argv: []string{"yes", "1000000"}, OnOutput: func([]byte) {
			calls++
			panic("by the caller")
		}})
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "by the caller") || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
	if res := exec(t, b, argv("echo")); !res.OK() {
		t.Errorf("then %+v", res)
	}
}

// TestNothingAfterExec: no callback comes once Exec has returned, and the
// output file is whole then.
func TestNothingAfterExec(t *testing.T) {
	b := around(t, honest())
	for i := range 40 {
		var returned atomic.Bool
		file := filepath.Join(t.TempDir(), "out")
		seen := 0
		cmd := sandbox.Cmd{Argv: []string{"yes", "300000"}, Artifact: file, OnOutput: func(p []byte) {
			if returned.Load() {
				t.Error("called after the end")
			}
			seen += len(p)
			time.Sleep(time.Millisecond) // slower than it comes
		}}
		if i%2 == 1 {
			cmd.Argv, cmd.Timeout = []string{"yes", "1000000000"}, 20*time.Millisecond
		}
		res := exec(t, b, cmd)
		returned.Store(true)
		st, err := os.Stat(file)
		if err != nil || st.Size() != res.Output.TotalBytes || int64(seen) != res.Output.TotalBytes {
			t.Errorf("%s: file %v, seen %d, total %d, %v", res.Cause, st, seen, res.Output.TotalBytes, err)
		}
		if i%2 == 0 && (res.Output.TotalBytes != 300000 || !res.OK()) {
			t.Errorf("got %s, %d bytes", res.Cause, res.Output.TotalBytes)
		}
	}
}

// TestLimits: which limit ends a command.
func TestLimits(t *testing.T) {
	cfg := config(t, &launcher{lives: []life{honest()}})
	cfg.Spec.Limits.WallClock, cfg.Spec.Limits.Idle, cfg.Spec.Limits.OutputBytes = 1500*time.Millisecond, 500*time.Millisecond, 1000
	b := start(t, cfg)
	for _, c := range []struct {
		name string
		cmd  sandbox.Cmd
		want sandbox.Cause
		out  int64
	}{
		{"idle of the spec", argv("sleep"), sandbox.IdleTimeout, 3},
		{"output puts idle off", argv("talk"), sandbox.TimedOut, -1},
		{"a longer idle", sandbox.Cmd{Argv: []string{"sleep"}, Idle: time.Minute}, sandbox.TimedOut, 3},
		{"a shorter timeout", sandbox.Cmd{Argv: []string{"talk"}, Timeout: 100 * time.Millisecond}, sandbox.TimedOut, -1},
		{"the last byte allowed", argv("yes", "1000"), sandbox.Exited, 1000},
		{"one byte more", argv("yes", "1001"), sandbox.OutputLimit, 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := exec(t, b, c.cmd)
			if res.Cause != c.want || c.out >= 0 && res.Output.TotalBytes != c.out {
				t.Errorf("got %s, %d bytes after %s", res.Cause, res.Output.TotalBytes, res.Duration)
			}
		})
	}
	t.Run("a longer timeout", func(t *testing.T) {
		res := exec(t, b, sandbox.Cmd{Argv: []string{"talk"}, Timeout: 2 * time.Second})
		if res.Cause != sandbox.TimedOut || res.Duration < 1900*time.Millisecond {
			t.Errorf("got %s after %s", res.Cause, res.Duration)
		}
	})
	t.Run("no idle for what goes on", func(t *testing.T) {
		p, err := b.Spawn(t.Context(), argv("sleep"))
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if res := p.Result(); res.Cause != sandbox.TimedOut || res.Duration < 1400*time.Millisecond {
			t.Errorf("got %s after %s", res.Cause, res.Duration)
		}
		p, err = b.Spawn(t.Context(), sandbox.Cmd{Argv: []string{"sleep"}, Idle: 100 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		if res := p.Result(); res.Cause != sandbox.IdleTimeout {
			t.Errorf("with an idle of its own: %s", res.Cause)
		}
	})
}

func TestSpawn(t *testing.T) {
	b := around(t, honest())
	p, err := b.Spawn(t.Context(), argv("sleep"))
	if err != nil {
		t.Fatal(err)
	}
	for p.Result().Output.TotalBytes == 0 {
		runtime.Gosched()
	}
	if res := p.Result(); res.Cause != "" || res.Output.String() != "up\n" {
		t.Errorf("while it runs: %+v", res)
	}
	if res := exec(t, b, argv("echo", "beside")); res.Output.String() != "beside\n" {
		t.Errorf("beside: %+v", res)
	}
	var stops sync.WaitGroup
	for range 5 {
		stops.Go(func() {
			if res, err := p.Stop(t.Context()); err != nil || res.Cause != sandbox.Exited || res.ExitCode != 143 || res.Signal != "terminated" {
				t.Errorf("stopped: %+v, %v", res, err)
			}
		})
	}
	stops.Wait()
	if res, err := p.Stop(t.Context()); err != nil || res.ExitCode != 143 {
		t.Errorf("stopped again: %+v, %v", res, err)
	}
	ignores, err := b.Spawn(t.Context(), argv("talk")) // heeds no SIGTERM
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if res, err := ignores.Stop(ctx); err != nil || res.Cause != sandbox.Canceled {
		t.Errorf("stopped in the end: %+v, %v", res, err)
	}
}

func TestCancel(t *testing.T) {
	l := &launcher{lives: []life{honest()}}
	b := start(t, config(t, l))
	before, cancel := context.WithCancel(t.Context())
	cancel()
	if res, err := b.Exec(before, argv("sleep")); err != nil || res.Cause != sandbox.Canceled || res.ExitCode != -1 {
		t.Errorf("before: %+v, %v", res, err)
	}
	if p, err := b.Spawn(before, argv("sleep")); err == nil || p != nil {
		t.Errorf("a process before: %v, %v", p, err)
	}
	for range 50 { // during
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if res, err := b.Exec(ctx, argv("sleep")); err != nil || res.Cause != sandbox.Canceled {
			t.Errorf("during: %+v, %v", res, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if res, err := b.Exec(ctx, argv("sleep")); err != nil || res.Cause != sandbox.Canceled || res.Output.String() != "up\n" {
		t.Errorf("after: %+v, %v", res, err)
	}
	if l.launched.Load() != 1 {
		t.Errorf("%d launches", l.launched.Load())
	}
}

// TestCommandThatIsTooLong is the command's fault.
func TestCommandThatIsTooLong(t *testing.T) {
	l := &launcher{lives: []life{honest()}}
	b := start(t, config(t, l))
	res := exec(t, b, sandbox.Cmd{Argv: []string{"echo", strings.Repeat("x", 9<<20)}, Stdin: strings.NewReader("in")})
	if res.Cause != sandbox.Exited || res.ExitCode != 126 || res.Output.TotalBytes == 0 {
		t.Errorf("got %+v", res)
	}
	if res := exec(t, b, argv("echo")); !res.OK() || l.launched.Load() != 1 {
		t.Errorf("then %+v, %d launches", res, l.launched.Load())
	}
}
