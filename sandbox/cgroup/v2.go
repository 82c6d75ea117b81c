package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/sandbox"
)

// leaf is the child that the worker itself moves into.
const leaf = "worker"

// tryV2 takes the version 2 hierarchy, at the root or, on machines with both
// versions, at "unified" under it.
func (c *Controller) tryV2(own membership) error {
	mount := c.root
	if _, err := c.files.ReadFile(filepath.Join(mount, "cgroup.controllers")); err != nil {
		mount = filepath.Join(c.root, "unified")
		if _, err := c.files.ReadFile(filepath.Join(mount, "cgroup.controllers")); err != nil {
			return errors.New("not mounted")
		}
	}
	dir, err := own.dir(c.files, mount, "")
	if err != nil {
		return err
	}
	base := dir
	if filepath.Base(dir) == leaf && dir != mount {
		base = filepath.Dir(dir)
	}
	if err := c.available(base); err != nil {
		return err
	}
	if base == dir {
		if err := c.vacate(base); err != nil {
			return err
		}
	}
	return c.adoptV2(base)
}

// available notes which controllers may be handed on from a group.
func (c *Controller) available(base string) error {
	content, err := c.files.ReadFile(filepath.Join(base, "cgroup.controllers"))
	if err != nil {
		return fmt.Errorf("reading the controllers: %w", err)
	}
	have := words(content)
	if !have["memory"] || !have["pids"] {
		return fmt.Errorf("the controllers memory and pids are not available in the own group (there are: %s)",
			strings.TrimSpace(string(content)))
	}
	c.holds = map[string]bool{"memory": true, "pids": true, "cpu": have["cpu"]}
	return nil
}

// vacate moves this process out of its group into a leaf, unless the group is
// the machine's root, which alone may have both members and limited children.
func (c *Controller) vacate(base string) error {
	if _, err := c.files.ReadFile(filepath.Join(base, "cgroup.type")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	content, err := c.files.ReadFile(filepath.Join(base, "cgroup.procs"))
	if err != nil {
		return fmt.Errorf("reading the members of the own group: %w", err)
	}
	self := strconv.Itoa(os.Getpid())
	members := strings.Fields(string(content))
	if i := slices.IndexFunc(members, func(p string) bool { return p != self }); i >= 0 {
		return fmt.Errorf("the own group has other members (process %s); run the worker as a service with Delegate=yes", members[i])
	}
	path := filepath.Join(base, leaf)
	if err := c.files.Mkdir(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making a group for the worker itself (is the group delegated?): %w", err)
	}
	if err := c.files.WriteFile(filepath.Join(path, "cgroup.procs"), self); err != nil {
		return fmt.Errorf("moving the worker into a group of its own: %w", err)
	}
	return nil
}

// adoptV2 makes sure, with a real group, that limits can be set under base.
func (c *Controller) adoptV2(base string) error {
	if err := c.hand(base); err != nil {
		return err
	}
	c.mode, c.dirs = V2, map[string]string{"": base}
	g, err := c.make(probeName(), sandbox.Limits{CPUs: 1}, 0)
	if err == nil {
		err = g.rmdirs()
	}
	if err != nil {
		c.mode, c.dirs, c.holds = None, nil, nil
	}
	return err
}

// hand gives the controllers of a group to its children.
func (c *Controller) hand(dir string) error {
	want := "+memory +pids"
	if c.holds["cpu"] {
		want += " +cpu"
	}
	if err := c.files.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), want); err != nil {
		return fmt.Errorf("handing controllers on: %w", err)
	}
	return nil
}

// limitV2 sets the limits. The kernel ends one process when memory is short,
// not the whole group: what remains can still report.
func (c *Controller) limitV2(g *Group, l sandbox.Limits) error {
	dir := g.dirs[""]
	settings := []setting{
		{"memory.max", strconv.FormatInt(l.MemoryBytes, 10), false},
		{"memory.swap.max", "0", true},
		{"memory.oom.group", "0", true},
		{"pids.max", strconv.Itoa(l.Processes), false},
	}
	if l.CPUs > 0 && c.holds["cpu"] {
		settings = append(settings, setting{"cpu.max", fmt.Sprintf("%d %d", quota(l.CPUs), period), false})
	}
	return c.apply(dir, settings)
}
