package box

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/link"
)

// instance is one life of the sandbox program.
type instance struct {
	session *yamux.Session
	running Running
	others  sync.WaitGroup // the gateway and the guard

	mu  sync.Mutex
	oom int64 // under mu: what was counted of running.OOMKills
}

// defaultStartLimit is far above what a start takes on a machine in trouble.
const defaultStartLimit = 20 * time.Second

// endLimit bounds the end of a sandbox program.
const endLimit = 10 * time.Second

// launch starts the program and waits until the guest answers.
func launch(ctx context.Context, cfg Config) (*instance, error) {
	limit := cfg.StartLimit
	if limit <= 0 {
		limit = defaultStartLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	host, guest, err := socketPair()
	if err != nil {
		return nil, err
	}
	running, err := cfg.Launcher.Launch(ctx, guest)
	_ = guest.Close()
	if err != nil {
		_ = host.Close()
		return nil, err
	}
	i := &instance{running: running}
	if err := i.greet(ctx, host, cfg); err != nil {
		return nil, errors.Join(i.explain(err), i.end(context.WithoutCancel(ctx)))
	}
	i.others.Go(i.guard)
	if g := cfg.Spec.Gateway; g != nil {
		i.others.Go(func() { _ = g.Serve(outbound{i.session}) })
	}
	return i, nil
}

// outbound yields what the guest opens: connections to the gateway.
type outbound struct{ *yamux.Session }

// Accept waits for the next one.
func (o outbound) Accept() (net.Conn, error) {
	s, err := o.AcceptStream()
	if err != nil {
		return nil, err
	}
	return halfCloser{s}, nil
}

// halfCloser is a stream that can end one direction: closing a yamux stream
// ends the sending half alone.
type halfCloser struct{ *yamux.Stream }

// CloseWrite ends what is sent.
func (h halfCloser) CloseWrite() error { return h.Close() }

// How often the guest is asked whether it is there, and how long it has. In
// gVisor a command can stop pid 1; on a machine without free processors an
// answer takes seconds.
const (
	askEvery = 5 * time.Second
	askLimit = 30 * time.Second
)

// guard ends the sandbox when the guest does not answer any more.
func (i *instance) guard() {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-i.session.CloseChan():
			return
		case <-tick.C:
		}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			_, _ = i.session.Ping() // ends with the session
		}()
		timer := time.NewTimer(askLimit)
		select {
		case <-answered:
			timer.Stop()
		case <-timer.C:
			_ = i.session.Close()
			return
		}
	}
}

// socketPair makes the connection; the guest's end is still blocking, as a
// program expects of its standard input.
func socketPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making the connection into the sandbox: %w", err)
	}
	f := os.NewFile(uintptr(fds[0]), "sandbox")
	defer func() { _ = f.Close() }()
	conn, err := net.FileConn(f)
	guest := os.NewFile(uintptr(fds[1]), "guest")
	if err != nil {
		_ = guest.Close()
		return nil, nil, fmt.Errorf("making the connection into the sandbox: %w", err)
	}
	return conn, guest, nil
}

// greet sends the setup and reads the answer.
func (i *instance) greet(ctx context.Context, host net.Conn, cfg Config) error {
	session, err := link.Host(host)
	if err != nil {
		_ = host.Close()
		return fmt.Errorf("beginning the session: %w", err)
	}
	i.session = session
	unbind := context.AfterFunc(ctx, func() { _ = session.Close() })
	defer unbind()
	stream, err := session.OpenStream()
	if err != nil {
		return fmt.Errorf("reaching the guest: %w", err)
	}
	defer func() { _ = stream.Close() }()
	if err := link.WriteMessage(stream, cfg.Setup); err != nil {
		return fmt.Errorf("setting the guest up: %w", err)
	}
	var ready link.Ready
	if err := link.ReadMessage(stream, &ready); err != nil {
		return fmt.Errorf("waiting for the guest: %w", err)
	}
	if ready.Error != "" {
		return fmt.Errorf("the guest could not set itself up: %s", ready.Error)
	}
	return nil
}

// explain adds what the program said.
func (i *instance) explain(err error) error {
	select {
	case <-i.running.Done():
	case <-time.After(time.Second): // what it says last may still be on its way
	}
	if said := strings.TrimSpace(i.running.Diagnose()); said != "" {
		return fmt.Errorf("%w: the sandbox did not start: %s", sandbox.ErrUnavailable, said)
	}
	return fmt.Errorf("%w: the sandbox did not start: %w", sandbox.ErrUnavailable, err)
}

// alive reports whether commands can be started in it.
func (i *instance) alive() bool {
	select {
	case <-i.running.Done():
		return false
	default:
		return i.session != nil && !i.session.IsClosed()
	}
}

// end ends it and waits for it.
func (i *instance) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	if i.session != nil {
		_ = i.session.Close()
	}
	err := i.running.Kill(ctx)
	i.others.Wait()
	if err != nil {
		return fmt.Errorf("ending the sandbox: %w", err)
	}
	return nil
}

// ranOut reports whether the kernel has ended something for memory since it
// was last asked.
func (i *instance) ranOut() bool {
	n := i.running.OOMKills()
	i.mu.Lock()
	defer i.mu.Unlock()
	more := n > i.oom
	i.oom = max(n, i.oom)
	return more
}
