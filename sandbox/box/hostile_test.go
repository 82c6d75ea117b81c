package box_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/box"
	"github.com/greenwright/greenwright/sandbox/link"
)

// frame is the bytes of a frame, whatever they say.
func frame(kind byte, n uint32, body string) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{kind}, n), body...)
}

func exitFrame(json string) []byte { return frame('x', uint32(len(json)), json) }

// TestGuestThatDoesNotStart: a box whose guest does not do its part is not
// started, in time, with a word why, and leaves nothing.
func TestGuestThatDoesNotStart(t *testing.T) {
	for name, guest := range map[string]life{
		"closes at once": func(net.Conn) {},
		"is silent":      func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"says garbage":   func(c net.Conn) { _, _ = c.Write([]byte(strings.Repeat("no yamux ", 9000))) },
		"opens the session and no more": func(c net.Conn) {
			s, err := link.Guest(c)
			if err == nil {
				<-s.CloseChan()
			}
		},
		"answers no JSON": answers(frame(0, 0, "")[:4]),
		"refuses": func(c net.Conn) {
			s, _ := link.Guest(c)
			stream, err := s.AcceptStream()
			if err == nil {
				_ = link.WriteMessage(stream, link.Ready{Error: strings.Repeat("no\x1b[2J ", 1<<20)})
				<-s.CloseChan()
			}
		},
		"announces 4 GB": answers([]byte("\xff\xff\xff\xff")),
		"nests":          answers(message(strings.Repeat("[", 1<<20))),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &launcher{lives: []life{guest}}
			cfg := config(t, l)
			cfg.StartLimit = 500 * time.Millisecond
			cleaned := 0
			cfg.Cleanup = func(context.Context) error { cleaned++; return nil }
			began := time.Now()
			err := within(t, "new", func() error {
				_, err := box.New(t.Context(), cfg)
				return err
			})
			if !errors.Is(err, sandbox.ErrUnavailable) {
				t.Errorf("got %v", err)
			} else if text := err.Error(); len(text) > 4096 || strings.Contains(text, "\x1b") {
				t.Errorf("the error has %d bytes: %.100q", len(text), text)
			}
			if d := time.Since(began); d > 8*time.Second {
				t.Errorf("took %s", d)
			}
			if cleaned != 1 || l.open.Load() != 0 {
				t.Errorf("cleaned %d times, %d guests left", cleaned, l.open.Load())
			}
		})
	}
}

func message(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// answers is a guest whose answer to the setup is raw.
func answers(raw []byte) life {
	return func(c net.Conn) {
		s, err := link.Guest(c)
		if err != nil {
			return
		}
		if stream, err := s.AcceptStream(); err == nil {
			_, _ = stream.Write(raw)
			<-s.CloseChan()
		}
	}
}

func TestDiagnosis(t *testing.T) {
	cfg := config(t, &launcher{lives: []life{func(net.Conn) {}}, said: "no namespaces (set this)\n"})
	_, err := box.New(t.Context(), cfg)
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "no namespaces (set this)") {
		t.Errorf("got %v", err)
	}
}

// TestCanceledStart: who gives up is told so, not that sandboxes do not work.
func TestCanceledStart(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	cfg := config(t, &launcher{lives: []life{func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }}})
	_, err := box.New(ctx, cfg)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sandbox.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// TestBrokenAnswer: a guest that does not keep to the protocol is lost, and the
