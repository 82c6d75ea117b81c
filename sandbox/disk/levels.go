package disk

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"strings"

	"golang.org/x/sys/unix"
)

// enter opens a child of the innermost directory and puts it on the stack.
func (w *walker) enter(top *level, name string) (bool, error) {
	fd, err := unix.Openat(top.fd, name, dirFlags, 0)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
			w.size.Hidden++
		}
		return false, nil
	}
	at := identify(fd)
	if at.dev != top.at.dev { // something else has taken its place
		_ = unix.Close(fd)
		return false, nil
	}
	if len(w.stack) >= MaxDepth {
		_ = unix.Close(fd)
		return false, ErrTooDeep
	}
	w.stack = append(w.stack, level{at: at, fd: fd, buf: w.buffer()})
	if i := len(w.stack) - 1 - openLevels; i >= 0 {
		w.shut(&w.stack[i])
	}
	return true, nil
}

// leave goes back to the parent and to where it was read to. A parent that
// cannot be found again, because it was moved, counts as hidden, and so does
// all above it that was closed.
func (w *walker) leave() {
	child := w.stack[len(w.stack)-1]
	w.stack = w.stack[:len(w.stack)-1]
	defer w.shut(&child)
	if len(w.stack) == 0 {
		return
	}
	parent := &w.stack[len(w.stack)-1]
	if parent.fd >= 0 {
		return
	}
	if parent.fd = reopen(child.fd, parent.at); parent.fd >= 0 {
		parent.buf = w.buffer()
		if _, err := unix.Seek(parent.fd, parent.cookie, unix.SEEK_SET); err == nil {
			return
		}
	}
	w.size.Hidden += int64(len(w.stack))
	w.closeAll()
}

// reopen opens the parent of a directory if it is still the one it was, and
// else returns -1.
func reopen(child int, want inode) int {
	fd, err := unix.Openat(child, "..", dirFlags, 0)
	if err != nil {
		return -1
	}
	if identify(fd) != want {
		_ = unix.Close(fd)
		return -1
	}
	return fd
}

// identify tells what is open; the zero inode is nothing.
func identify(fd int) inode {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return inode{}
	}
	return inodeOf(&st)
}

func (w *walker) buffer() []byte {
	if n := len(w.free); n > 0 {
		buf := w.free[n-1]
		w.free = w.free[:n-1]
		return buf
	}
	return make([]byte, bufferBytes)
}

// shut closes a directory and keeps only where it is and how far it was read.
func (w *walker) shut(l *level) {
	if l.fd < 0 {
		return
	}
	_ = unix.Close(l.fd)
	w.free = append(w.free, l.buf)
	l.fd, l.buf, l.rest = -1, nil, nil
}

func (w *walker) closeAll() {
	for i := range w.stack {
		w.shut(&w.stack[i])
	}
	w.stack = w.stack[:0]
}

// entry is a directory entry; its name is empty for "." and "..".
type entry struct {
	name   string
	cookie int64
}

// nextEntry takes the first entry off a buffer of struct linux_dirent64: inode
// (8 bytes), offset of the next (8), length (2), type (1), name with a NUL.
func nextEntry(buf []byte) (entry, []byte) {
	const nameAt = 19
	if len(buf) < nameAt {
		return entry{}, nil
	}
	length := int(binary.NativeEndian.Uint16(buf[16:]))
	if length < nameAt || length > len(buf) {
		return entry{}, nil
	}
	name, _, _ := strings.Cut(string(buf[nameAt:length]), "\x00")
	if name == "." || name == ".." {
		name = ""
	}
	return entry{name: name, cookie: int64(binary.NativeEndian.Uint64(buf[8:]))}, buf[length:] //nolint:gosec // an opaque number
}
