package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"
)

// Group is one control group. Its methods are safe for concurrent use; those
// of a Group of a Controller without a mode do nothing.
type Group struct {
	name string
	ctl  *Controller
	dirs map[string]string // by controller; version 2 under ""
	pids int               // the limit on processes; 0 if not known
}

// Usage is what the members of a group have used so far; what the kernel does
// not tell is zero.
type Usage struct {
	OOMKills   int64         // processes ended for want of memory
	PeakMemory int64         // bytes, all together
	Memory     int64         // bytes, now; page cache counts
	CPU        time.Duration // user and system
	Processes  int           // processes and threads, as the limit counts them: until they are waited for
}

// Name is the name that the group was made with.
func (g *Group) Name() string { return g.name }

// Add moves a process into the group. Its children that exist stay out.
func (g *Group) Add(pid int) error {
	for _, dir := range g.dirs {
		if err := g.ctl.files.WriteFile(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid)); err != nil {
			return fmt.Errorf("adding process %d to control group %s: %w", pid, g.name, err)
		}
	}
	return nil
}

// Usage reads the counters. After Remove all are zero.
func (g *Group) Usage() Usage {
	if g.ctl.mode == V2 {
		return g.usageV2()
	}
	return Usage{
		OOMKills:   field(g.read("memory", "memory.oom_control"), "oom_kill"),
		PeakMemory: number(g.read("memory", "memory.max_usage_in_bytes")),
		Memory:     number(g.read("memory", "memory.usage_in_bytes")),
		CPU:        time.Duration(number(g.read("cpuacct", "cpuacct.usage"))),
		Processes:  int(number(g.read("pids", "pids.current"))),
	}
}

func (g *Group) usageV2() Usage {
	u := Usage{
		OOMKills:   field(g.read("", "memory.events"), "oom_kill"),
		PeakMemory: number(g.read("", "memory.peak")),
		Memory:     number(g.read("", "memory.current")),
		CPU:        time.Duration(field(g.read("", "cpu.stat"), "usage_usec")) * time.Microsecond,
		Processes:  int(number(g.read("", "pids.current"))),
	}
	u.PeakMemory = max(u.PeakMemory, u.Memory) // memory.peak is new in Linux 5.19
	return u
}

// read returns the content of a file of the group, or nothing.
func (g *Group) read(controller, file string) []byte {
	dir, ok := g.dirs[controller]
	if !ok {
		return nil
	}
	content, err := g.ctl.files.ReadFile(filepath.Join(dir, file))
	if err != nil {
		return nil
	}
	return content
}

// rmdirs removes the directories, and their home when it is empty.
func (g *Group) rmdirs() error {
	var errs []error
	for _, dir := range g.dirs {
		if err := g.ctl.files.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			continue
		}
		_ = g.ctl.files.Rmdir(filepath.Dir(dir)) // stays while there are other groups
	}
	return errors.Join(errs...)
}
