package runsc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/account"
	"github.com/greenwright/greenwright/sandbox/box"
	"github.com/greenwright/greenwright/sandbox/cgroup"
	"github.com/greenwright/greenwright/sandbox/layout"
)

// Config is what an operator may set. Zero values work.
type Config struct {
	// Binary is the runsc program; empty looks it up on PATH, beside the
	// running program (where `make setup` puts it), in
	// ~/.local/share/greenwright/bin, and in /usr/local/lib/greenwright.
	Binary string `yaml:"binary"`
	// StateDir holds lock files, a directory for each box, and the probe's
	// directories; runs' accounts must be able to pass through it.
	StateDir string `yaml:"-"`
	// Guest is a program that calls guest.Main; empty is the running one.
	Guest string `yaml:"-"`
	// Cgroup, if set, holds the limits of memory, processes and processors;
	// without it they rest on what the guest sees.
	Cgroup *cgroup.Controller `yaml:"-"`
}

// Driver starts gVisor sandboxes.
type Driver struct {
	binary string
	state  string
	guest  string
	links  []layout.Link
	groups *cgroup.Controller
}

// New finds gVisor. Its error wraps sandbox.ErrUnavailable when the program is
// missing or too old, and says how to get a current one.
func New(cfg Config) (*Driver, error) {
	program, err := find(cfg.Binary)
	if err != nil {
		return nil, err
	}
	if cfg.StateDir == "" {
		cfg.StateDir = filepath.Join(os.TempDir(), "greenwright-runsc")
	}
	// Both are started by runs' accounts, which must be able to reach them.
	binary, err := layout.GuestProgram(filepath.Join(cfg.StateDir, "program"), program)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", sandbox.ErrUnavailable, err)
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
	return &Driver{binary: binary, state: cfg.StateDir, guest: guest, links: layout.SystemLinks(), groups: cfg.Cgroup}, nil
}

// Name is "runsc".
func (d *Driver) Name() string { return "runsc" }

// Probe starts a real sandbox and tries what must hold.
func (d *Driver) Probe(ctx context.Context) (sandbox.Report, error) {
	return box.Probe(ctx, d, d.state, d.groups)
}

// threadHeadroom is what gVisor takes of a control group's processes: threads
// of the sentry, and a thread of a stub process for each thread inside. A
// group that is too small ends the sentry itself.
const threadHeadroom = 2048

// Start claims an account, writes the bundle, and starts gVisor with the guest
// in it.
func (d *Driver) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	spec.Limits = spec.Limits.WithDefaults()
	p, err := d.prepare(spec)
	if err != nil {
		return nil, err
	}
	group, err := d.groups.Make(box.GroupName(), withStubs(spec.Limits), threadHeadroom)
	if err != nil {
		return nil, errors.Join(err, p.remove())
	}
	b, err := box.New(ctx, box.Config{
		Spec: spec, Launcher: &launcher{driver: d, dir: p.dir, account: p.account, group: group},
		UID: p.account.UID, GID: p.account.GID, Home: p.dirs.Home, Temp: p.dirs.Temp,
		Environment: func(cmd sandbox.Cmd) []string { return layout.Environment(spec, cmd) },
		Setup:       box.SetupOf(spec, nil, d.groups),
		Cleanup:     func(ctx context.Context) error { return errors.Join(group.Remove(ctx), p.remove()) },
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// sentryHeadroom is what gVisor itself may take of a control group's memory, and
// what a command may touch before the guest sees it: the group ends the whole
// sandbox, the guest ends the command alone.
const sentryHeadroom = 512 << 20

// withStubs counts that a process inside may take two outside, and leaves the
// guest the first word on memory.
func withStubs(l sandbox.Limits) sandbox.Limits {
	l.Processes *= 2
	l.MemoryBytes += l.MemoryBytes/4 + sentryHeadroom
	return l
}

// prepared is what a box stands on.
type prepared struct {
	dir     string
	lock    *os.File
	dirs    layout.Dirs
	account *account.Account
}

// prepare makes the directories and the bundle; on an error nothing stays.
func (d *Driver) prepare(spec sandbox.Spec) (*prepared, error) {
	acct, err := account.Claim(account.Dir(filepath.Join(d.state, "accounts")))
	if err != nil {
		return nil, err
	}
	p := &prepared{account: acct, dirs: layout.DirsIn(spec.Scratch)}
	if p.dir, p.lock, err = makeBoxDir(d.boxes()); err == nil {
		err = p.dirs.Make(acct, spec.Workspace)
	}
	if err == nil {
		err = bundle(p.dir, spec, acct, place{links: d.links, dirs: p.dirs, guest: d.guest, uid: acct.UID, gid: acct.GID})
	}
	if err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

// remove undoes prepare.
func (p *prepared) remove() error {
	err := p.dirs.Remove()
	if p.dir != "" {
		err = errors.Join(err, layout.RemoveTree(p.dir))
	}
	if p.lock != nil {
		err = errors.Join(err, p.lock.Close())
		p.lock = nil
	}
	return errors.Join(err, p.account.Release())
}

func (d *Driver) boxes() string { return filepath.Join(d.state, "boxes") }

// idLength keeps the path of gVisor's control socket short: it has at most 107
// bytes (unix(7)).
const idLength = 10

// boxID names a box.
func boxID() string { return strings.ToLower(rand.Text()[:idLength]) }
