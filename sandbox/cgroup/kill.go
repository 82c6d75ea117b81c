package cgroup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pause is between two looks at a group that is not yet empty.
const pause = 5 * time.Millisecond

// Kill ends all that runs in the group and returns when it is empty or ctx
// ends. The group can be used again afterwards. This process is left alone
// also where it is a member.
func (g *Group) Kill(ctx context.Context) error {
	if len(g.dirs) == 0 {
		return nil
	}
	open := g.closeForks()
	defer open()
	for {
		left, err := g.killOnce()
		if err != nil {
			return fmt.Errorf("ending control group %s: %w", g.name, err)
		}
		if left == 0 {
			return nil
		}
		if err := wait(ctx, pause); err != nil {
			return fmt.Errorf("ending control group %s: %d processes left: %w", g.name, left, err)
		}
	}
}

// closeForks lets nothing new begin in the group, so that no fork bomb outruns
// the signals, until what it returns is called.
func (g *Group) closeForks() func() {
	for _, controller := range []string{"pids", ""} {
		dir, ok := g.dirs[controller]
		if !ok {
			continue
		}
		path := filepath.Join(dir, "pids.max")
		if err := g.ctl.files.WriteFile(path, "0"); err != nil {
			continue
		}
		return func() {
			if g.pids > 0 {
				_ = g.ctl.files.WriteFile(path, strconv.Itoa(g.pids))
			}
		}
	}
	return func() {}
}

// killOnce signals every member once and tells how many there were.
func (g *Group) killOnce() (int, error) {
	if dir, ok := g.dirs[""]; ok {
		_ = g.ctl.files.WriteFile(filepath.Join(dir, "cgroup.kill"), "1") // new in Linux 5.14
	}
	seen := map[int]bool{os.Getpid(): true}
	for _, dir := range g.dirs {
		pids, err := g.ctl.members(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
			continue
		}
		if err != nil {
			return 0, err
		}
		for _, pid := range pids {
			if !seen[pid] {
				seen[pid] = true
				g.kill(pid)
			}
		}
	}
	return len(seen) - 1, nil
}

// kill ends a process if it is a member. It takes hold of the process before
// it looks, so that a process that has come by the same number is not hit.
func (g *Group) kill(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has just ended
	}
	defer func() { _ = unix.Close(fd) }()
	content, err := g.ctl.files.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return
	}
	for _, path := range parseMembership(content) {
		if strings.HasSuffix(path, "/"+filepath.Join(home, g.name)) {
			_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
			return
		}
	}
}

// Remove ends all that runs in the group and removes it. It is idempotent; an
// error means that ctx ended before.
func (g *Group) Remove(ctx context.Context) error {
	if len(g.dirs) == 0 {
		return nil
	}
	for {
		if err := g.Kill(ctx); err != nil {
			return err
		}
		err := g.rmdirs()
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) && !errors.Is(err, syscall.ENOTEMPTY) {
			return fmt.Errorf("removing control group %s: %w", g.name, err)
		}
		if werr := wait(ctx, pause); werr != nil {
			return fmt.Errorf("removing control group %s: %w: %w", g.name, werr, err)
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
