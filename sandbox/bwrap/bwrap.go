package bwrap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

// Config is what an operator may set. Zero values work.
type Config struct {
	// Binary is the bubblewrap program; empty looks it up on PATH.
	Binary string `yaml:"binary"`
	// StateDir holds lock files and the probe's directories.
	StateDir string `yaml:"-"`
}

// Driver starts bubblewrap sandboxes.
type Driver struct {
	binary  string
	state   string
	seccomp []byte
	links   []link
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
	return &Driver{binary: found, state: cfg.StateDir, seccomp: program, links: systemLinks()}, nil
}

// Name is "bwrap".
func (d *Driver) Name() string { return "bwrap" }

// Start claims an account and prepares the run's private directories.
func (d *Driver) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	spec.Limits = spec.Limits.WithDefaults()
	acct, err := claimAccount(filepath.Join(d.state, "accounts"))
	if err != nil {
		return nil, err
	}
	box := &box{driver: d, spec: spec, account: acct}
	if err := box.prepare(); err != nil {
		return nil, errors.Join(err, box.Close(ctx))
	}
	return box, nil
}

// probeTimeout bounds the whole probe.
const probeTimeout = 15 * time.Second

// probeScript tries what must hold; it prints one word per fault.
const probeScript = `
[ "$(id -u)" = 1000 ] || echo identity
(: > /usr/probe) 2>/dev/null && echo system-writable
(: > /workspace/probe) 2>/dev/null || echo workspace-read-only
(: > "$HOME/probe") 2>/dev/null || echo home-read-only
[ -z "$(tr -d '\0' < /proc/1/environ)" ] || echo environment-visible
grep -q '^CapEff:[[:space:]]*0000000000000000$' /proc/self/status || echo capabilities
grep -q '^NoNewPrivs:[[:space:]]*1$' /proc/self/status || echo new-privileges
grep -q '^Seccomp:[[:space:]]*2$' /proc/self/status || echo no-seccomp
[ "$(grep -c : /proc/net/dev)" = 1 ] || echo network
[ "$(ls -d /proc/[0-9]* | wc -l)" -lt 12 ] || echo processes-visible
`

// Probe runs probeScript in a real sandbox.
func (d *Driver) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := os.MkdirAll(d.state, 0o711); err != nil { //nolint:gosec // runs' accounts pass through it
		return fmt.Errorf("probing bubblewrap: %w", err)
	}
	dir, err := os.MkdirTemp(d.state, "probe-")
	if err != nil {
		return fmt.Errorf("probing bubblewrap: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // as above
		return fmt.Errorf("probing bubblewrap: %w", err)
	}
	return d.probeIn(ctx, dir)
}

func (d *Driver) probeIn(ctx context.Context, dir string) error {
	ws := filepath.Join(dir, "workspace")
	if err := os.Mkdir(ws, 0o700); err != nil {
		return fmt.Errorf("probing bubblewrap: %w", err)
	}
	box, err := d.Start(ctx, sandbox.Spec{RunID: "probe", Workspace: ws, Scratch: filepath.Join(dir, "scratch")})
	if err != nil {
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	defer func() { _ = box.Close(context.WithoutCancel(ctx)) }()
	res, err := box.Exec(ctx, sandbox.Cmd{Script: probeScript})
	if err != nil {
		return fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
	}
	if out := strings.TrimSpace(res.Output.String()); !res.OK() && res.Cause != sandbox.Exited || out != "" {
		return fmt.Errorf("%w: the bubblewrap sandbox does not hold here (%s): %s", sandbox.ErrUnavailable, res.Cause, strings.ReplaceAll(out, "\n", ", "))
	}
	return nil
}
