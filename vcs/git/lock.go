package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Waiting for a lock held by another process polls at these intervals.
const (
	lockPollMin = 5 * time.Millisecond
	lockPollMax = 200 * time.Millisecond
)

// errLocked says that a lock is held by somebody else.
var errLocked = errors.New("locked")

// fileLock is an advisory lock that excludes other processes and other
// holders in this process alike: flock belongs to the open file description.
type fileLock struct{ f *os.File }

// lockFile waits for the lock until ctx ends.
func lockFile(ctx context.Context, path string, how int) (*fileLock, error) {
	wait := lockPollMin
	for {
		l, err := tryLock(path, how)
		if !errors.Is(err, errLocked) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", filepath.Base(path), ctx.Err())
		case <-time.After(wait):
		}
		wait = min(2*wait, lockPollMax)
	}
}

// tryLock returns errLocked when the lock is not to be had now.
func tryLock(path string, how int) (*fileLock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("creating lock directory: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening lock: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
			return nil, errLocked
		}
		return nil, fmt.Errorf("locking %s: %w", filepath.Base(path), err)
	}
	return &fileLock{f: f}, nil
}

// release lets the lock go; the file stays, since removing it would let two
// holders lock two different files.
func (l *fileLock) release() { _ = l.f.Close() }
