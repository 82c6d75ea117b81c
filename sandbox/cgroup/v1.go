package cgroup

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/sandbox"
)

// limiting are the version 1 controllers that hold a limit; cpuacct only
// counts. A machine may mount some of them together.
var limiting = []string{"memory", "pids", "cpu"}

// tryV1 takes each version 1 hierarchy that lets groups be made.
func (c *Controller) tryV1(own membership) error {
	c.dirs, c.holds = map[string]string{}, map[string]bool{}
	var missing []error
	for _, controller := range append(slices.Clone(limiting), "cpuacct") {
		dir, err := own.dir(c.files, filepath.Join(c.root, controller), controller)
		if err == nil {
			err = c.tryGroup(dir)
		}
		if err != nil {
			missing = append(missing, fmt.Errorf("%s: %w", controller, err))
			continue
		}
		c.dirs[controller] = dir
		c.holds[controller] = controller != "cpuacct"
	}
	if !c.holds["memory"] && !c.holds["pids"] {
		c.dirs, c.holds = nil, nil
		return errors.Join(missing...)
	}
	c.mode = V1
	return nil
}

// tryGroup makes a group and removes it.
func (c *Controller) tryGroup(dir string) error {
	path := filepath.Join(dir, home, probeName())
	if err := c.mkdir(dir, path); err != nil {
		return err
	}
	err := c.files.Rmdir(path)
	_ = c.files.Rmdir(filepath.Dir(path)) // stays while there are other groups
	return err
}

// limitV1 sets the limits. The limit on memory comes before the one on memory
// and swap together, which may not be lower.
func (c *Controller) limitV1(g *Group, l sandbox.Limits) error {
	memory := strconv.FormatInt(l.MemoryBytes, 10)
	settings := map[string][]setting{
		"memory": {{"memory.limit_in_bytes", memory, false}, {"memory.memsw.limit_in_bytes", memory, true}},
		"pids":   {{"pids.max", strconv.Itoa(l.Processes), false}},
	}
	if l.CPUs > 0 {
		settings["cpu"] = []setting{
			{"cpu.cfs_period_us", strconv.Itoa(period), false},
			{"cpu.cfs_quota_us", strconv.FormatInt(quota(l.CPUs), 10), false},
		}
	}
	for controller, dir := range g.dirs {
		if err := c.apply(dir, settings[controller]); err != nil {
			return err
		}
	}
	return nil
}

// enter moves one thread of this process into the group and returns what
// moves it back. After an error the thread is where it was, or stray is true.
func (g *Group) enter(tid int) (back func() error, stray bool, err error) {
	content, err := g.ctl.files.ReadFile(fmt.Sprintf("/proc/self/task/%d/cgroup", tid))
	if err != nil {
		return nil, false, fmt.Errorf("reading the groups of the own thread: %w", err)
	}
	was := parseMembership(content)
	var moved []string
	back = func() error {
		var errs []error
		for _, dir := range moved {
			errs = append(errs, g.ctl.files.WriteFile(filepath.Join(dir, "tasks"), strconv.Itoa(tid)))
		}
		return errors.Join(errs...)
	}
	for _, controller := range slices.Sorted(maps.Keys(g.dirs)) {
		from, err := was.dir(g.ctl.files, filepath.Join(g.ctl.root, controller), controller)
		if err == nil {
			err = g.ctl.files.WriteFile(filepath.Join(g.dirs[controller], "tasks"), strconv.Itoa(tid))
		}
		if err != nil {
			return nil, back() != nil, fmt.Errorf("moving a thread into control group %s: %w", g.name, err)
		}
		moved = append(moved, from)
	}
	return back, false, nil
}

// members lists the processes in a group's directory.
func (c *Controller) members(dir string) ([]int, error) {
	content, err := c.files.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, w := range strings.Fields(string(content)) {
		if pid, err := strconv.Atoi(w); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}
