package box

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/disk"
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
	watch  *disk.Watch
	inputs atomic.Int64 // numbers standard inputs

	mu      sync.Mutex
	closed  bool
	current *instance
	live    map[*command]struct{}
	unwatch context.CancelFunc // ends the look at the disk; nil while nothing runs
	running sync.WaitGroup     // processes and the watch

	looking  sync.Mutex // held by the one that looks at the disk
	priming  sync.Once
	closing  sync.Once
	closeErr error
}

// New starts the sandbox. On an error everything is removed.
func New(ctx context.Context, cfg Config) (*Box, error) {
	b := &Box{cfg: cfg, live: map[*command]struct{}{}}
	l := cfg.Spec.Limits
	areas := []disk.Area{{Name: "workspace", Dirs: []string{cfg.Spec.Workspace}, Limit: disk.Size{Bytes: l.WorkspaceBytes, Files: l.WorkspaceFiles}}}
	if cfg.Home != "" {
		areas = append(areas, disk.Area{Name: "home and temporary files", Dirs: []string{cfg.Home, cfg.Temp}, Limit: disk.Size{Bytes: l.TempBytes, Files: l.TempFiles}})
	}
	b.watch = disk.NewWatch(disk.Config{Areas: areas})
	if _, err := b.instance(ctx); err != nil {
		return nil, errors.Join(err, b.Close(context.WithoutCancel(ctx)))
	}
	return b, nil
}

// Owner is the host account of the workspace's files.
func (b *Box) Owner() (uid, gid int) { return b.cfg.UID, b.cfg.GID }

// instance is the running sandbox, started anew if the last one is gone.
func (b *Box) instance(ctx context.Context) (*instance, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, sandbox.ErrClosed
	}
	if b.current != nil && b.current.alive() {
		return b.current, nil
	}
	if b.current != nil {
		if err := b.current.end(ctx); err != nil {
			return nil, fmt.Errorf("ending a lost sandbox: %w", err)
		}
		b.current = nil
	}
	i, err := launch(ctx, b.cfg)
	if err != nil {
		return nil, err
	}
	b.current = i
	return i, nil
}

// Exec runs one command and waits for its end.
func (b *Box) Exec(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error) {
	if cmd.Idle <= 0 {
		cmd.Idle = b.cfg.Spec.Limits.Idle
	}
	p, err := b.begin(ctx, cmd)
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

// Spawn starts a command that goes on while others run.
func (b *Box) Spawn(ctx context.Context, cmd sandbox.Cmd) (sandbox.Process, error) {
	return b.begin(ctx, cmd)
}

// begin starts a command.
func (b *Box) begin(ctx context.Context, cmd sandbox.Cmd) (*command, error) {
	i, err := b.instance(ctx)
	if err != nil {
		return nil, err
	}
	p, err := newCommand(b, i, cmd)
	if err != nil {
		return nil, err
	}
	b.priming.Do(func() { b.watch.Prime(ctx) }) // what is there before the first command is no command's doing
	if err := b.enter(ctx, p); err != nil {
		p.release()
		return nil, err
	}
	if err := p.start(ctx); err != nil {
		b.leave(p)
		return nil, err
	}
	return p, nil
}

// enter registers a command, so that Close and the limits of the disk reach it.
func (b *Box) enter(ctx context.Context, p *command) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return sandbox.ErrClosed
	}
	b.live[p] = struct{}{}
	b.running.Add(1)
	if b.unwatch == nil {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // ends with the last command, whoever began it
		b.unwatch = cancel
		b.running.Go(func() {
			b.looking.Lock() // the look of the commands before may not have ended
			defer b.looking.Unlock()
			b.watch.Run(ctx, b.overDisk)
		})
	}
	return nil
}

func (b *Box) leave(p *command) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.live, p)
	if len(b.live) == 0 && b.unwatch != nil {
		b.unwatch()
		b.unwatch = nil
	}
	b.running.Done()
}

// overDisk ends everything that runs.
func (b *Box) overDisk(disk.Area, disk.Size) {
	for _, p := range b.commands() {
		p.stop(sandbox.DiskLimit)
	}
}

func (b *Box) commands() []*command {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]*command, 0, len(b.live))
	for p := range b.live {
		out = append(out, p)
	}
	return out
}

// Close ends what runs and removes everything.
func (b *Box) Close(ctx context.Context) error {
	b.mu.Lock()
	b.closed = true
	i := b.current
	b.mu.Unlock()
	for _, p := range b.commands() {
		p.stop(sandbox.Canceled)
	}
	b.closing.Do(func() {
		if i != nil {
			b.closeErr = i.end(ctx)
		}
		b.running.Wait()
		if b.cfg.Cleanup != nil {
			b.closeErr = errors.Join(b.closeErr, b.cfg.Cleanup(ctx))
		}
	})
	return b.closeErr
}
