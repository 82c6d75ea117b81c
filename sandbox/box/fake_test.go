package box_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/box"
	"github.com/greenwright/greenwright/sandbox/link"
)

// hangGuard bounds what must not hang.
const hangGuard = 40 * time.Second

// life is one guest: it returns when it is over.
type life func(conn net.Conn)

// launcher is a driver whose guests are goroutines of the test.
type launcher struct {
	lives    []life            // in order; the last one again and again
	refuse   func(n int) error // of the n-th launch, from 0
	faulty   bool              // Close may fail
	stubborn bool              // Kill ends nothing
	said     string            // what the program says
	slow     chan struct{}     // Launch waits for it, if set
	launched atomic.Int64      // launches
	open     atomic.Int64      // guests that live
	ooms     atomic.Int64      // what the kernel ended for memory
	most     atomic.Int64      // guests that lived at once
}

func (l *launcher) Launch(ctx context.Context, control *os.File) (box.Running, error) {
	n := int(l.launched.Add(1)) - 1
	if l.slow != nil {
		select {
		case <-l.slow:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if l.refuse != nil {
		if err := l.refuse(n); err != nil {
			return nil, err
		}
	}
	conn, err := net.FileConn(control)
	if err != nil {
		return nil, err
	}
	r := &program{conn: conn, done: make(chan struct{}), launcher: l}
	l.most.Store(max(l.most.Load(), l.open.Add(1)))
	go func() {
		defer close(r.done)
		defer l.open.Add(-1)
		defer func() { _ = conn.Close() }()
		l.lives[min(n, len(l.lives)-1)](conn)
	}()
	return r, nil
}

// program is a started guest.
type program struct {
	conn     net.Conn
	done     chan struct{}
	launcher *launcher
}

func (p *program) Done() <-chan struct{} {
	if p.launcher.stubborn {
		return nil
	}
	return p.done
}

func (p *program) Kill(ctx context.Context) error {
	_ = p.conn.Close()
	select {
	case <-p.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *program) Diagnose() string { return p.launcher.said }
func (p *program) OOMKills() int64  { return p.launcher.ooms.Load() }

// call is one command as a guest sees it.
type call struct {
	conn       net.Conn
	session    *yamux.Session
	stream     *yamux.Stream
	req        link.Request
	input      io.Reader
	out        *link.Writer
	killed     chan struct{} // closed when the host says so or is gone
	terminated chan struct{}
}

func (c *call) exit(code int) { _ = c.out.WriteExit(link.Exit{Code: code}) }

// wait blocks until the command is to end.
func (c *call) wait() {
	select {
	case <-c.killed:
		_ = c.out.WriteExit(link.Exit{Code: 137, Signal: 9})
	case <-c.terminated:
		_ = c.out.WriteExit(link.Exit{Code: 143, Signal: 15})
	}
}

// obey reads what the host says.
func (c *call) obey() {
	defer close(c.killed)
	frames, once := link.NewReader(c.stream), sync.Once{}
	for {
		kind, _, err := frames.Next()
		if err != nil || kind == link.Kill {
			return
		}
		once.Do(func() { close(c.terminated) })
	}
}

// greet does what the first stream asks for.
func greet(session *yamux.Session) error {
	stream, err := session.AcceptStream()
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }()
	var setup link.Setup
	return errors.Join(link.ReadMessage(stream, &setup), link.WriteMessage(stream, link.Ready{}))
}

// commands is a guest that runs commands with run, each in a goroutine.
func commands(run func(*call)) life {
	return func(conn net.Conn) {
		session, err := link.Guest(conn)
		if err != nil {
			return
		}
		defer func() { _ = session.Close() }()
		if greet(session) != nil {
			return
		}
		var all sync.WaitGroup
		defer all.Wait()
		defer func() { _ = session.Close() }()
		inputs := map[int64]*yamux.Stream{}
		for {
			stream, err := session.AcceptStream()
			if err != nil {
				return
			}
			var open link.Open
			if link.ReadMessage(stream, &open) != nil {
				_ = stream.Close()
				continue
			}
			if open.Command == nil {
				inputs[open.Input] = stream
				continue
			}
			c := &call{conn: conn, session: session, stream: stream, req: *open.Command, input: strings.NewReader(""), out: link.NewWriter(stream), killed: make(chan struct{}), terminated: make(chan struct{})}
			input := inputs[c.req.Input]
			if input != nil {
				c.input = input
			}
			all.Go(c.obey)
			all.Go(func() {
				run(c)
				_ = stream.Close()
				if input != nil {
					_, _ = io.Copy(io.Discard, input)
					_ = input.Close()
				}
			})
		}
	}
}

// honest is a guest that does what it is told. Argv[0] names what it runs.
func honest() life { return commands(runHonest) }

func runHonest(c *call) {
	argv := c.req.Argv
	switch argv[0] {
	case "echo":
		_ = c.out.Write(link.Stdout, []byte(strings.Join(argv[1:], " ")+"\n"))
	case "split":
		_ = c.out.Write(link.Stdout, []byte("out\n"))
		_ = c.out.Write(link.Stderr, []byte("err\n"))
		_ = c.out.Write(link.Stdout, []byte("out\n"))
	case "exit":
		n, _ := strconv.Atoi(argv[1])
		c.exit(n)
		return
	case "cat":
		buf := make([]byte, link.MaxFrame)
		for {
			n, err := c.input.Read(buf)
			if n > 0 {
				_ = c.out.Write(link.Stdout, buf[:n])
			}
			if err != nil {
				break
			}
		}
	case "head": // takes a byte of its input and ends
		_, _ = c.input.Read(make([]byte, 1))
	case "sleep":
		_ = c.out.Write(link.Stdout, []byte("up\n"))
		c.wait()
		return
	case "talk": // a line every so often
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = c.out.Write(link.Stdout, []byte("line\n"))
			case <-c.killed:
				_ = c.out.WriteExit(link.Exit{Code: 137, Signal: 9})
				return
			}
		}
	case "yes": // argv[1] bytes
		n, _ := strconv.Atoi(argv[1])
		line := []byte(strings.Repeat("y\n", link.MaxFrame/2))
		for n > 0 {
			select {
			case <-c.killed:
				_ = c.out.WriteExit(link.Exit{Code: 137, Signal: 9})
				return
			default:
			}
			k := min(n, len(line))
			if c.out.Write(link.Stdout, line[:k]) != nil {
				return
			}
			n -= k
		}
	case "fill": // argv[2] bytes into the host file argv[1], then go on
		n, _ := strconv.Atoi(argv[2])
		_ = os.WriteFile(argv[1], make([]byte, n), 0o600)
		c.wait()
		return
	}
	c.exit(0)
}

