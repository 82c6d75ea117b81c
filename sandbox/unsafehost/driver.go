package unsafehost

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/account"
	"github.com/greenwright/greenwright/sandbox/box"
	"github.com/greenwright/greenwright/sandbox/layout"
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
		Limits: []sandbox.Enforcement{
			{Limit: "wall_clock, idle, output_bytes", How: "the worker ends the command's process group; what leaves the group lives on"},
			{Limit: "workspace_bytes, temp_bytes", How: "added up while commands run"},
		},
	}, nil
}

// Start prepares directories; a worker that is root gives the run an account
// of its own all the same. The Spec's gateway is not used: commands reach the
// network without it.
func (d *Driver) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	if spec.Root != "" {
		return nil, fmt.Errorf("%w: an image needs a sandbox: sandbox.driver is none", sandbox.ErrUnavailable)
	}
	spec.Limits, spec.Gateway = spec.Limits.WithDefaults(), nil
	acct, err := account.Claim(account.Dir(filepath.Join(d.state, "accounts")))
	if err != nil {
		return nil, err
	}
	dirs := layout.DirsIn(spec.Scratch)
	if err := dirs.Make(acct, spec.Workspace); err != nil {
		return nil, errors.Join(err, dirs.Remove(), acct.Release())
	}
	b, err := box.New(ctx, box.Config{
		Spec: spec, Launcher: &launcher{workspace: spec.Workspace, account: acct},
		UID: acct.UID, GID: acct.GID, Home: dirs.Home, Temp: dirs.Temp,
		Environment: func(cmd sandbox.Cmd) []string { return environment(spec, dirs, cmd) },
		Cleanup:     func(context.Context) error { return errors.Join(dirs.Remove(), acct.Release()) },
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// environment is the one inside, with the host's own places.
func environment(spec sandbox.Spec, dirs layout.Dirs, cmd sandbox.Cmd) []string {
	env := layout.Environment(spec, cmd)
	for i, kv := range env {
		switch kv {
		case "HOME=" + sandbox.HomeDir:
			env[i] = "HOME=" + dirs.Home
		case "TMPDIR=" + sandbox.TempDir:
			env[i] = "TMPDIR=" + dirs.Temp
		}
	}
	return env
}

// Sweep has nothing to do: nothing says which processes are of a dead worker.
func (d *Driver) Sweep(context.Context) error { return nil }
