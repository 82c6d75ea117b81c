package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Measure tells how much the tree at dir takes. It stops early once that is
// beyond stop; a zero field of stop does not stop it. A directory that is not
// there takes nothing. An error wraps ErrTooDeep, is ctx's, or means that dir
// is not a directory; the Size is then what was counted so far.
func Measure(ctx context.Context, dir string, stop Size) (Size, error) {
	return measure(ctx, []string{dir}, stop)
}

// measure adds several trees; a file with links in two of them counts once.
func measure(ctx context.Context, dirs []string, stop Size) (Size, error) {
	w := &walker{ctx: ctx, stop: stop, links: map[inode]struct{}{}}
	for _, dir := range dirs {
		if err := w.tree(dir); err != nil && !errors.Is(err, errEnough) {
			return w.size, fmt.Errorf("measuring %s: %w", dir, err)
		}
	}
	return w.size, nil
}

// errEnough ends a walk that has reached its stop.
var errEnough = errors.New("beyond the stop")

const (
	// openLevels is how many directories of a path are kept open.
	openLevels = 32
	// bufferBytes holds what one getdents call returns, a few hundred names.
	bufferBytes = 8 << 10
	// maxLinks bounds the memory for files with several links (about 50 MB);
	// beyond it each link counts for itself: too much, never too little.
	maxLinks = 1 << 20
	// checkEvery is how many entries pass between looks at the context.
	checkEvery = 1024
)

type inode struct{ dev, ino uint64 }

// level is a directory on the way from the top to where the walker is.
type level struct {
	at     inode
	cookie int64  // where to go on reading once it was closed
	fd     int    // -1 while closed
	buf    []byte // nil while closed
	rest   []byte // what of buf has not been looked at
}

// walker measures by reading each directory a buffer at a time and going into
// each child directory as it is met. Only the innermost directories stay open;
// of the others no more than a cookie is kept, so that neither names nor
// descriptors pile up. One that was closed is found again as ".." of its child
// and compared with what it was.
type walker struct {
	ctx   context.Context
	stop  Size
	size  Size
	links map[inode]struct{}
	free  [][]byte // buffers of directories that were left
	stack []level
	seen  int
}

func (w *walker) tree(dir string) error {
	fd, err := unix.Open(dir, dirFlags, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, fs.ErrPermission):
		w.size.Files++
		w.size.Hidden++
		return nil
	case err != nil:
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		_ = unix.Close(fd)
		return err
	}
	w.stack = append(w.stack[:0], level{at: inodeOf(&st), fd: fd, buf: w.buffer()})
	defer w.closeAll()
	if err := w.count(&st); err != nil {
		return err
	}
	for len(w.stack) > 0 {
		if err := w.step(); err != nil {
			return err
		}
	}
	return nil
}

const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC

// step reads on in the innermost directory: into its next child, or out of it.
func (w *walker) step() error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	top := &w.stack[len(w.stack)-1]
	if len(top.rest) == 0 {
		n, err := unix.Getdents(top.fd, top.buf)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			w.size.Hidden++
		}
		if n <= 0 {
			w.leave()
			return nil
		}
		top.rest = top.buf[:n]
	}
	for len(top.rest) > 0 {
		var e entry
		e, top.rest = nextEntry(top.rest)
		top.cookie = e.cookie
		if e.name == "" {
			continue
		}
		if into, err := w.visit(top, e.name); into || err != nil {
			return err
		}
	}
	return nil
}

// visit counts an entry and, if it is a directory, makes it the innermost.
func (w *walker) visit(top *level, name string) (into bool, err error) {
	if w.seen++; w.seen%checkEvery == 0 {
		if err := w.ctx.Err(); err != nil {
			return false, err
		}
	}
	var st unix.Stat_t
	if err := unix.Fstatat(top.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.size.Files++ // it is there, whatever it is
			w.size.Hidden++
		}
		return false, nil
	}
	if err := w.count(&st); err != nil {
		return false, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR || inodeOf(&st).dev != top.at.dev {
		return false, nil
	}
	return w.enter(top, name)
}

// count adds one entry.
func (w *walker) count(st *unix.Stat_t) error {
	if st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Nlink > 1 {
		id := inodeOf(st)
		if _, ok := w.links[id]; ok {
			return nil
		}
		if len(w.links) < maxLinks {
			w.links[id] = struct{}{}
		}
	}
	w.size.Files++
	w.size.Bytes += st.Blocks * 512 // the unit of st_blocks, whatever the file system's block
	if w.size.Exceeds(w.stop) {
		return errEnough
	}
	return nil
}

// inodeOf converts: the fields' types differ between architectures.
func inodeOf(st *unix.Stat_t) inode {
	return inode{dev: uint64(st.Dev), ino: uint64(st.Ino)} //nolint:unconvert // see above
}