// spec is one with a workspace.
func spec(t *testing.T) sandbox.Spec {
	t.Helper()
	s := sandbox.Spec{RunID: "test", Workspace: filepath.Join(t.TempDir(), "workspace"), Limits: sandbox.Limits{}.WithDefaults()}
	if err := os.Mkdir(s.Workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	return s
}

// config is what a driver would settle.
func config(t *testing.T, l *launcher) box.Config {
	t.Helper()
	return box.Config{Spec: spec(t), Launcher: l, UID: 7, GID: 8, Environment: func(c sandbox.Cmd) []string { return c.Env }}
}

// start makes a box and closes it at the end, without a fault unless a test
// has closed it before.
func start(t *testing.T, cfg box.Config) *box.Box {
	t.Helper()
	b, err := box.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := within(t, "close", func() error { return b.Close(context.Background()) }); err != nil && !cfg.Launcher.(*launcher).faulty {
			t.Errorf("close: %v", err)
		}
	})
	return b
}

// around starts a box around guests.
func around(t *testing.T, lives ...life) *box.Box {
	t.Helper()
	return start(t, config(t, &launcher{lives: lives}))
}

// exec runs a command that must give a result.
func exec(t *testing.T, b *box.Box, cmd sandbox.Cmd) sandbox.Result {
	t.Helper()
	var res sandbox.Result
	err := within(t, "exec "+strings.Join(cmd.Argv, " "), func() (err error) {
		res, err = b.Exec(t.Context(), cmd)
		return err
	})
	if err != nil {
		t.Fatalf("%q: %v", cmd.Argv, err)
	}
	return res
}

func argv(words ...string) sandbox.Cmd { return sandbox.Cmd{Argv: words} }

// within fails the test when f takes too long.
func within(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(hangGuard):
		t.Fatalf("%s hangs", what)
		return nil
	}
}
