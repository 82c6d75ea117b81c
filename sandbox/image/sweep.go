package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Sweep removes the images that nobody has used for as long as keep, and what
// unfinished attempts of dead processes left. It never waits for and never
// removes what is in use. It goes on after an error and returns how many
// images it removed.
func (s *Store) Sweep(ctx context.Context, keep time.Duration) (int, error) {
	entries, err := os.ReadDir(s.path("roots"))
	if err != nil {
		return 0, fmt.Errorf("sweeping the image cache: %w", err)
	}
	removed := 0
	var errs []error
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return removed, fmt.Errorf("sweeping the image cache: %w", err)
		}
		gone, err := s.evict(e.Name(), keep)
		if gone {
			removed++
			s.log.InfoContext(ctx, "image removed", "digest", e.Name())
		}
		errs = append(errs, err)
	}
	errs = append(errs, s.sweepUnfinished(ctx))
	return removed, errors.Join(errs...)
}

// evict removes an image if it is old and unused: first from its place, in
// one step, then from the disk.
func (s *Store) evict(key string, keep time.Duration) (bool, error) {
	if time.Since(s.used(key)) < keep {
		return false, nil
	}
	l, err := s.tryLock(key, unix.LOCK_EX)
	if errors.Is(err, errLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer l.close()
	if time.Since(s.used(key)) < keep {
		return false, nil
	}
	grave, err := os.MkdirTemp(s.path("tmp"), key+".")
	if err != nil {
		return false, fmt.Errorf("removing an image: %w", err)
	}
	if err := os.Rename(s.path("roots", key), filepath.Join(grave, "gone")); err != nil {
		return false, fmt.Errorf("removing an image: %w", errors.Join(err, os.Remove(grave)))
	}
	if err := os.RemoveAll(grave); err != nil {
		return true, fmt.Errorf("removing an image: %w", err)
	}
	return true, nil
}

// used is when an image was last used, or now where that is not known.
func (s *Store) used(key string) time.Time {
	for _, path := range []string{s.path("roots", key, "used"), s.path("roots", key)} {
		if info, err := os.Stat(path); err == nil {
			return info.ModTime()
		}
	}
	return time.Now()
}

func (s *Store) sweepUnfinished(ctx context.Context) error {
	entries, err := os.ReadDir(s.path("tmp"))
	if err != nil {
		return fmt.Errorf("sweeping the image cache: %w", err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("sweeping the image cache: %w", err)
		}
		key, _, _ := strings.Cut(e.Name(), ".")
		l, err := s.tryLock(key, unix.LOCK_EX)
		if err != nil {
			continue // somebody is at work on it
		}
		s.discard(key)
		l.close()
	}
	return nil
}
