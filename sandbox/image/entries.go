package image

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
)

// Everybody may read and nobody but the worker write: several runs, each with
// an account of its own, share a root. Set-id and sticky bits have no bit here.
const (
	dirNeeds  = 0o755
	fileNeeds = 0o444
	mayHave   = 0o755
)

func (u *unpacker) mkdir(path string, mode fs.FileMode) error {
	if err := u.root.Mkdir(path, 0o700); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	return u.chmod(path, mode)
}

// chmod sets a mode whatever the umask, at a path that is known to be no link.
func (u *unpacker) chmod(path string, mode fs.FileMode) error {
	if err := u.root.Chmod(path, mode); err != nil {
		return fmt.Errorf("setting permissions: %w", err)
	}
	return nil
}

// directory makes a directory, or leaves one of an earlier layer with its
// content.
func (u *unpacker) directory(path string, _ *tar.Header) error {
	if info, err := u.root.Lstat(path); err == nil && info.IsDir() {
		return nil
	}
	if err := u.clear(path); err != nil {
		return err
	}
	return u.mkdir(path, dirNeeds)
}

func (u *unpacker) file(path string, h *tar.Header, content io.Reader) error {
	if err := u.clear(path); err != nil {
		return err
	}
	f, err := u.root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("making a file: %w", err)
	}
	_, err = io.CopyBuffer(onlyWriter{f}, content, u.buf)
	if err == nil {
		err = f.Chmod(fs.FileMode(h.Mode)&mayHave | fileNeeds) //nolint:gosec // masked
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("writing a file: %w", err)
	}
	// Caches beside sources (Python's, make's) go by the time. A file system
	// that cannot hold a time keeps its own.
	_ = u.root.Chtimes(path, h.ModTime, h.ModTime)
	return nil
}

// onlyWriter hides the methods of a file by which CopyBuffer would not use its
// buffer.
type onlyWriter struct{ io.Writer }

// hardLink makes a second name for a file of this root. For a link it makes a
// second link, since what is linked to may not be reached through it.
func (u *unpacker) hardLink(to string, h *tar.Header) error {
	name, err := inside(h.Linkname)
	if err != nil {
		return fmt.Errorf("linked to %q: %w", h.Linkname[:min(len(h.Linkname), 200)], err)
	}
	parent, err := u.resolve(path.Dir(name), false)
	if err != nil {
		return fmt.Errorf("finding what is linked to: %w", err)
	}
	from := path.Join(parent, path.Base(name))
	info, err := u.root.Lstat(from)
	switch {
	case err != nil:
		return fmt.Errorf("finding what is linked to: %w", err)
	case from == to:
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := u.root.Readlink(from)
		if err != nil {
			return fmt.Errorf("reading what is linked to: %w", err)
		}
		return u.symlink(to, target)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: a hard link to what is no file", ErrHostile)
	}
	if err := u.clear(to); err != nil {
		return err
	}
	if err := u.root.Link(from, to); err != nil {
		return fmt.Errorf("making a hard link: %w", err)
	}
	return nil
}

// symlink makes a link with its target as it is: absolute ones mean the root
// as it will be in the sandbox.
func (u *unpacker) symlink(path, target string) error {
	if target == "" || len(target) > maxTarget {
		return fmt.Errorf("%w: a link with a target of %d bytes", ErrHostile, len(target))
	}
	if err := u.clear(path); err != nil {
		return err
	}
	if err := u.root.Symlink(target, path); err != nil {
		return fmt.Errorf("making a link: %w", err)
	}
	clear(u.known)
	return nil
}
