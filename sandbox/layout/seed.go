package layout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Caches are the parts of a home in which tools keep what they would otherwise
// fetch or make again. Nothing in them is a setting.
func Caches() []string {
	return []string{".cache", "go/pkg/mod", ".npm/_cacache", ".cargo/registry", ".m2/repository", ".gradle/caches"}
}

// ToolStores are the caches whose entries are found by what they were made of:
// that one is there changes how long a command takes, and nothing else.
func ToolStores() []string {
	return []string{".cache/go-build", "go/pkg/mod", ".npm/_cacache", ".cargo/registry"}
}

// How much a seed may be: the standard library's build cache and the modules
// of a large project are a tenth of it.
const (
	maxSeedBytes = 2 << 30
	maxSeedFiles = 200_000
)

// errSeedFull ends a copy that is large enough.
var errSeedFull = errors.New("enough was copied")

// Seed copies caches (paths relative to a home) of one home into another that no command has used
// yet, and gives them to the account. Nothing may run over either meanwhile.
// Links are copied as links, what is neither file, directory nor link is left
// out; a cache that is larger than the limits is copied in part.
func Seed(ctx context.Context, from, to string, caches []string, uid, gid int) error {
	src, err := os.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("opening a home: %w", err)
	}
	defer func() { _ = src.Close() }()
	dst, err := os.OpenRoot(to)
	if err != nil {
		return fmt.Errorf("opening a home: %w", err)
	}
	defer func() { _ = dst.Close() }()
	s := &seeding{src: src, dst: dst, uid: uid, gid: gid}
	for _, dir := range caches {
		if err := s.parents(dir); err != nil {
			return fmt.Errorf("copying caches: %w", err)
		}
		err := fs.WalkDir(src.FS(), dir, func(name string, d fs.DirEntry, err error) error {
			return errors.Join(ctx.Err(), s.copy(name, d, err))
		})
		err = errors.Join(err, s.closeDirs())
		if errors.Is(err, errSeedFull) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("copying caches: %w", err)
		}
	}
	return nil
}

// seeding is one copy.
type seeding struct {
	src, dst     *os.Root
	uid, gid     int
	bytes, files int64
	dirs         []dirMode // set when their content is there
}

type dirMode struct {
	name string
	mode fs.FileMode
}

// parents makes what a cache stands in, if the cache is there.
func (s *seeding) parents(dir string) error {
	if st, err := s.src.Lstat(dir); err != nil || !st.IsDir() {
		return nil // nothing to copy
	}
	for at := range pathSteps(path.Dir(dir)) {
		if err := s.dst.Mkdir(at, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := s.give(at); err != nil {
			return err
		}
	}
	return nil
}

// pathSteps yields a, a/b, a/b/c.
func pathSteps(dir string) func(func(string) bool) {
	return func(yield func(string) bool) {
		if dir == "." {
			return
		}
		for i, c := range dir + "/" {
			if c == '/' && !yield(dir[:i]) {
				return
			}
		}
	}
}

func (s *seeding) copy(name string, d fs.DirEntry, walkErr error) error {
	if walkErr != nil { // not there, or closed to us: a cache is not owed
		if d != nil && d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}
	if s.files++; s.files > maxSeedFiles {
		return errSeedFull
	}
	switch {
	case d.IsDir():
		return s.dir(name)
	case d.Type()&fs.ModeSymlink != 0:
		return s.link(name)
	case d.Type().IsRegular():
		return s.file(name)
	}
	return nil
}

func (s *seeding) link(name string) error {
	target, err := s.src.Readlink(name)
	if err != nil {
		return nil //nolint:nilerr // a cache is not owed
	}
	return errors.Join(s.dst.Symlink(target, name), s.give(name))
}

func (s *seeding) dir(name string) error {
	st, err := s.src.Lstat(name)
	if err != nil {
		return nil //nolint:nilerr // a cache is not owed
	}
	if err := s.dst.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	s.dirs = append(s.dirs, dirMode{name, st.Mode().Perm()})
	return nil
}

// closeDirs gives directories their modes, the deepest first: Go's module cache
// is read-only.
func (s *seeding) closeDirs() error {
	var errs []error
	for _, d := range slices.Backward(s.dirs) {
		errs = append(errs, s.dst.Chmod(d.name, d.mode), s.give(d.name))
	}
	s.dirs = nil
	return errors.Join(errs...)
}

func (s *seeding) file(name string) error {
	in, err := s.src.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil // a cache is not owed
	}
	defer func() { _ = in.Close() }()
	st, err := in.Stat()
	if err != nil || !st.Mode().IsRegular() {
		return nil // as above
	}
	if s.bytes += st.Size(); s.bytes > maxSeedBytes {
		return errSeedFull
	}
	out, err := s.dst.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, in, st.Size())
	err = errors.Join(err, out.Chmod(st.Mode().Perm()), out.Close())
	return errors.Join(err, s.dst.Chtimes(filepath.Clean(name), st.ModTime(), st.ModTime()), s.give(name))
}

func (s *seeding) give(name string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return s.dst.Lchown(name, s.uid, s.gid)
}
