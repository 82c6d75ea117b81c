package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/greenwright/greenwright/agent/tool"
)

// FileChange is one file's part of a [Workspace.Commit]: exactly one of a new
// content, a move and a removal.
type FileChange struct {
	// Path is the file; its Real is what is written.
	Path Path
	// Content is what a written file holds afterwards.
	Content []byte
	// Mode is the permission bits of a written file; zero keeps those of the
	// file there, or of Like, or else 0644. Setuid, setgid and sticky bits stay
	// as they are, but a Mode without a Like is a new file's and drops them.
	Mode fs.FileMode
	// Like is the resolved path of a file whose mode and owner a new file
	// takes: the source of a move that also changes the content.
	Like string
	// From moves the file, link and all, from this resolved path.
	From string
	// Gone removes the file, or the link.
	Gone bool
	// Before is the content that is replaced or removed, for the effect; nil
	// when there is none.
	Before []byte
}

// Commit makes all changes or none: new contents are staged in files beside
// their place, then everything is put in place by renames, and when one of them
// fails those before it are taken back. Missing directories are made. The
// caller holds the locks and has checked that each change may be made; no two
// changes may have the same Path.
func (w *Workspace) Commit(ctx context.Context, changes []FileChange) (effects []tool.FileEffect, err error) {
	t := &transaction{w: w}
	defer func() { err = errors.Join(err, t.end(err != nil)) }()
	staged := make([]string, len(changes))
	for i, c := range changes {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("writing %s: %w", c.Path.Name, err)
		}
		if staged[i], err = t.stage(c); err != nil {
			return nil, err
		}
	}
	for i, c := range changes {
		if c.Gone || c.From != "" {
			if staged[i], err = t.takeAway(c); err != nil {
				return nil, err
			}
		}
	}
	for i, c := range changes {
		if !c.Gone {
			if err := t.putInPlace(staged[i], c.Path.Real); err != nil {
				return nil, err
			}
		}
		effects = append(effects, c.effects()...)
	}
	return effects, nil
}

func (c FileChange) effects() []tool.FileEffect {
	e := tool.FileEffect{Path: c.Path.Real}
	switch {
	case c.From != "":
		sum := Hash(c.Before)
		return []tool.FileEffect{{Path: c.From, Before: sum}, {Path: c.Path.Real, After: sum}}
	case c.Gone:
		e.Before = Hash(c.Before)
	default:
		e.After = Hash(c.Content)
		if c.Before != nil {
			e.Before = Hash(c.Before)
		}
	}
	return []tool.FileEffect{e}
}

// transaction is what has been done so far and how to take it back.
type transaction struct {
	w    *Workspace
	undo []func() error // in the order of doing
	rest []string       // backups and staged files, removed at the end
}

