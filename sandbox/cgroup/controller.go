package cgroup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/greenwright/greenwright/sandbox"
)

// Mode is the kind of control groups that a Controller uses.
type Mode string

// The modes.
const (
	V2   Mode = "v2"
	V1   Mode = "v1"
	None Mode = "none"
)

// home is the directory that the groups stand in.
const home = "greenwright"

// Config is what a Controller works on.
type Config struct {
	// Root is where the control group file systems are mounted; empty is
	// /sys/fs/cgroup.
	Root string
	// Files reaches them; nil is the kernel's.
	Files Files
}

// Controller makes groups. It is safe for concurrent use.
type Controller struct {
	mode  Mode
	why   string
	files Files
	root  string
	// dirs are the directories under which home stands, by controller: for
	// version 2 one, under "".
	dirs  map[string]string
	holds map[string]bool
}

// Open finds out what this machine lets the process do. That nothing can be
// done is no error: the Controller then has the mode None. An error means that
// the Config is wrong.
func Open(c Config) (*Controller, error) {
	ctl := &Controller{mode: None, files: c.Files, root: c.Root}
	if ctl.files == nil {
		ctl.files = kernelFiles{}
	}
	if ctl.root == "" {
		ctl.root = "/sys/fs/cgroup"
	}
	if !filepath.IsAbs(ctl.root) {
		return nil, fmt.Errorf("control group root %q: want an absolute path", ctl.root)
	}
	ctl.why = ctl.choose()
	return ctl, nil
}

// choose takes the best mode and says why it is not a better one.
func (c *Controller) choose() string {
	content, err := c.files.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "reading the own control groups: " + err.Error()
	}
	own := parseMembership(content)
	err2 := c.tryV2(own)
	if err2 == nil {
		return ""
	}
	if err1 := c.tryV1(own); err1 != nil {
		return fmt.Sprintf("version 2: %v; version 1: %v", err2, err1)
	}
	return "version 2: " + err2.Error()
}

// Mode says which kind of groups there are.
func (c *Controller) Mode() Mode { return c.mode }

// Why says, for people, why it is not a better mode; it is empty with V2.
func (c *Controller) Why() string { return c.why }

// Enforces says which of the limits the kernel holds.
func (c *Controller) Enforces() (memory, pids, cpu bool) {
	return c.holds["memory"], c.holds["pids"], c.holds["cpu"]
}

// groupName keeps names to one plain path element that cannot be taken for a
// file of the kernel ("memory.max") nor for the worker's own child.
var groupName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_-]{0,62}$`)

// probePrefix begins the names of groups that are made to see whether it can
// be done. They last for a moment, so Sweep does not ask about them.
const probePrefix = "probe-"

// probeName is unique, since several workers may look at the same time.
func probeName() string { return probePrefix + rand.Text() }

// Make makes a group. Its name must be new, of letters, digits, "-" and "_",
// at most 63 long, and not begin with "probe-". Zero limits take sandbox's defaults. The headroom is
// added to the limit on processes, for what a driver itself runs in the group;
// one more is added for the thread that Start may bring in for a moment. Swap
// is closed to the group where the kernel counts it.
func (c *Controller) Make(name string, l sandbox.Limits, headroom int) (*Group, error) {
	if !groupName.MatchString(name) || strings.HasPrefix(name, probePrefix) {
		return nil, fmt.Errorf("making control group %q: not a valid name", name)
	}
	return c.make(name, l, headroom)
}

func (c *Controller) make(name string, l sandbox.Limits, headroom int) (*Group, error) {
	l = l.WithDefaults()
	l.Processes += max(headroom, 0) + 1
	g := &Group{name: name, ctl: c, dirs: map[string]string{}, pids: l.Processes}
	if c.mode == None {
		return g, nil
	}
	for controller, dir := range c.dirs {
		path := filepath.Join(dir, home, name)
		if err := c.mkdir(dir, path); err != nil {
			return nil, errors.Join(fmt.Errorf("making control group %s: %w", name, err), g.rmdirs())
		}
		g.dirs[controller] = path
	}
	if err := c.limit(g, l); err != nil {
		return nil, errors.Join(fmt.Errorf("limiting control group %s: %w", name, err), g.rmdirs())
	}
	return g, nil
}

// mkdir makes a group and, where need be, its home, which another process may
// be removing at the same time.
func (c *Controller) mkdir(dir, path string) error {
	const attempts = 16
	var err error
	for range attempts {
		err = c.files.Mkdir(filepath.Join(dir, home))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if c.mode == V2 {
			err = c.hand(filepath.Join(dir, home))
		}
		if c.mode != V2 || err == nil {
			err = c.files.Mkdir(path)
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENODEV) {
			return err
		}
	}
	return err
}

func (c *Controller) limit(g *Group, l sandbox.Limits) error {
	if c.mode == V2 {
		return c.limitV2(g, l)
	}
	return c.limitV1(g, l)
}

// Sweep ends and removes the groups for whose names alive says false. It goes
// on after an error.
func (c *Controller) Sweep(ctx context.Context, alive func(name string) bool) error {
	found := map[string]*Group{}
	var errs []error
	for controller, dir := range c.dirs {
		names, err := c.files.Dirs(filepath.Join(dir, home))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("listing control groups: %w", err))
		}
		for _, name := range names {
			if strings.HasPrefix(name, probePrefix) {
				continue
			}
			if found[name] == nil {
				found[name] = &Group{name: name, ctl: c, dirs: map[string]string{}}
			}
			found[name].dirs[controller] = filepath.Join(dir, home, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if !alive(name) {
			errs = append(errs, found[name].Remove(ctx))
		}
	}
	return errors.Join(errs...)
}
