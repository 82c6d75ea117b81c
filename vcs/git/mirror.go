package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

const (
	mirrorSuffix = ".git"
	// fetchingMark lies in a mirror while a fetch writes to it; found under
	// the fetch lock, it tells of a process that died there.
	fetchingMark = "greenwright-fetching"
	// damagedMark asks the next fetch to rebuild the mirror.
	damagedMark = "greenwright-damaged"
)

// mirrorConfig is the whole configuration of a mirror: bare, no maintenance.
const mirrorConfig = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	logallrefupdates = false
[gc]
	auto = 0
[maintenance]
	auto = false
`

// Mirror is the trusted bare copy of one repository. It is safe for
// concurrent use.
type Mirror struct {
	store *Store
	repo  vcs.RepoRef
	dir   string
}

// Repo names the repository the mirror is of.
func (m *Mirror) Repo() vcs.RepoRef { return m.repo }

func (m *Mirror) fetchLock() string { return m.dir + ".fetch.lock" }
func (m *Mirror) useLock() string   { return m.dir + ".use.lock" }

// hold keeps the mirror from being pruned or rebuilt until released, and
// marks it as recently used.
func (m *Mirror) hold(ctx context.Context) (*fileLock, error) {
	l, err := lockFile(ctx, m.useLock(), syscall.LOCK_SH)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if err := os.Chtimes(m.useLock(), now, now); err != nil {
		l.release()
		return nil, fmt.Errorf("marking mirror of %s as used: %w", m.repo, err)
	}
	return l, nil
}

// read opens the mirror's objects while it is held; close lets both go.
func (m *Mirror) read(ctx context.Context) (*objects, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	l, err := m.hold(ctx)
	if err != nil {
		return nil, nil, err
	}
	o, err := m.open()
	if err != nil {
		l.release()
		return nil, nil, err
	}
	return o, func() { o.close(); l.release() }, nil
}

// open opens the mirror's objects; the caller holds it.
func (m *Mirror) open() (*objects, error) {
	if err := m.there(); err != nil {
		return nil, err
	}
	return openObjects(m.dir), nil
}

// there is vcs.ErrNotFound before the first fetch.
func (m *Mirror) there() error {
	if _, err := os.Stat(filepath.Join(m.dir, "HEAD")); err != nil {
		return fmt.Errorf("%w: no mirror of %s yet", vcs.ErrNotFound, m.repo)
	}
	return nil
}

// ensure creates the mirror, or rebuilds it when it is damaged, left by a
// process that died while fetching, or in too many pieces. The caller holds
// the fetch lock and not the use lock.
func (m *Mirror) ensure() error {
	why := m.ailment()
	if why == "" {
		return nil
	}
	if why != ailmentAbsent {
		if err := m.discard(why); err != nil {
			return err
		}
	}
	return initBare(m.dir)
}

const ailmentAbsent = "absent"

// maxPacks is when a mirror is fetched anew: each incremental fetch adds a
// pack, and object look-ups visit every one.
const maxPacks = 50

func (m *Mirror) ailment() string {
	exists := func(name string) bool {
		_, err := os.Lstat(filepath.Join(m.dir, name))
		return err == nil
	}
	switch {
	case !exists("."):
		return ailmentAbsent
	case !exists("HEAD") || !exists("config") || !exists("objects/pack"):
		return "incomplete"
	case exists(fetchingMark):
		return "interrupted"
	case exists(damagedMark):
		return "damaged"
	}
	if packs, err := filepath.Glob(filepath.Join(m.dir, "objects/pack/*.pack")); err == nil && len(packs) > maxPacks {
		return "fragmented"
	}
	return ""
}

// discard removes the mirror unless it is in use: then a merely interrupted
// or fragmented one stays, since git ignores half-written packs.
func (m *Mirror) discard(why string) error {
	l, err := tryLock(m.useLock(), syscall.LOCK_EX)
	if errors.Is(err, errLocked) {
		if why == "interrupted" || why == "fragmented" {
			return nil
		}
		return fmt.Errorf("rebuilding mirror of %s: %w and in use", m.repo, ErrCorrupt)
	}
	if err != nil {
		return err
	}
	defer l.release()
	m.store.log.Warn("rebuilding mirror", "repo", m.repo.String(), "reason", why)
	return m.remove()
}

// remove deletes the mirror; the caller holds the use lock exclusively. The
// rename makes it vanish at once.
func (m *Mirror) remove() error {
	trash := m.dir + ".trash"
	if err := os.RemoveAll(trash); err != nil {
		return fmt.Errorf("removing old mirror: %w", err)
	}
	if err := os.Rename(m.dir, trash); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing mirror of %s: %w", m.repo, err)
	}
	return os.RemoveAll(trash)
}

// markDamaged has the next fetch rebuild the mirror, and passes err on.
func (m *Mirror) markDamaged(err error) error {
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	m.store.log.Warn("mirror is damaged", "repo", m.repo.String(), "error", err)
	if werr := os.WriteFile(filepath.Join(m.dir, damagedMark), nil, 0o600); werr != nil {
		return errors.Join(err, werr)
	}
	return err
}

// initBare makes an empty bare repository, HEAD last: without it the mirror
// counts as incomplete.
func initBare(dir string) error {
	for _, d := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return fmt.Errorf("creating mirror: %w", err)
		}
	}
	files := [][2]string{{"config", mirrorConfig}, {"HEAD", "ref: refs/heads/none\n"}}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f[0]), []byte(f[1]), 0o600); err != nil {
			return fmt.Errorf("creating mirror: %w", err)
		}
	}
	return nil
}
