package guest

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox/link"
)

// apply sets up this process, and the thread that starts all others.
func (g *guest) apply() (link.Ready, error) {
	var ready link.Ready
	if g.setup.Protocol != link.Protocol {
		return ready, fmt.Errorf("the guest speaks protocol %s and greenwright %s: build and install both anew (make build)", link.Protocol, g.setup.Protocol)
	}
	if err := g.resources(); err != nil {
		return ready, err
	}
	if g.setup.Proxy {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", link.ProxyAddress) //nolint:forbidigo // the life of this process
		if err != nil {
			return ready, fmt.Errorf("listening for the proxy: %w", err)
		}
		go g.bridge(l)
	}
	var err error
	g.forker, err = newForker(func() error {
		if g.setup.Nice > 0 {
			if err := unix.Setpriority(unix.PRIO_PROCESS, 0, g.setup.Nice); err != nil { // of this thread
				return fmt.Errorf("lowering the priority: %w", err)
			}
		}
		var err error
		ready.Landlock, err = g.landlock()
		return err
	})
	return ready, err
}

// landlock lets writing happen in the named directories alone, whatever the
// mounts say: a second fence behind the read-only ones. It holds the calling
// thread alone.
func (g *guest) landlock() (int, error) {
	if len(g.setup.Writable) == 0 {
		return 0, nil
	}
	version, err := llsys.LandlockGetABIVersion()
	if err != nil || version < 1 {
		return 0, nil // a kernel without it: the mounts hold alone
	}
	paths := landlock.Config{HandledAccessFS: landlock.V5.HandledAccessFS} // the network is the driver's
	fd, flags, err := paths.BestEffort().NewRulesetFD(
		landlock.RODirs("/"),
		landlock.RWDirs(g.setup.Writable...).WithRefer().WithIoctlDev().IgnoreIfMissing(),
	)
	if err != nil {
		return 0, fmt.Errorf("making landlock's rules: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	if err := llsys.LandlockRestrictSelf(fd, flags); err != nil {
		return 0, fmt.Errorf("restricting with landlock: %w", err)
	}
	return version, nil
}

// maxConnections bounds what commands may hold open through the proxy.
const maxConnections = 64

// bridge carries connections to the host, each in a stream of its own.
func (g *guest) bridge(l net.Listener) {
	slots := make(chan struct{}, maxConnections)
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			g.carry(conn)
		}()
	}
}

func (g *guest) carry(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	stream, err := g.session.OpenStream()
	if err != nil {
		return
	}
	defer func() { _ = stream.Close() }()
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(stream, conn)
		_ = stream.Close() // yamux closes the sending half only
	})
	_, _ = io.Copy(conn, stream)
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	both.Wait()
}
