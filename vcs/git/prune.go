package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// storedMirror is a mirror as Prune finds it on disk.
type storedMirror struct {
	dir  string
	size int64
	used time.Time
}

// StoredMirror is a mirror on disk.
type StoredMirror struct {
	Name  string    `json:"name"` // below the store's directory
	Bytes int64     `json:"bytes"`
	Used  time.Time `json:"used"` // last
}

// Prune removes the least recently used mirrors until all of them together
// fit Config.MaxBytes. Mirrors in use, here or in another process, stay.
func (s *Store) Prune(ctx context.Context) error {
	_, err := s.PruneUnused(ctx, time.Time{}, false)
	return err
}

// PruneUnused is Prune that also removes mirrors that were last used before
// some time, and gives what went, also after an error. A dry run removes
// nothing and gives what would go.
func (s *Store) PruneUnused(ctx context.Context, before time.Time, dry bool) ([]StoredMirror, error) {
	if !dry {
		if err := s.sweepPacks(); err != nil {
			return nil, err
		}
	}
	all, err := s.mirrors(ctx)
	if err != nil {
		return nil, err
	}
	var total int64
	for _, sm := range all {
		total += sm.size
	}
	slices.SortFunc(all, func(a, b storedMirror) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.dir, b.dir)) })
	var out []StoredMirror
	for _, sm := range all {
		if total <= s.cfg.MaxBytes && !sm.used.Before(before) {
			break
		}
		if err := ctx.Err(); err != nil {
			return out, err
		}
		gone, err := s.pruneOne(sm, dry)
		if err != nil {
			return out, err
		}
		if gone {
			total -= sm.size
			out = append(out, StoredMirror{Name: s.rel(sm.dir), Bytes: sm.size, Used: sm.used})
		}
	}
	return out, nil
}

// rel is a mirror's name for people.
func (s *Store) rel(dir string) string {
	rel, err := filepath.Rel(s.cfg.Dir, dir)
	if err != nil {
		return dir
	}
	return strings.TrimSuffix(rel, mirrorSuffix)
}

// packRoom names the directories in which packs for workspaces are made;
// stalePack is when one was left by a process that died.
const (
	packRoom  = "pack-*.tmp"
	stalePack = time.Hour
)

func (s *Store) sweepPacks() error {
	dirs, err := filepath.Glob(filepath.Join(s.cfg.Dir, packRoom))
	if err != nil {
		return fmt.Errorf("listing left packs: %w", err)
	}
	for _, d := range dirs {
		if info, err := os.Stat(d); err != nil || time.Since(info.ModTime()) < stalePack {
			continue
		}
		if err := os.RemoveAll(d); err != nil {
			return fmt.Errorf("removing left packs: %w", err)
		}
	}
	return nil
}

// pruneOne removes a mirror that nobody uses; a dry run only sees whether it
// could.
func (s *Store) pruneOne(sm storedMirror, dry bool) (bool, error) {
	m := &Mirror{store: s, dir: sm.dir}
	var held []*fileLock
	defer func() {
		for _, l := range held {
			l.release()
		}
	}()
	for _, path := range []string{m.fetchLock(), m.useLock()} {
		l, err := tryLock(path, syscall.LOCK_EX)
		if errors.Is(err, errLocked) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		held = append(held, l)
	}
	if dry {
		return true, nil
	}
	s.log.Info("pruning mirror", "mirror", s.rel(sm.dir), "bytes", sm.size)
	return true, m.remove()
}

// mirrors finds every mirror under the store's directory.
func (s *Store) mirrors(ctx context.Context) ([]storedMirror, error) {
	var all []storedMirror
	err := filepath.WalkDir(s.cfg.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if d == nil || !d.IsDir() || !strings.HasSuffix(path, mirrorSuffix) {
			return ctx.Err()
		}
		sm := storedMirror{dir: path, size: dirSize(path)}
		if info, err := os.Stat(path + ".use.lock"); err == nil {
			sm.used = info.ModTime()
		}
		all = append(all, sm)
		return filepath.SkipDir
	})
	if err != nil {
		return nil, fmt.Errorf("listing mirrors: %w", err)
	}
	return all, nil
}

// dirSize adds up the files under dir; what vanishes meanwhile counts nothing.
func dirSize(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, _ error) error {
		if d == nil || d.IsDir() {
			return nil
		}
		if info, ierr := d.Info(); ierr == nil {
			n += info.Size()
		}
		return nil
	})
	return n
}
