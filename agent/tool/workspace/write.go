package workspace

import (
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

func (w *Workspace) isLink(name string) bool {
	info, err := w.root.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
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
