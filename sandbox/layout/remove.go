package layout

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Bounds of RemoveTree.
const (
	// openLevels is how deep it goes with a descriptor for each level; what lies
	// deeper is moved to the top first. Source trees have about twenty levels,
	// but a command makes tens of thousands before the disk's watch sees it.
	openLevels = 64
	// idlePasses is how often it begins again without having moved anything:
	// something may still write, but nothing is waited for.
	idlePasses = 10
	// batch is how many names are read at once.
	batch = 1024
	// patience is when it gives up. Ten million files take two or three minutes;
	// a directory that is written to as fast as it is emptied has no end.
	patience = 5 * time.Minute
)

// errWritten is a tree that grows as fast as it is removed.
var errWritten = errors.New("something still writes to it")

// RemoveTree removes a tree that commands have written, however deep it is,
// also directories that they left without permissions (Go's module cache is
// read-only). It follows no link and needs few descriptors. A tree that is not
// there is no error; one that something still writes to may be, after five
// minutes at the latest.
func RemoveTree(path string) error { return removeTree(path, patience) }

func removeTree(path string, patience time.Duration) error {
	r := remover{mark: ".removed-" + rand.Text() + "-", until: time.Now().Add(patience)}
	for idle := 0; ; {
		moved := r.moved
		err := r.pass(path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if r.moved == moved {
			idle++
		}
		if idle >= idlePasses || !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("removing %s: %w", path, err)
		}
	}
}

// remover removes one tree.
type remover struct {
	mark  string // begins the names of what was moved to the top
	moved int
	top   int // descriptor
	until time.Time
}

// pass removes what it can; a tree that is not empty after it is ENOTEMPTY.
func (r *remover) pass(path string) error {
	fd, err := openDir(unix.AT_FDCWD, path)
	if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return os.Remove(path)
	}
	if err != nil {
		return err
	}
	r.top = fd
	err = r.clear(fd, 0)
	if gone := unix.Rmdir(path); gone == nil || err == nil {
		return gone
	}
	return err
}

// clear empties a directory and closes it. Of its errors it gives the first,
// and goes on with the rest while there is time.
func (r *remover) clear(fd, depth int) error {
	dir := os.NewFile(uintptr(fd), "directory")
	defer func() { _ = dir.Close() }()
	var first error
	for {
		if time.Now().After(r.until) {
			return errWritten
		}
		names, err := dir.Readdirnames(batch)
		for _, name := range names {
			if err := r.remove(fd, name, depth); err != nil && first == nil && !errors.Is(err, fs.ErrNotExist) {
				first = err
			}
		}
		if err != nil || len(names) == 0 { // the end, or a directory that somebody else removes
			return first
		}
	}
}

// remove removes an entry of a directory.
func (r *remover) remove(fd int, name string, depth int) error {
	err := unix.Unlinkat(fd, name, 0)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	child, dirErr := openDir(fd, name)
	if dirErr != nil {
		if errors.Is(dirErr, unix.ENOTDIR) || errors.Is(dirErr, unix.ELOOP) {
			return err // not a directory: why it stays was said first
		}
		return dirErr
	}
	if depth >= openLevels {
		_ = unix.Close(child)
		r.moved++
		return unix.Renameat(fd, name, r.top, r.mark+strconv.Itoa(r.moved))
	}
	if err := r.clear(child, depth+1); err != nil {
		_ = unix.Unlinkat(fd, name, unix.AT_REMOVEDIR)
		return err
	}
	return unix.Unlinkat(fd, name, unix.AT_REMOVEDIR)
}

const dirFlags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openDir opens a directory that is to be emptied, and gives its owner every
// right to it. The mode is changed through a descriptor: a name could be
// another's by then.
func openDir(at int, name string) (int, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|dirFlags, 0)
	if errors.Is(err, unix.EACCES) {
		handle, pathErr := unix.Openat(at, name, unix.O_PATH|dirFlags, 0)
		if pathErr != nil {
			return -1, pathErr
		}
		defer func() { _ = unix.Close(handle) }()
		self := "/proc/self/fd/" + strconv.Itoa(handle)
		if err := unix.Chmod(self, 0o700); err != nil {
			return -1, err
		}
		fd, err = unix.Open(self, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Mode&0o700 != 0o700 {
		_ = unix.Fchmod(fd, 0o700) // another's stays as it is, and says so when an entry is removed
	}
	return fd, nil
}
