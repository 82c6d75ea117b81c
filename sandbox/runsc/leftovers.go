package runsc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox/box"
	"github.com/greenwright/greenwright/sandbox/layout"
)

// makeBoxDir makes the directory of a box. The lock in it is held by this
// process; when it dies, Sweep can take it. A sweep of another worker may come
// between making and locking: then another directory is made.
func makeBoxDir(boxes string) (dir string, lock *os.File, err error) {
	const attempts = 3
	for range attempts {
		dir = filepath.Join(boxes, boxID())
		if err = os.MkdirAll(dir, passable); err != nil {
			return "", nil, fmt.Errorf("making the sandbox's directory: %w", err)
		}
		if lock, err = takeLock(dir); err == nil {
			return dir, lock, nil
		}
	}
	return "", nil, fmt.Errorf("locking the sandbox's directory: %w", errors.Join(err, os.RemoveAll(dir)))
}

// takeLock fails with EWOULDBLOCK when another has it or has removed it.
func takeLock(dir string) (*os.File, error) {
	name := filepath.Join(dir, lockName)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	mine, err := f.Stat()
	there, statErr := os.Stat(name)
	if err != nil || statErr != nil || !os.SameFile(mine, there) {
		return nil, errors.Join(syscall.EWOULDBLOCK, f.Close())
	}
	return f, nil
}

// unlockedAge is how old a directory without a lock must be to be a dead
// worker's, not one that is being made.
const unlockedAge = time.Minute

// Sweep ends and removes the boxes of workers that have died, which normally
// end with their worker, and their control groups.
func (d *Driver) Sweep(ctx context.Context) error {
	entries, err := os.ReadDir(d.boxes())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking for sandboxes left behind: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if err := d.sweepBox(ctx, filepath.Join(d.boxes(), e.Name())); err != nil {
			errs = append(errs, fmt.Errorf("removing sandbox %s: %w", e.Name(), err))
		}
	}
	return errors.Join(append(errs, d.groups.Sweep(ctx, box.GroupAlive))...)
}

func (d *Driver) sweepBox(ctx context.Context, dir string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return nil // removed meanwhile
	}
	if _, err := os.Stat(filepath.Join(dir, lockName)); err != nil && time.Since(st.ModTime()) < unlockedAge {
		return nil
	}
	lock, err := takeLock(dir)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil // its worker lives
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := endProcesses(ctx, dir); err != nil {
		return err
	}
	return layout.RemoveTree(dir)
}

// pause between two looks at what still runs.
const pause = 5 * time.Millisecond

// endProcesses kills gVisor's processes of a box and returns when they are
// gone or ctx ends.
func endProcesses(ctx context.Context, dir string) error {
	for {
		pids := processesOf(dir)
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			killOf(dir, pid)
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return fmt.Errorf("processes %v do not end: %w", pids, ctx.Err())
		case <-t.C:
		}
	}
}

// processesOf are gVisor's processes of a box: each names the box's state
// directory on its command line. Stub processes do not; they are in a pid
// namespace that ends with the sandbox.
func processesOf(dir string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() && belongs(dir, pid) {
			out = append(out, pid)
		}
	}
	return out
}

func belongs(dir string, pid int) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	want := []byte("--root=" + filepath.Join(dir, stateName))
	for word := range bytes.SplitSeq(line, []byte{0}) {
		if err == nil && bytes.Equal(word, want) {
			return true
		}
	}
	return false
}

// killOf ends a process if it is the box's. It takes hold of the process
// before it looks, so that one that has come by the same number is not hit.
func killOf(dir string, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return // it has just ended
	}
	defer func() { _ = unix.Close(fd) }()
	if belongs(dir, pid) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}
