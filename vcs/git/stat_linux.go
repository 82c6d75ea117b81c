package git

import (
	"io/fs"
	"syscall"
	"time"
)

// stamp is what tells that a file is the one seen before. The change time
// cannot be set by a process without the right to set the clock.
type stamp struct {
	dev, ino     uint64
	size         int64
	mtime, ctime int64 // nanoseconds since 1970
	mode         uint32
}

// stampOf also returns the file's link count and owner.
func stampOf(info fs.FileInfo) (s stamp, links uint64, uid, gid uint32, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return s, 1, 0, 0, false
	}
	s = stamp{dev: st.Dev, ino: st.Ino, size: st.Size, mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), mode: st.Mode}
	return s, uint64(st.Nlink), st.Uid, st.Gid, true //nolint:unconvert // 32 bits on arm64
}

func (s stamp) changed() time.Time  { return time.Unix(0, s.ctime) }
func (s stamp) modified() time.Time { return time.Unix(0, s.mtime) }
