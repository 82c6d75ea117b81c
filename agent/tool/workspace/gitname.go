package workspace

import "strings"

// isGit says that some file system takes a name for .git: one that ignores
// case; HFS+, which also ignores invisible characters; NTFS, which also knows
// git~1, ignores dots and spaces at the end and takes a colon for the start of
// a stream's name. Git refuses the same names (path.c, utf8.c).
func isGit(name string) bool {
	name = strings.Map(func(r rune) rune {
		if ignoredByHFS(r) {
			return -1
		}
		return r
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, " .")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// ignoredByHFS is the list of git's next_hfs_char.
func ignoredByHFS(r rune) bool {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return true
	}
	return false
}
