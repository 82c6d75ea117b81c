package layout

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// GuestProgram is the path of the guest's program that every account can
// reach: program itself (empty is the running one), or a copy in dir.
func GuestProgram(dir, program string) (string, error) {
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return "", fmt.Errorf("finding the running program: %w", err)
		}
	}
	program, err := filepath.EvalSymlinks(program)
	if err != nil {
		return "", fmt.Errorf("finding the guest's program: %w", err)
	}
	if os.Geteuid() != 0 || Reachable(program) {
		return program, nil
	}
	return copyOf(dir, program)
}

// Reachable reports whether every account may pass to a file or directory and
// use it.
func Reachable(path string) bool {
	const others = 0o001
	for {
		st, err := os.Stat(path)
		if err != nil || st.Mode().Perm()&others == 0 {
			return false
		}
		if path == filepath.Dir(path) {
			return true
		}
		path = filepath.Dir(path)
	}
}

const copyPrefix = "guest-"

// copyOf copies a program once for each of its versions, and removes copies
// that no process holds.
func copyOf(dir, program string) (string, error) {
	st, err := os.Stat(program)
	if err != nil {
		return "", fmt.Errorf("finding the guest's program: %w", err)
	}
	name := fmt.Sprintf("%s%x-%x-%x", copyPrefix, st.Size(), st.ModTime().UnixNano(), changed(st))
	target := filepath.Join(dir, name)
	for held := false; !held; {
		if have, err := os.Stat(target); err != nil || have.Size() != st.Size() {
			if err := writeCopy(dir, program, target); err != nil {
				return "", fmt.Errorf("copying the guest's program: %w", err)
			}
		}
		if held, err = hold(target); err != nil {
			return "", fmt.Errorf("holding the guest's program: %w", err)
		}
	}
	if err := removeUnheld(dir, name); err != nil {
		return "", fmt.Errorf("clearing old copies of the guest's program: %w", err)
	}
	return target, nil
}

// hold keeps a copy from being removed as long as this process lives: a worker
// of another version may start meanwhile. It is false when the copy has just
// been removed. The descriptor is left open on purpose.
func hold(file string) (bool, error) {
	fd, err := syscall.Open(file, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = syscall.Flock(fd, syscall.LOCK_SH)
	}
	var open, named syscall.Stat_t
	if err == nil {
		err = syscall.Fstat(fd, &open)
	}
	if err != nil {
		return false, err
	}
	if err := syscall.Stat(file, &named); err != nil || named.Ino != open.Ino {
		return false, syscall.Close(fd)
	}
	return true, nil
}

// removeUnheld removes the other copies that nobody holds.
func removeUnheld(dir, keep string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), copyPrefix) || e.Name() == keep {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			err = os.Remove(f.Name())
		}
		_ = f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// changed is when a file was put where it is: builds and images that can be
// repeated give every version of a program the same time of modification.
func changed(st os.FileInfo) int64 {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		return syscall.TimespecToNsec(sys.Ctim)
	}
	return 0
}

func writeCopy(dir, program, target string) error {
	if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // runs' accounts pass through it
		return err
	}
	src, err := os.Open(program)
	if err != nil {
		return err
	}
	defer func() { _ = src.Close() }()
	tmp, err := os.CreateTemp(dir, ".copy-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	_, err = io.Copy(tmp, src)
	err = errors.Join(err, tmp.Chmod(0o755), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), target)
}