// end takes everything back, last first, and removes what is no longer
// needed. Backups stay when they could not be put back; a backup that cannot
// be removed after all is done is left to the next diff to show.
func (t *transaction) end(failed bool) error {
	var errs []error
	if failed {
		for i := len(t.undo) - 1; i >= 0; i-- {
			errs = append(errs, t.undo[i]())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("taking back what was written: %w", err)
	}
	for _, name := range t.rest {
		_ = t.w.root.Remove(name)
	}
	return nil
}

// temporary is a name beside a path, in the nearest directory that exists.
func (t *transaction) temporary(real string) string {
	dir := path.Dir(real)
	for dir != "." {
		if info, err := t.w.root.Lstat(dir); err == nil && info.IsDir() {
			break
		}
		dir = path.Dir(dir)
	}
	name := path.Join(dir, ".gw-"+rand.Text())
	t.rest = append(t.rest, name)
	return name
}

// keptBits are the bits of a mode that chmod sets.
const keptBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// stage writes new content to a temporary file; nothing is seen of it yet.
func (t *transaction) stage(c FileChange) (string, error) {
	if c.Gone || c.From != "" {
		return "", nil
	}
	switch {
	case len(c.Content) > MaxFileBytes:
		return "", tooLarge(c.Path, int64(len(c.Content)))
	case t.w.Dangling(c.Path):
		return "", faultf(tool.CodeSymlinkRefused, "%s is a symlink to a file that does not exist", c.Path.Name)
	case t.w.Kind(c.Path) == KindSpecial:
		return "", faultf(tool.CodeProtectedPath, "%s is not a regular file", c.Path.Name)
	}
	tmp := t.temporary(c.Path.Real)
	mode, owner := fs.FileMode(newFileMode), path.Dir(tmp)
	for _, like := range []string{c.Like, c.Path.Real} {
		if info, err := t.w.root.Lstat(like); like != "" && err == nil && info.Mode().IsRegular() {
			mode, owner = info.Mode()&keptBits, like
		}
	}
	switch {
	case c.Mode != 0 && c.Like == "":
		mode = c.Mode.Perm()
	case c.Mode != 0:
		mode = mode&^fs.ModePerm | c.Mode.Perm()
	}
	return tmp, t.w.writeFile(tmp, owner, mode, c.Content)
}

// writeFile makes a new file, whole on the disk when it returns.
func (w *Workspace) writeFile(name, owner string, mode fs.FileMode, content []byte) error {
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("making a temporary file: %w", err)
	}
	_, err = f.Write(content)
	if err == nil {
		w.giveTo(f, owner)
		err = errors.Join(f.Chmod(mode), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// takeAway renames what is removed or moved to a temporary name.
func (t *transaction) takeAway(c FileChange) (string, error) {
	real := c.Path.Real
	if c.From != "" {
		real = c.From
	}
	// At the root rather than beside it: its directory may have to go too. A
	// directory on another file system takes it itself.
	tmp := t.temporary(".gw")
	err := t.rename(real, tmp)
	if errors.Is(err, syscall.EXDEV) {
		tmp = t.temporary(real)
		err = t.rename(real, tmp)
	}
	if err != nil {
		return "", fmt.Errorf("removing %s: %w", real, err)
	}
	return tmp, nil
}

// rename does and notes how to undo.
func (t *transaction) rename(from, to string) error {
	if err := t.w.root.Rename(from, to); err != nil {
		return err
	}
	t.undo = append(t.undo, func() error { return t.w.root.Rename(to, from) })
	return nil
}

// putInPlace renames a staged file onto its path. What is there stays under a
// second name until the end, so that taking back restores the very file.
func (t *transaction) putInPlace(tmp, real string) error {
	if err := t.makeDirs(path.Dir(real)); err != nil {
		return err
	}
	info, err := t.w.root.Lstat(real)
	switch {
	case err == nil && info.IsDir():
		if err := t.removeEmpty(real); err != nil {
			return err
		}
	case err == nil:
		if err := t.keep(real); err != nil {
			return fmt.Errorf("keeping %s: %w", real, err)
		}
	}
	if err := t.rename(tmp, real); err != nil {
		return fmt.Errorf("putting %s in place: %w", real, err)
	}
	return nil
}

// keep gives what is at real a second name, so that there is no moment without
// it; a file system without hard links has it renamed away.
func (t *transaction) keep(real string) error {
	backup := t.temporary(real)
	if err := t.w.root.Link(real, backup); err != nil {
		return t.rename(real, backup)
	}
	t.undo = append(t.undo, func() error { return t.w.root.Rename(backup, real) })
	return nil
}

// makeDirs makes what is missing of a directory's path and notes it.
func (t *transaction) makeDirs(dir string) error {
	var missing []string // the deepest first, as they must go again
	for at := dir; at != "."; at = path.Dir(at) {
		if _, err := t.w.root.Lstat(at); err == nil {
			break
		}
		missing = append(missing, at)
	}
	t.undo = append(t.undo, func() error {
		for _, name := range missing {
			err := t.w.root.Remove(name) // ENOTDIR: a file above kept it from being made
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				return err
			}
		}
		return nil
	})
	return t.w.makeDirs(dir)
}

// removeEmpty removes a directory that holds nothing but empty directories.
func (t *transaction) removeEmpty(dir string) error {
	d, err := t.w.openDir(dir)
	if err != nil {
		return fmt.Errorf("opening directory %s: %w", dir, err)
	}
	entries, err := d.ReadDir(MaxWalked)
	err = errors.Join(err, d.Close())
	for _, e := range entries {
		if err = errors.Join(err, t.removeEmpty(path.Join(dir, e.Name()))); err != nil {
			return err
		}
	}
	info, err := t.w.root.Lstat(dir)
	if err != nil {
		return fmt.Errorf("looking at %s: %w", dir, err)
	}
	if err := t.w.root.Remove(dir); err != nil {
		return faultf(tool.CodeIsDirectory, "%s is a directory", dir)
	}
	t.undo = append(t.undo, func() error {
		return errors.Join(t.w.root.Mkdir(dir, info.Mode().Perm()), t.w.root.Chmod(dir, info.Mode()&keptBits))
	})
	return nil
}
