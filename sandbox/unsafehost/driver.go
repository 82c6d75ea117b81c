package unsafehost

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/account"
	"github.com/greenwright/greenwright/sandbox/layout"
	"github.com/greenwright/greenwright/sandbox/process"
)

// Name is the driver's name in configuration and reports.
const Name = "none"

// Driver runs commands on the host.
type Driver struct{ state string }

// New keeps its lock files in a directory.
func New(stateDir string) *Driver { return &Driver{state: stateDir} }

// Name is "none".
func (d *Driver) Name() string { return Name }

// Probe says that nothing holds, which is no error here.
func (d *Driver) Probe(context.Context) (sandbox.Report, error) {
	return sandbox.Report{
		Findings: []sandbox.Finding{{Name: "isolation", Detail: "none: commands reach everything that the worker's account reaches"}},
		Limits:   []sandbox.Enforcement{{Limit: "wall_clock, idle, output_bytes", How: "the worker ends the command's process group; what leaves the group lives on"}},
	}, nil
}

// Start prepares directories; a worker that is root gives the run an account
// of its own all the same.
func (d *Driver) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if spec.Root != "" {
		return nil, fmt.Errorf("%w: an image needs a sandbox: sandbox.driver is none", sandbox.ErrUnavailable)
	}
	spec.Limits = spec.Limits.WithDefaults()
	acct, err := account.Claim(filepath.Join(d.state, "accounts"))
	if err != nil {
		return nil, err
	}
	dirs := layout.DirsIn(spec.Scratch)
	if err := dirs.Make(acct, spec.Workspace); err != nil {
		return nil, errors.Join(err, dirs.Remove(), acct.Release())
	}
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	return &host{spec: spec, dirs: dirs, account: acct, ctx: ctx, end: end}, nil
}

// Sweep has nothing to do: nothing says which processes are of a dead worker.
func (d *Driver) Sweep(context.Context) error { return nil }

// host is one run.
type host struct {
	spec    sandbox.Spec
	dirs    layout.Dirs
	account *account.Account
	ctx     context.Context //nolint:containedctx // ends everything at Close
	end     context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
	once    sync.Once
	err     error
}

// Owner is the run's account.
func (h *host) Owner() (uid, gid int) { return h.account.UID, h.account.GID }

// Exec runs one command.
func (h *host) Exec(ctx context.Context, cmd sandbox.Cmd) (sandbox.Result, error) {
	p, err := h.begin(ctx, cmd)
	if err != nil {
		return sandbox.Result{}, err
	}
	<-p.done
	return p.result, p.err
}

// Spawn starts a command that goes on.
func (h *host) Spawn(_ context.Context, cmd sandbox.Cmd) (sandbox.Process, error) {
	if cmd.Idle <= 0 {
		cmd.Idle = h.spec.Limits.WallClock
	}
	return h.begin(h.ctx, cmd)
}

func (h *host) begin(ctx context.Context, cmd sandbox.Cmd) (*running, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, sandbox.ErrClosed
	}
	ctx, cancel := context.WithCancel(ctx)
	unlink := context.AfterFunc(h.ctx, cancel)
	p := &running{done: make(chan struct{}), cancel: cancel}
	spec := h.process(cmd, p)
	h.running.Go(func() {
		defer close(p.done)
		defer cancel()
		defer unlink()
		p.result, p.err = process.Run(ctx, spec)
	})
	return p, nil
}

// process is the command as the host runs it.
func (h *host) process(cmd sandbox.Cmd, p *running) process.Spec {
	limits := h.spec.Limits
	if cmd.Timeout > 0 {
		limits.WallClock = cmd.Timeout
	}
	if cmd.Idle > 0 {
		limits.Idle = cmd.Idle
	}
	seen := func(b []byte) {
		_, _ = p.sofar.Write(b)
		if cmd.OnOutput != nil {
			cmd.OnOutput(b)
		}
	}
	return process.Spec{
		Argv: sandbox.Argv(cmd), Env: h.environment(cmd), Dir: filepath.Join(h.spec.Workspace, filepath.Join("/", cmd.Dir)),
		Attr: h.account.Attr(), Stdin: cmd.Stdin, Limits: limits, OnOutput: seen, Artifact: cmd.Artifact,
	}
}

// environment is the one inside, with the host's own places.
func (h *host) environment(cmd sandbox.Cmd) []string {
	env := layout.Environment(h.spec, cmd)
	for i, kv := range env {
		switch {
		case strings.HasPrefix(kv, "HOME="):
			env[i] = "HOME=" + h.dirs.Home
		case strings.HasPrefix(kv, "TMPDIR="):
			env[i] = "TMPDIR=" + h.dirs.Temp
		}
	}
	return env
}

// Close ends the process groups and removes the directories.
func (h *host) Close(context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.end()
	h.once.Do(func() {
		h.running.Wait()
		h.err = errors.Join(h.dirs.Remove(), h.account.Release())
	})
	return h.err
}

// running is a started command.
type running struct {
	done   chan struct{}
	cancel context.CancelFunc
	sofar  sofar
	result sandbox.Result // valid when done is closed
	err    error
}

// Done is closed at the end.
func (p *running) Done() <-chan struct{} { return p.done }

// Result is how it ended, or its output so far.
func (p *running) Result() sandbox.Result {
	select {
	case <-p.done:
		return p.result
	default:
		return sandbox.Result{Output: p.sofar.output()}
	}
}

// Stop ends it at once: there is nobody inside to ask.
func (p *running) Stop(context.Context) (sandbox.Result, error) {
	p.cancel()
	<-p.done
	return p.result, p.err
}

// sofar is output that is looked at while more comes.
type sofar struct {
	mu   sync.Mutex
	ring process.Ring // under mu
}

func (s *sofar) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ring.Write(p)
}

func (s *sofar) output() sandbox.Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ring.Output()
}
