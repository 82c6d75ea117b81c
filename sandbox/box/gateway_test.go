package box_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/link"
)

// gateway answers each connection with what it says.
type gateway struct {
	opened, done atomic.Int64
	now, most    atomic.Int64
	served       atomic.Int64
	hold         bool // read nothing of connections until the end
	stuck        chan struct{}
}

func (g *gateway) Open(address string) ([]string, func()) {
	g.opened.Add(1)
	return []string{"PROXY=" + address}, func() { g.done.Add(1) }
}

func (g *gateway) Serve(l net.Listener) error {
	g.served.Add(1)
	var all sync.WaitGroup
	defer all.Wait()
	if g.stuck != nil {
		defer func() { <-g.stuck }()
	}
	ended := make(chan struct{})
	defer close(ended)
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		g.most.Store(max(g.most.Load(), g.now.Add(1)))
		all.Go(func() {
			defer g.now.Add(-1)
			defer func() { _ = conn.Close() }()
			if g.hold {
				<-ended
				return
			}
			_, _ = io.Copy(conn, conn)
			if c, ok := conn.(interface{ CloseWrite() error }); ok {
				_ = c.CloseWrite()
			}
		})
	}
}

// TestGateway: a command that asks for the network gets the environment and the
// connections; the way closes with it, once, however it ends.
func TestGateway(t *testing.T) {
	for name, run := range map[string]func(*call){
		"exits":  func(c *call) { c.exit(0) },
		"dies":   func(c *call) { _ = c.session.Close() },
		"no end": func(c *call) { <-c.session.CloseChan() },
		"asks": func(c *call) {
			if !slices.Contains(c.req.Env, "PROXY="+link.ProxyAddress) {
				c.exit(3)
				return
			}
			s, err := c.session.OpenStream()
			if err != nil {
				c.exit(4)
				return
			}
			_, _ = s.Write([]byte("hello"))
			_ = s.Close()
			got, _ := io.ReadAll(s)
			_ = c.out.Write(link.Stdout, got)
			c.exit(0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &gateway{}
			cfg := config(t, &launcher{lives: []life{commands(run)}})
			cfg.Spec.Gateway = g
			b := start(t, cfg)
			res := exec(t, b, sandbox.Cmd{Argv: []string{"x"}, Network: true, Timeout: 300 * time.Millisecond})
			if g.opened.Load() != 1 || g.done.Load() != 1 {
				t.Errorf("opened %d times, closed %d times", g.opened.Load(), g.done.Load())
			}
			if name == "asks" && (res.Output.String() != "hello" || !res.OK()) {
				t.Errorf("got %+v", res)
			}
			exec(t, b, sandbox.Cmd{Argv: []string{"x"}, Timeout: 300 * time.Millisecond})
			if g.opened.Load() != 1 {
				t.Error("opened for a command without the network")
			}
		})
	}
}

// TestGatewayOfAStartThatFails: the way out is closed again.
func TestGatewayOfAStartThatFails(t *testing.T) {
	g := &gateway{}
	cfg := config(t, &launcher{lives: []life{deafAfterGreeting}})
	cfg.Spec.Gateway = g
	b := start(t, cfg)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_ = within(t, "exec", func() error {
		_, err := b.Exec(ctx, sandbox.Cmd{Argv: []string{"x"}, Network: true})
		return err
	})
	if g.opened.Load() != 1 || g.done.Load() != 1 {
		t.Errorf("opened %d times, closed %d times", g.opened.Load(), g.done.Load())
	}
}

// TestManyConnections: a guest that opens 10,000 connections at once and closes
// none takes bounded memory, and commands go on.
func TestManyConnections(t *testing.T) {
	g := &gateway{hold: true}
	const many = 10_000
	block := make([]byte, 64<<10)
	cfg := config(t, &launcher{lives: []life{func(conn net.Conn) {
		var opening sync.WaitGroup
		defer opening.Wait()
		commands(func(c *call) {
			for range many {
				opening.Go(func() {
					s, err := c.session.OpenStream()
					if err != nil {
						return
					}
					for range 4 {
						_, _ = s.Write(block)
					}
				})
			}
			c.exit(0)
		})(conn)
	}}})
	cfg.Spec.Gateway = g
	b := start(t, cfg)
	stop, peak := watchHeap()
	for range 3 {
		if res := exec(t, b, argv("x")); !res.OK() {
			t.Errorf("got %+v", res)
		}
		time.Sleep(200 * time.Millisecond)
	}
	stop()
	t.Logf("%d connections at once, heap %d MiB, %d goroutines (most of them the guest's)", g.most.Load(), peak()>>20, runtime.NumGoroutine())
	if g.most.Load() > 256 || g.most.Load() == 0 {
		t.Errorf("%d connections at once", g.most.Load())
	}
}

// TestStuckGateway: a gateway that does not end does not hold Close.
func TestStuckGateway(t *testing.T) {
	g := &gateway{stuck: make(chan struct{})}
	defer close(g.stuck)
	cfg := config(t, &launcher{lives: []life{honest()}, faulty: true})
	cfg.Spec.Gateway = g
	b := start(t, cfg)
	exec(t, b, argv("echo"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := within(t, "close", func() error { return b.Close(ctx) }); err == nil {
		t.Error("close hides that the gateway goes on")
	}
}
