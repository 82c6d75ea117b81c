package bwrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/account"
	"github.com/greenwright/greenwright/sandbox/box"
	"github.com/greenwright/greenwright/sandbox/cgroup"
	"github.com/greenwright/greenwright/sandbox/layout"
)

// Config is what an operator may set. Zero values work.
type Config struct {
	// Binary is the bubblewrap program; empty looks it up on PATH.
	Binary string `yaml:"binary"`
	// StateDir holds lock files and the probe's directories.
	StateDir string `yaml:"-"`
	// Guest is a program that calls guest.Main; empty is the running one.
	Guest string `yaml:"-"`
	// Cgroup, if set, holds the limits of memory, processes and processors;
	// without it they rest on what the guest sees.
	Cgroup *cgroup.Controller `yaml:"-"`
}

// Driver starts bubblewrap sandboxes.
type Driver struct {
	binary  string
	state   string
	guest   string
	seccomp []byte
	links   []layout.Link
	groups  *cgroup.Controller
}

// New finds bubblewrap and assembles the filter. Its error wraps
// sandbox.ErrUnavailable when the program is missing.
func New(cfg Config) (*Driver, error) {
	binary := cfg.Binary
	if binary == "" {
		binary = "bwrap"
	}
	found, err := exec.LookPath(binary)
	if err != nil {
		return nil, fmt.Errorf("%w: bubblewrap (bwrap) is not installed: run `apt-get install bubblewrap` or `make setup`", sandbox.ErrUnavailable)
	}
	program, err := seccompProgram()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	if cfg.StateDir == "" {
		cfg.StateDir = filepath.Join(os.TempDir(), "greenwright-bwrap")
	}
	guest, err := layout.GuestProgram(cfg.StateDir, cfg.Guest)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	if cfg.Cgroup == nil {
		if cfg.Cgroup, err = cgroup.Open(cgroup.Config{Root: os.DevNull}); err != nil {
			return nil, err
		}
	}
	return &Driver{binary: found, state: cfg.StateDir, guest: guest, seccomp: program, links: layout.SystemLinks(), groups: cfg.Cgroup}, nil
}

// Name is "bwrap".
func (d *Driver) Name() string { return "bwrap" }

// Start claims an account, prepares the run's directories, and starts
// bubblewrap with the guest in it.
func (d *Driver) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	spec.Limits = spec.Limits.WithDefaults()
	acct, err := account.Claim(account.Dir(filepath.Join(d.state, "accounts")))
	if err != nil {
		return nil, err
	}
	dirs := layout.DirsIn(spec.Scratch)
	remove := func(context.Context) error { return errors.Join(dirs.Remove(), acct.Release()) }
	if err := dirs.Make(acct, spec.Workspace); err != nil {
		return nil, errors.Join(err, remove(ctx))
	}
	group, err := d.groups.Make(box.GroupName(), spec.Limits, threadHeadroom)
	if err != nil {
		return nil, errors.Join(err, remove(ctx))
	}
	b, err := box.New(ctx, box.Config{
		Spec: spec, Launcher: &launcher{driver: d, spec: spec, dirs: dirs, account: acct, group: group},
		UID: acct.UID, GID: acct.GID, Home: dirs.Home, Temp: dirs.Temp,
		Environment: func(cmd sandbox.Cmd) []string { return layout.Environment(spec, cmd) },
		Setup:       box.SetupOf(spec, layout.Writable(), d.groups),
		Cleanup:     func(ctx context.Context) error { return errors.Join(group.Remove(ctx), remove(ctx)) },
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Sweep removes the control groups of workers that have died. Bubblewrap
// itself ends with its worker.
func (d *Driver) Sweep(ctx context.Context) error {
	return d.groups.Sweep(ctx, box.GroupAlive)
}

// threadHeadroom is what bubblewrap and the guest take of the processes.
const threadHeadroom = 32
