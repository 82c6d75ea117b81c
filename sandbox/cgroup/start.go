package cgroup

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts the command inside the group, so that it never runs a moment
// outside, whatever account its SysProcAttr names. It stands for cmd.Start.
//
// In version 1 a thread of this process goes into the group for the moment of
// the start, since children begin where the thread that makes them is. If it
// cannot get back, the command is ended, Start returns an error, and the
// thread ends too.
func (g *Group) Start(cmd *exec.Cmd) error {
	switch g.ctl.mode {
	case V2:
		return g.startV2(cmd)
	case V1:
		return g.startV1(cmd)
	default:
		return cmd.Start()
	}
}

func (g *Group) startV2(cmd *exec.Cmd) error {
	dir, err := os.Open(g.dirs[""])
	if err != nil {
		return fmt.Errorf("opening control group %s: %w", g.name, err)
	}
	defer func() { _ = dir.Close() }()
	was := cmd.SysProcAttr
	attr := syscall.SysProcAttr{}
	if was != nil {
		attr = *was
	}
	attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
	cmd.SysProcAttr = &attr
	err = cmd.Start()
	cmd.SysProcAttr = was
	return err
}

func (g *Group) startV1(cmd *exec.Cmd) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The main thread cannot end, so it must not be the one that may
			// stay behind. While it is locked, another serves the next goroutine.
			err := g.startV1(cmd)
			runtime.UnlockOSThread()
			done <- err
			return
		}
		stray, err := g.startFromHere(cmd)
		if !stray {
			runtime.UnlockOSThread()
		}
		done <- err // a thread that is still locked ends with this goroutine
	}()
	return <-done
}

// startFromHere starts the command from the thread it is called on, which
// must be locked; stray means that the thread is still in the group.
func (g *Group) startFromHere(cmd *exec.Cmd) (stray bool, err error) {
	back, stray, err := g.enter(unix.Gettid())
	if err != nil {
		return stray, err
	}
	err = cmd.Start()
	berr := back()
	if berr == nil {
		return false, err
	}
	berr = fmt.Errorf("moving a thread out of control group %s: %w", g.name, berr)
	if err == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return true, errors.Join(err, berr)
}

func rmdir(path string) error { return unix.Rmdir(path) }
