package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lock is a flock on an image's lock file. The kernel gives it back when the
// process ends, however it ends. Lock files are never removed, so that there
// is one for each image, whoever opens it when.
type lock struct{ f *os.File }

// errLocked is tryLock's answer when somebody else has it.
var errLocked = errors.New("in use")

const lockPause = 20 * time.Millisecond

// lock takes the lock, shared (LOCK_SH) or exclusive (LOCK_EX), or waits.
func (s *Store) lock(ctx context.Context, key string, how int) (*lock, error) {
	tick := time.NewTicker(lockPause)
	defer tick.Stop()
	for {
		l, err := s.tryLock(key, how)
		if !errors.Is(err, errLocked) {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another's work on the image: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func (s *Store) tryLock(key string, how int) (*lock, error) {
	f, err := os.OpenFile(s.path("locks", key), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // a key is the name of a digest that was parsed
	if err != nil {
		return nil, fmt.Errorf("opening an image's lock: %w", err)
	}
	err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
	if err == nil {
		return &lock{f: f}, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("locking an image: %w", err)
}

func (l *lock) close() { _ = l.f.Close() }