// next command gets another.
func TestBrokenAnswer(t *testing.T) {
	for name, raw := range map[string][]byte{
		"unknown kind":           frame('?', 1, "a"),
		"the host's word":        frame('k', 0, ""),
		"absurd length":          frame('o', 1<<31, "a"),
		"too long by one":        frame('o', link.MaxFrame+1, strings.Repeat("a", link.MaxFrame+1)),
		"half a frame":           frame('o', 10, "a"),
		"nothing":                nil,
		"exit that is no JSON":   exitFrame("exit 0"),
		"empty exit":             exitFrame(""),
		"nested exit":            exitFrame(strings.Repeat("[", link.MaxFrame)),
		"nested unknown":         exitFrame(`{"x":` + strings.Repeat("[", 60000)),
		"negative code":          exitFrame(`{"code":-1}`),
		"huge code":              exitFrame(`{"code":1099511627776}`),
		"code beyond a byte":     exitFrame(`{"code":256}`),
		"code that is no int":    exitFrame(`{"code":1e400}`),
		"negative signal":        exitFrame(`{"code":120,"signal":-8}`),
		"huge signal":            exitFrame(`{"code":1000,"signal":872}`),
		"success by a signal":    exitFrame(`{"code":0,"signal":9}`),
		"success without start":  exitFrame(`{"code":0,"start_error":"no"}`),
		"negative time":          exitFrame(`{"code":0,"cpu_ns":-5}`),
		"negative memory":        exitFrame(`{"code":0,"peak_memory":-5}`),
		"negative writing":       exitFrame(`{"code":0,"written":-5}`),
		"more memory than there": exitFrame(`{"code":0,"peak_memory":9223372036854775807}`),
		"centuries":              exitFrame(`{"code":0,"cpu_ns":9223372036854775807}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &launcher{lives: []life{commands(func(c *call) {
				_ = c.out.Write(link.Stdout, []byte("before\n"))
				_, _ = c.stream.Write(raw)
			}), honest()}}
			b := start(t, config(t, l))
			res := exec(t, b, argv("x"))
			if res.Cause != sandbox.Lost || res.ExitCode != -1 || res.OK() || !strings.HasPrefix(res.Output.String(), "before\n") {
				t.Errorf("got %s, code %d, %q", res.Cause, res.ExitCode, res.Output)
			}
			if u := res.Usage; u.CPU < 0 || u.PeakMemory < 0 || u.BytesWritten < 0 {
				t.Errorf("usage %+v", u)
			}
			if res := exec(t, b, argv("echo", "again")); !res.OK() || l.launched.Load() != 2 || l.most.Load() != 1 {
				t.Errorf("then %+v after %d launches, %d guests at once", res, l.launched.Load(), l.most.Load())
			}
		})
	}
}

// TestTalkAfterTheExit: what comes after the last frame is not taken, and who
// sends it is not trusted with another command.
func TestTalkAfterTheExit(t *testing.T) {
	l := &launcher{lives: []life{commands(func(c *call) {
		c.exit(0)
		for c.out.Write(link.Stdout, make([]byte, link.MaxFrame)) == nil {
		}
	}), honest()}}
	b := start(t, config(t, l))
	if res := exec(t, b, argv("x")); res.Output.TotalBytes != 0 {
		t.Errorf("got %+v", res)
	}
	deadline := time.Now().Add(5 * time.Second)
	for l.launched.Load() < 2 && time.Now().Before(deadline) {
		exec(t, b, argv("echo"))
	}
	if l.launched.Load() < 2 {
		t.Error("the guest goes on")
	}
}

// TestGuestThatKeepsStreams: a guest that does not close its half of streams
// cannot pile them up.
func TestGuestThatKeepsStreams(t *testing.T) {
	l := &launcher{lives: []life{func(conn net.Conn) {
		s, err := link.Guest(conn)
		if err != nil || greet(s) != nil {
			return
		}
		for {
			stream, err := s.AcceptStream()
			if err != nil {
				return
			}
			var open link.Open
			_ = link.ReadMessage(stream, &open)
			_ = link.NewWriter(stream).WriteExit(link.Exit{})
		}
	}}}
	b := start(t, config(t, l))
	before := runtime.NumGoroutine()
	for range 1000 {
		exec(t, b, argv("x"))
	}
	if n := l.launched.Load(); n < 2 {
		t.Errorf("%d launches: 1000 streams are kept", n)
	}
	if more := runtime.NumGoroutine() - before; more > 600 {
		t.Errorf("%d goroutines more", more)
	}
}

// TestIgnoresKill: the sandbox ends in time, for the host's cause.
func TestIgnoresKill(t *testing.T) {
	flood := commands(func(c *call) {
		for c.out.Write(link.Stdout, []byte("y\n")) == nil {
		}
	})
	silent := commands(func(c *call) { <-c.session.CloseChan() })
	deaf := deafAfterGreeting
	for name, c := range map[string]struct {
		guest life
		cmd   sandbox.Cmd
		want  sandbox.Cause
	}{
		"output for ever":              {flood, sandbox.Cmd{Argv: []string{"x"}, Timeout: 200 * time.Millisecond}, sandbox.TimedOut},
		"output limit":                 {flood, argv("x"), sandbox.OutputLimit},
		"silence":                      {silent, sandbox.Cmd{Argv: []string{"x"}, Idle: 200 * time.Millisecond}, sandbox.IdleTimeout},
		"stops reading":                {deaf, sandbox.Cmd{Argv: []string{"x"}, Timeout: 200 * time.Millisecond}, sandbox.TimedOut},
		"stops reading a long command": {deaf, sandbox.Cmd{Argv: []string{"x", strings.Repeat("x", 1<<20)}, Timeout: 200 * time.Millisecond}, sandbox.TimedOut},
		"stops reading its input":      {deaf, sandbox.Cmd{Argv: []string{"x"}, Stdin: zeros{}, Timeout: 200 * time.Millisecond}, sandbox.TimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &launcher{lives: []life{c.guest, honest()}}
			cfg := config(t, l)
			cfg.Spec.Limits.OutputBytes = 64 << 10
			if name != "output limit" {
				cfg.Spec.Limits.OutputBytes = 1 << 40
			}
			b := start(t, cfg)
			began := time.Now()
			res := exec(t, b, c.cmd)
			if res.Cause != c.want || res.ExitCode != -1 {
				t.Errorf("got %s, code %d", res.Cause, res.ExitCode)
			}
			if d := time.Since(began); d > 14*time.Second { // the grace, the end's own limit
				t.Errorf("took %s", d)
			} else {
				t.Logf("ended after %s", d)
			}
			if res := exec(t, b, argv("echo")); !res.OK() {
				t.Errorf("the next: %+v", res)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// deafAfterGreeting speaks the protocol until it is set up and then reads
// nothing more, but does not close.
func deafAfterGreeting(conn net.Conn) {
	d := &deaf{Conn: conn, gone: make(chan struct{})}
	s, err := link.Guest(d)
	if err != nil || greet(s) != nil {
		return
	}
	d.mu.Lock()
	d.shut = true
	d.mu.Unlock()
	untilClosed(conn)
	_ = s.Close()
}

// untilClosed waits until this end of a connection is closed, as Kill does.
func untilClosed(conn net.Conn) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if conn.SetWriteDeadline(time.Time{}) != nil {
			return
		}
	}
}

type deaf struct {
	net.Conn
	mu   sync.Mutex
	shut bool
	once sync.Once
	gone chan struct{}
}

func (d *deaf) Read(p []byte) (int, error) {
	d.mu.Lock()
	shut := d.shut
	d.mu.Unlock()
	if shut {
		<-d.gone
		return 0, net.ErrClosed
	}
	return d.Conn.Read(p)
}

func (d *deaf) Close() error {
	d.once.Do(func() { close(d.gone) })
	return d.Conn.Close()
}

// TestClosingADeafGuest: Close ends with a guest that reads nothing.
func TestClosingADeafGuest(t *testing.T) {
	b := around(t, deafAfterGreeting)
	ended := make(chan sandbox.Result, 3)
	for range 3 {
		go func() {
			res, _ := b.Exec(context.WithoutCancel(t.Context()), sandbox.Cmd{Argv: []string{"x", strings.Repeat("x", 2<<20)}})
			ended <- res
		}()
	}
	time.Sleep(200 * time.Millisecond)
	began := time.Now()
	if err := within(t, "close", func() error { return b.Close(context.Background()) }); err != nil {
		t.Error(err)
	}
	if d := time.Since(began); d > 6*time.Second {
		t.Errorf("took %s", d)
	}
	for range 3 {
		if res := <-ended; res.Cause != sandbox.Canceled {
			t.Errorf("got %+v", res)
		}
	}
}
