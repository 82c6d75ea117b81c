package workspace

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/greenwright/greenwright/agent/tool"
)

const (
	newFileMode = 0o644
	newDirMode  = 0o755
)

// Hash is the hex SHA-256 of content, as effects and the ledger name it.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Replace writes content to the file at p by a new file that is renamed, so
// that readers see the old or the new content and nothing between. Missing
// directories are made. A file that exists keeps its mode and owner; a new one
// gets 0644 and its directory's owner. A dangling symlink is refused.
func (w *Workspace) Replace(p Path, content []byte) (tool.FileEffect, error) {
	effect := tool.FileEffect{Path: p.Real, After: Hash(content)}
	if len(content) > MaxFileBytes {
		return effect, tooLarge(p, int64(len(content)))
	}
	mode := fs.FileMode(newFileMode)
	owner := path.Dir(p.Real)
	old, err := w.Read(p)
	fault, isFault := errors.AsType[*FaultError](err)
	switch {
	case err == nil:
		effect.Before, mode, owner = Hash(old.Bytes), old.Mode.Perm(), p.Real
	case isFault && fault.Code == tool.CodeFileNotFound && p.Linked() && w.isLink(p.Name):
		return effect, faultf(tool.CodeSymlinkRefused, "%s is a symlink to a file that does not exist", p.Name)
	case isFault && fault.Code == tool.CodeFileNotFound:
		if err := w.makeDirs(path.Dir(p.Real)); err != nil {
			return effect, err
		}
	default:
		return effect, err
	}
	return effect, w.writeRenamed(p.Real, owner, mode, content)
}

func (w *Workspace) isLink(name string) bool {
	info, err := w.root.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// writeRenamed makes a temporary file beside real and renames it onto it.
func (w *Workspace) writeRenamed(real, owner string, mode fs.FileMode, content []byte) (err error) {
	tmp := path.Join(path.Dir(real), ".gw-"+rand.Text())
	f, err := w.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("making a temporary file for %s: %w", real, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.root.Remove(tmp))
		}
	}()
	_, err = f.Write(content)
	if err == nil {
		w.giveTo(f, owner)
		err = errors.Join(f.Chmod(mode), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", real, err)
	}
	if err = w.root.Rename(tmp, real); err != nil {
		return fmt.Errorf("putting %s in place: %w", real, err)
	}
	return nil
}

// giveTo gives f the owner of like where this process may: a worker that runs
// as root must not leave files that the sandbox's user cannot write. A worker
// that may not already is that user.
func (w *Workspace) giveTo(f *os.File, like string) {
	info, err := w.root.Lstat(like)
	if err != nil {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}

// makeDirs makes dir and its parents, owned like the first that existed.
func (w *Workspace) makeDirs(dir string) error {
	info, err := w.root.Lstat(dir)
	if err == nil {
		if !info.IsDir() {
			return faultf(tool.CodeFileExists, "%s is not a directory", dir)
		}
		return nil
	}
	parent := path.Dir(dir)
	if err := w.makeDirs(parent); err != nil {
		return err
	}
	if err := w.root.Mkdir(dir, newDirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making directory %s: %w", dir, err)
	}
	d, err := w.openDir(dir)
	if err != nil {
		return fmt.Errorf("opening directory %s: %w", dir, err)
	}
	defer d.Close()
	w.giveTo(d, parent)
	return nil
}
