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
	session *yamux.Session // nil when it did not begin
	running Running
	slots   chan struct{} // taken by connections to the gateway

	mu      sync.Mutex
	ended   bool                   // under mu; nothing is begun any more
	others  sync.WaitGroup         // what begin began; grows under mu
	waiting chan struct{}          // under mu; closed when others are gone; nil before the end
	streams map[*yamux.Stream]bool // under mu; true for the retired
	retired int                    // under mu; those of the streams
	woken   bool                   // under mu; nobody waits for the guest any more
	oom     int64                  // under mu; what was counted of running.OOMKills
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
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	host, guest, err := socketPair()
	if err != nil {
		return nil, err
	}
	running, err := cfg.Launcher.Launch(within, guest)
	_ = guest.Close()
	if err != nil {
		_ = host.Close()
		return nil, err
	}
	i := &instance{running: running, slots: make(chan struct{}, maxConnections), streams: map[*yamux.Stream]bool{}, oom: running.OOMKills()}
	if err := i.greet(within, host, cfg); err != nil {
		switch {
		case ctx.Err() != nil:
			err = fmt.Errorf("starting the sandbox: %w", ctx.Err())
		case within.Err() != nil:
			err = i.explain(fmt.Errorf("the guest did not answer within %s", limit))
		default:
			err = i.explain(err)
		}
		return nil, errors.Join(err, i.end(context.WithoutCancel(ctx)))
	}
	i.begin(i.guard)
	if g := cfg.Spec.Gateway; g != nil {
		i.begin(func() { _ = g.Serve(newOutbound(i)) })
	}
	return i, nil
}

// begin runs f in a goroutine that end waits for; it must end with the
// session. It is false, and nothing runs, when the end has come already.
func (i *instance) begin(f func()) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended {
		return false
	}
	i.others.Go(f)
	return true
}

// How often the guest is asked whether it is there, and how long it has. In
// gVisor a command can stop pid 1; on a machine without free processors an
// answer takes seconds.
const (
	askEvery = 5 * time.Second
	askLimit = 30 * time.Second
)

// lastWords is how long what a program said may be on its way when it is gone.
const lastWords = time.Second

// guard ends the session when the guest does not answer any more, or when the
// program is gone and something else holds the connection.
func (i *instance) guard() {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		select {
		case <-i.session.CloseChan():
			return
		case <-i.running.Done():
			i.closeAfter(i.session.CloseChan(), lastWords)
			return
		case <-tick.C:
		}
		answered := make(chan struct{})
		if !i.begin(func() {
			defer close(answered)
			_, _ = i.session.Ping() // ends with the session
		}) {
			return
		}
		i.closeAfter(answered, askLimit)
	}
}

// closeAfter closes the session unless the event comes first.
func (i *instance) closeAfter(event <-chan struct{}, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-event:
	case <-timer.C:
		i.hangUp()
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
	session, err := link.Host(&checked{Conn: host, wake: i.wake})
	if err != nil {
		_ = host.Close()
		return fmt.Errorf("beginning the session: %w", err)
	}
	i.session = session
	unbind := context.AfterFunc(ctx, i.hangUp)
	defer unbind()
	stream, err := i.open()
	if err != nil {
		return fmt.Errorf("reaching the guest: %w", err)
	}
	defer i.retire(stream)
	if err := link.WriteMessage(stream, cfg.Setup); err != nil {
		return fmt.Errorf("setting the guest up: %w", err)
	}
	var ready link.Ready
	if err := link.ReadMessage(stream, &ready); err != nil {
		return fmt.Errorf("waiting for the guest: %w", err)
	}
	if ready.Error != "" {
		return fmt.Errorf("the guest could not set itself up: %s", printable(ready.Error))
	}
	return nil
}

// explain adds what the program said.
func (i *instance) explain(err error) error {
	timer := time.NewTimer(lastWords)
	defer timer.Stop()
	select {
	case <-i.running.Done():
	case <-timer.C:
	}
	if said := printable(strings.TrimSpace(i.running.Diagnose())); said != "" {
		return fmt.Errorf("%w: the sandbox did not start: %s", sandbox.ErrUnavailable, said)
	}
	return fmt.Errorf("%w: the sandbox did not start: %w", sandbox.ErrUnavailable, err)
}

// printable makes a text from inside fit for an error's.
func printable(s string) string {
	const most = 2 << 10 // a diagnosis with its remedy has half of that
	s = strings.ToValidUTF8(s[:min(len(s), most)], "")
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 { // ISO 6429: C0, DEL and C1
			return -1
		}
		return r
	}, s)
}

// alive reports whether commands can be started in it.
func (i *instance) alive() bool {
	select {
	case <-i.running.Done():
		return false
	default:
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return !i.ended && i.retired < maxRetired && !i.session.IsClosed()
}

// end ends it and waits for it.
func (i *instance) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, endLimit)
	defer cancel()
	gone := i.close()
	if err := i.running.Kill(ctx); err != nil {
		return fmt.Errorf("ending the sandbox: %w", err)
	}
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("ending the sandbox: waiting for its connections: %w", ctx.Err())
	}
}

// close ends the session; the channel is closed when all that was begun is gone.
func (i *instance) close() <-chan struct{} {
	i.mu.Lock()
	if i.waiting == nil {
		i.ended, i.waiting = true, make(chan struct{})
		go func() { // ends with the session, or when the gateway does
			i.others.Wait()
			close(i.waiting)
		}()
	}
	gone := i.waiting
	i.mu.Unlock()
	i.hangUp()
	return gone
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
