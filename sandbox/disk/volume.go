package disk

import "golang.org/x/sys/unix"

// volume is what the file systems of some directories hold, others' files
// included. A file system without a fixed number of inodes tells no files.
type volume struct{ bytes, files int64 }

func volumeOf(dirs []string) volume {
	var v volume
	seen := map[unix.Fsid]bool{}
	for _, dir := range dirs {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil || seen[st.Fsid] {
			continue
		}
		seen[st.Fsid] = st.Fsid != unix.Fsid{}          // zero where the kernel does not tell
		v.bytes += int64(st.Blocks-st.Bfree) * st.Bsize //nolint:gosec // far below the type's limit
		v.files += int64(st.Files - st.Ffree)           //nolint:gosec // the same
	}
	return v
}

// since is what was gained, which is not less than nothing.
func (v volume) since(then volume) volume {
	return volume{bytes: max(v.bytes-then.bytes, 0), files: max(v.files-then.files, 0)}
}
