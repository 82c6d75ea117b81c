//go:build unix && !linux

package git

import (
	"io/fs"
	"syscall"
	"time"
)

// stamp is what tells that a file is the one seen before; on systems other
// than Linux nothing is trusted to, and every file is read every time.
type stamp struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64
	mode         uint32
}

func stampOf(info fs.FileInfo) (s stamp, links uint64, uid, gid uint32, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return s, 1, 0, 0, false
	}
	s = stamp{dev: uint64(st.Dev), ino: uint64(st.Ino), size: st.Size, mtime: info.ModTime().UnixNano(), mode: uint32(st.Mode)}
	return s, uint64(st.Nlink), st.Uid, st.Gid, false
}

func (s stamp) changed() time.Time  { return s.modified() }
func (s stamp) modified() time.Time { return time.Unix(0, s.mtime) }
