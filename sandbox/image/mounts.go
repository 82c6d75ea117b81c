package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/greenwright/greenwright/sandbox"
)

// mountPoints makes what sandboxes mount on where the image lacks it: real
// directories and real files, whatever links the image has there.
func (u *unpacker) mountPoints() error {
	u.made, u.known = map[uint64]struct{}{}, map[string]string{}
	for _, dir := range []string{sandbox.WorkspaceDir, sandbox.HomeDir, sandbox.TempDir, "/proc", "/dev", "/run/greenwright", "/etc"} {
		if err := u.realDir(dir[1:]); err != nil {
			return err
		}
	}
	for _, file := range []string{"passwd", "group", "hosts", "nsswitch.conf", "resolv.conf"} {
		if err := u.realFile(path.Join("etc", file)); err != nil {
			return err
		}
	}
	return nil
}

// realDir makes a directory and its parents, each in place of what is none.
func (u *unpacker) realDir(dir string) error {
	if parent := path.Dir(dir); parent != "." {
		if err := u.realDir(parent); err != nil {
			return err
		}
	}
	return u.directory(dir, nil)
}

// realFile makes an empty file in place of what is none.
func (u *unpacker) realFile(file string) error {
	info, err := u.root.Lstat(file)
	if err == nil && info.Mode().IsRegular() {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("looking at %s: %w", file, err)
	}
	if err := u.clear(file); err != nil {
		return err
	}
	f, err := u.root.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("making %s: %w", file, err)
	}
	err = f.Chmod(0o644)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
