package git

import (
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/greenwright/greenwright/vcs"
)

// maxLink is the longest symlink target kept, Linux's PATH_MAX.
const maxLink = 4096

// isDotGit reports whether some file system takes the name for .git: any
// case, trailing dots, spaces and NTFS streams, the NTFS short name, code
// points that HFS+ ignores, or such a name after a backslash.
func isDotGit(name string) bool {
	for part := range strings.SplitSeq(name, `\`) {
		if i := strings.IndexByte(part, ':'); i >= 0 {
			part = part[:i]
		}
		part = strings.TrimRight(part, ". ")
		part = strings.ToLower(strings.Map(dropIgnorable, part))
		if part == ".git" || part == "git~1" {
			return true
		}
	}
	return false
}

// dropIgnorable removes the code points that HFS+ leaves out of comparisons
// (list from git's utf8.c, after Apple TN1150).
func dropIgnorable(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	case r == utf8.RuneError:
		return r
	}
	return unicode.ToLower(r)
}

// validateName refuses names of tree entries that could leave the tree or
// reach a repository's own files. Its error wraps vcs.ErrInvalid.
func validateName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || isDotGit(name) {
		return fmt.Errorf("%w: name %q in a tree", vcs.ErrInvalid, name)
	}
	return nil
}

// ValidatePath refuses paths that are not the clean, relative, slash-separated
// name of something in a tree. Its error wraps vcs.ErrInvalid.
func ValidatePath(p string) error {
	if p == "" || path.IsAbs(p) || len(p) > maxLink {
		return fmt.Errorf("%w: path %q", vcs.ErrInvalid, p)
	}
	for part := range strings.SplitSeq(p, "/") {
		if err := validateName(part); err != nil {
			return fmt.Errorf("%w: path %q", vcs.ErrInvalid, p)
		}
	}
	return nil
}

// linkEscapes reports whether a link at p with the target could lead out of
// the tree or into a .git, judged by the text alone. A ".." behind a name
// counts as leading out: the name may itself be a link.
func linkEscapes(p, target string) bool {
	if target == "" || len(target) > maxLink || path.IsAbs(target) || strings.ContainsRune(target, 0) {
		return true
	}
	depth, named := strings.Count(p, "/"), false
	for part := range strings.SplitSeq(target, "/") {
		switch {
		case part == "" || part == ".":
		case part == "..":
			if depth--; depth < 0 || named {
				return true
			}
		case isDotGit(part):
			return true
		default:
			named = true
		}
	}
	return false
}

// parent is the directory of a slash path, "" at the top.
func parent(p string) string {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return ""
	}
	return p[:i]
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
