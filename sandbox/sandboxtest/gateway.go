package sandboxtest

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/greenwright/greenwright/sandbox"
)

// greeter is a gateway that says who is let in. It answers whoever connects:
// tokens are egress's.
type greeter struct {
	served, opened, closed atomic.Int64
	conns                  sync.WaitGroup
}

func (g *greeter) Serve(l net.Listener) error {
	g.served.Add(1)
	defer g.conns.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		g.conns.Go(func() {
			defer func() { _ = conn.Close() }()
			_, _ = io.Copy(conn, io.LimitReader(conn, 1<<20))
		})
	}
}

func (g *greeter) Open(address string) ([]string, func()) {
	g.opened.Add(1)
	return []string{"WAY_OUT=" + address}, func() { g.closed.Add(1) }
}

// gateway: the way out is there for commands that ask for it.
func (s *suite) gateway(t *testing.T) {
	g := &greeter{}
	box := s.start(t, func(sp *sandbox.Spec) {
		sp.Mounts = programMount(t)
		sp.Gateway = g
	})
	const script = insideMount + `/attack tcp "${WAY_OUT:-closed}"`
	if res := box.exec(t, sandbox.Cmd{Script: script, Network: true}); !strings.Contains(res.Output.String(), "GOT") {
		t.Errorf("the gateway is not reached: %s", res.Output)
	}
	if res := box.exec(t, sandbox.Cmd{Script: script}); strings.Contains(res.Output.String(), "GOT") {
		t.Errorf("a command without the network was told the way: %s", res.Output)
	}
	const size = 1 << 20
	res := box.exec(t, sandbox.Cmd{Script: insideMount + "/attack carry 127.0.0.1:3128 1", Network: true})
	if !strings.Contains(res.Output.String(), "GOT") {
		t.Errorf("%d bytes did not come back: %s", size, res.Output)
	}
	if o, c := g.opened.Load(), g.closed.Load(); o != 2 || c != 2 || g.served.Load() != 1 {
		t.Errorf("opened %d times, closed %d, served %d; want 2, 2, 1", o, c, g.served.Load())
	}
}
