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

// apply sets up this process, and so everything it starts.
func (g *guest) apply() (link.Ready, error) {
	var ready link.Ready
	if err := g.resources(); err != nil {
		return ready, err
	}
	if g.setup.Nice > 0 {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, g.setup.Nice); err != nil {
			return ready, fmt.Errorf("lowering the priority: %w", err)
		}
	}
	if g.setup.Proxy {
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", link.ProxyAddress) //nolint:forbidigo // the life of this process
		if err != nil {
			return ready, fmt.Errorf("listening for the proxy: %w", err)
		}
		go g.bridge(l)
	}
	var err error
	ready.Landlock, err = g.landlock()
	return ready, err
}

// landlock lets writing happen in the named directories alone, whatever the
// mounts say: a second fence behind the read-only ones.
func (g *guest) landlock() (int, error) {
	if len(g.setup.Writable) == 0 {
		return 0, nil
	}
	version, err := llsys.LandlockGetABIVersion()
	if err != nil || version < 1 {
		return 0, nil //nolint:nilerr // a kernel without it: the mounts hold alone
	}
	err = landlock.V5.BestEffort().RestrictPaths(
		landlock.RODirs("/"),
		landlock.RWDirs(g.setup.Writable...).WithRefer().WithIoctlDev().IgnoreIfMissing(),
	)
	if err != nil {
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
