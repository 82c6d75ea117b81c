package box

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/link"
)

// Launcher starts the sandbox program of a driver around the guest.
type Launcher interface {
	// Launch starts it with control as the guest's standard input, and returns
	// once that is on its way; ctx bounds the start alone. It may be called
	// again when the one before it is gone.
	Launch(ctx context.Context, control *os.File) (Running, error)
}

// Running is a sandbox program that was started.
type Running interface {
	// Done is closed when it is gone with all that ran in it.
	Done() <-chan struct{}
	// Kill ends everything and returns when Done is closed or ctx ends.
	Kill(ctx context.Context) error
	// Diagnose is what the program said, for an error's text, with a remedy
	// where one is known.
	Diagnose() string
	// OOMKills counts how often the kernel ended something in it for memory.
	OOMKills() int64
}

// Config is what a driver settles.
type Config struct {
	Spec     sandbox.Spec // with defaults filled in
	Launcher Launcher
	UID, GID int // host account of the workspace's files
	// Home and Temp are the host directories that are watched, if any.
	Home, Temp string
	// Environment gives a command's variables, made from nothing.
	Environment func(sandbox.Cmd) []string
	Setup       link.Setup
	// Cleanup removes what the driver made; it is called once, after the end.
	Cleanup func(context.Context) error
	// StartLimit bounds the start until the guest answers.
	StartLimit time.Duration
}

// Box implements sandbox.Sandbox.
type Box struct {
	cfg    Config
	inputs atomic.Int64    // numbers standard inputs
	life   context.Context //nolint:containedctx // ends when Close begins
	expire context.CancelFunc

	launching chan struct{} // held by the one that starts or ends a program

	mu      sync.Mutex
	closed  bool
	current *instance
	live    map[*command]struct{}
	running sync.WaitGroup // commands and looks at the disk; grows under mu
	disk    diskWatch

	closing  sync.Once
	closeErr error
}

// New starts the sandbox. On an error everything is removed.
func New(ctx context.Context, cfg Config) (*Box, error) {
	b := &Box{cfg: cfg, live: map[*command]struct{}{}, launching: make(chan struct{}, 1)}
	b.life, b.expire = context.WithCancel(context.WithoutCancel(ctx))
	b.disk.watch = newWatch(cfg)
	if _, err := b.instance(ctx); err != nil {
		return nil, errors.Join(err, b.Close(context.WithoutCancel(ctx)))
	}
	return b, nil
}

// Owner is the host account of the workspace's files.
func (b *Box) Owner() (uid, gid int) { return b.cfg.UID, b.cfg.GID }

// instance is the running sandbox, started anew if the last one is gone.
func (b *Box) instance(ctx context.Context) (*instance, error) {
	select {
	case b.launching <- struct{}{}:
		defer func() { <-b.launching }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-b.life.Done():
		return nil, sandbox.ErrClosed
	}
	b.mu.Lock()
	i, closed := b.current, b.closed
	b.mu.Unlock()
	if closed {
		return nil, sandbox.ErrClosed
	}
	if i != nil && i.alive() {
		return i, nil
	}
	i, err := b.replace(ctx, i)
	if b.life.Err() != nil {
		err = errors.Join(sandbox.ErrClosed, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current = i
	if err != nil {
		return nil, err
	}
	return i, nil
}

// replace ends an instance and starts another, until Close begins. On an error
// it gives what is there and does not work.
func (b *Box) replace(ctx context.Context, old *instance) (*instance, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(b.life, cancel)()
	if old != nil {
		if err := old.end(ctx); err != nil {
			return old, fmt.Errorf("ending a lost sandbox: %w", err)
		}
	}
	return launch(ctx, b.cfg)
}

// Exec runs one command and waits for its end.
func (b *Box) Exec(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error) {
	if cmd.Idle <= 0 {
		cmd.Idle = b.cfg.Spec.Limits.Idle
	}
	p, err := b.begin(ctx, cmd)
	if err != nil && errors.Is(err, ctx.Err()) {
		return ended(sandbox.Canceled), nil
	}
	if err != nil {
		return sandbox.Result{}, err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.stop(sandbox.Canceled)
		<-p.done
	}
	return p.result, p.err
}

// ended is the result of a command that was ended from outside.
func ended(cause sandbox.Cause) sandbox.Result {
	return sandbox.Result{Cause: cause, ExitCode: -1, Signal: syscall.SIGKILL.String()}
}

// Spawn starts a command that goes on while others run.
func (b *Box) Spawn(ctx context.Context, cmd sandbox.Cmd) (sandbox.Process, error) {
	p, err := b.begin(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// begin starts a command.
func (b *Box) begin(ctx context.Context, cmd sandbox.Cmd) (*command, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	i, err := b.instance(ctx)
	if err != nil {
		return nil, err
	}
	if err := b.prime(ctx); err != nil {
		return nil, err
	}
	p, err := newCommand(b, i, cmd)
	if err != nil {
		return nil, err
	}
	if err := b.enter(p); err != nil {
		p.sink.close()
		return nil, err
	}
	p.start(ctx)
	return p, nil
}

// enter registers a command, so that Close and the limits of the disk reach it.
func (b *Box) enter(p *command) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return sandbox.ErrClosed
	}
	b.live[p] = struct{}{}
	b.running.Add(1)
	b.look()
	return nil
}

func (b *Box) leave(p *command) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.live, p)
	if len(b.live) == 0 {
		b.rest()
	}
	b.running.Done()
}

func (b *Box) commands() []*command {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.live))
}

// Close ends what runs and removes everything.
func (b *Box) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.expire()
	for _, p := range b.commands() {
		p.stop(sandbox.Canceled)
	}
	b.closing.Do(func() {
		b.launching <- struct{}{} // a start ends with the box's life; there is none after this
		if b.current != nil {
			b.closeErr = b.current.end(ctx)
		}
		b.running.Wait()
		if b.cfg.Cleanup != nil {
			b.closeErr = errors.Join(b.closeErr, b.cfg.Cleanup(ctx))
		}
	})
	return b.closeErr
}
