package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/greenwright/greenwright/sandbox/layout"
)

// lockName is the file by which a live run holds its directory.
const lockName = "lock"

// HoldDir makes the directory of a run, or of a command run by hand, and locks it for as long as the file is
// open. The kernel gives the lock up when the process dies, however it dies.
func HoldDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // the run's account passes through it
		return nil, fmt.Errorf("making the run's directory: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking the run's directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking the run's directory: %w", err)
	}
	return f, nil
}

// Sweep removes what runs of processes that have died left behind.
func (r *Runner) Sweep() error {
	entries, err := os.ReadDir(r.cfg.RunsDir)
	if err != nil {
		return fmt.Errorf("looking for what dead runs left: %w", err)
	}
	var errs []error
	for _, e := range entries {
		dir := filepath.Join(r.cfg.RunsDir, e.Name())
		lock, err := HoldDir(dir)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			continue // its run lives
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		r.cfg.Log.Info("removing what a dead run left", "run_id", e.Name())
		errs = append(errs, layout.RemoveTree(dir), lock.Close())
	}
	return errors.Join(errs...)
}
