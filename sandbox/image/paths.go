package image

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Limits of names: the kernel's for a component and a link's target, half its
// limit for a whole path, so that the cache's own path and a person's tools
// still fit around it, and more levels than any public image has.
const (
	maxComponent = 255
	maxPath      = 2048
	maxTarget    = 4095
	maxDepth     = 128
	maxLinks     = 40 // in one path, as the kernel
)

// inside turns a name in an archive into a path below the root, "." for the
// root itself. One that would lead out is refused, not cut: no tool writes
// such names by mistake.
func inside(name string) (string, error) {
	parts := strings.Split(name, "/")
	kept := parts[:0]
	for _, p := range parts {
		switch {
		case p == "..":
			return "", fmt.Errorf("%w: a name with \"..\"", ErrHostile)
		case len(p) > maxComponent || strings.ContainsRune(p, 0):
			return "", fmt.Errorf("%w: a name of %d bytes", ErrHostile, len(p))
		case p != "" && p != ".":
			kept = append(kept, p)
		}
	}
	if len(kept) > maxDepth || len(name) > maxPath {
		return "", fmt.Errorf("%w: a path of %d levels and %d bytes", ErrTooLarge, len(kept), len(name))
	}
	return path.Clean(strings.Join(kept, "/")), nil
}

// place finds where an entry goes: its parent resolved, and made where it is
// missing, and its last component as it is.
func (u *unpacker) place(name string) (string, error) {
	dir, base := path.Split(name)
	parent, err := u.resolve(path.Clean(dir), true)
	if err != nil {
		return "", err
	}
	for at := parent; at != "." && !u.isNew(at); at = path.Dir(at) {
		u.note(at) // what has something new in it is not hidden as a whole
	}
	return path.Join(parent, base), fits(path.Join(parent, base))
}

// fits refuses resolved paths that are too deep or too long; with links, a
// short name can mean a long path.
func fits(at string) error {
	if strings.Count(at, "/") >= maxDepth || len(at) > maxPath {
		return fmt.Errorf("%w: a path of %d levels and %d bytes", ErrTooLarge, strings.Count(at, "/")+1, len(at))
	}
	return nil
}

// resolve turns a directory's path into one without links, following those in
// the root as a process would for which it is the root: an absolute target
// starts there and ".." does not lead out of it. What it returns is used with
// os.Root, which would refuse a way out even if this were wrong. With create,
// what is missing is made, and a file in the way makes place for a directory.
func (u *unpacker) resolve(dir string, create bool) (string, error) {
	if at, ok := u.known[dir]; ok {
		return at, nil
	}
	at, rest, links := ".", strings.Split(dir, "/"), 0
	for len(rest) > 0 {
		next := rest[0]
		rest = rest[1:]
		switch next {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		to := path.Join(at, next)
		info, err := u.root.Lstat(to)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			target, err := u.root.Readlink(to)
			if err != nil {
				return "", fmt.Errorf("reading a link: %w", err)
			}
			if links++; links > maxLinks {
				return "", fmt.Errorf("%w: too many links in a path", ErrHostile)
			}
			if path.IsAbs(target) {
				at = "."
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		}
		if err := u.need(to, info, err, create); err != nil {
			return "", err
		}
		at = to
	}
	u.known[dir] = at
	return at, nil
}

// need makes sure that there is a directory.
func (u *unpacker) need(dir string, info fs.FileInfo, err error, create bool) error {
	if err == nil && info.IsDir() {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking at a directory: %w", err)
	}
	if !create {
		return fmt.Errorf("%w: no directory %q", fs.ErrNotExist, dir)
	}
	if err := errors.Join(fits(dir), u.spend(0)); err != nil {
		return err
	}
	if err == nil {
		if err := u.clear(dir); err != nil {
			return err
		}
	}
	u.note(dir)
	return u.mkdir(dir, 0o755)
}

// clear removes what is at a resolved path, never what a link there points to.
func (u *unpacker) clear(path string) error {
	info, err := u.root.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking at what is to be replaced: %w", err)
	}
	if info.IsDir() || info.Mode()&fs.ModeSymlink != 0 {
		clear(u.known)
	}
	if err := u.root.RemoveAll(path); err != nil {
		return fmt.Errorf("removing what is to be replaced: %w", err)
	}
	return nil
}
