package wire

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/sandbox/account"
	"github.com/greenwright/greenwright/vcs"
)

// loan is a directory of somebody's that the account of a sandbox uses for a
// while. A worker that is root runs commands under an account of their own,
// which must be able to use the directory that was named. Whose it was is
// written down before anything is changed, so that a program that was killed
// meanwhile is made good by the next one.
type loan struct {
	dir    string
	record *os.File // locked; nil where nothing changes hands
	owner  owner
}

// owner is a host account.
type owner struct {
	UID int `json:"uid"`
	GID int `json:"gid"`
}

// lend claims a directory; state is where loans are written down. Two commands
// cannot have one directory at once.
func lend(state, dir string) (*loan, error) {
	l := &loan{dir: dir}
	if os.Geteuid() != 0 {
		return l, nil
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, fmt.Errorf("lending %s: %w", dir, err)
	}
	id, err := identity(dir)
	if err != nil {
		return nil, fmt.Errorf("lending %s: %w", dir, err)
	}
	l.record, err = os.OpenFile(filepath.Join(state, id), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lending %s: %w", dir, err)
	}
	if err := syscall.Flock(int(l.record.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = l.record.Close()
		return nil, fmt.Errorf("%w: %s is being used by another command of greenwright: wait for its end, or name another directory", vcs.ErrInvalid, dir)
	}
	if err := l.remember(); err != nil {
		return nil, errors.Join(fmt.Errorf("lending %s: %w", dir, err), l.record.Close())
	}
	return l, nil
}

// identity names a directory, wherever it is mounted.
func identity(dir string) (string, error) {
	st, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.New("its owner is not known")
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%d", sys.Dev, sys.Ino))
	return hex.EncodeToString(sum[:8]), nil
}

// remember writes down whose the directory is, or takes that from one who
// could not give it back.
func (l *loan) remember() error {
	content, err := io.ReadAll(io.LimitReader(l.record, 1<<10))
	if err != nil {
		return err
	}
	if len(content) > 0 {
		return json.Unmarshal(content, &l.owner)
	}
	st, err := os.Stat(l.dir)
	if err != nil {
		return err
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		l.owner = owner{int(sys.Uid), int(sys.Gid)}
	}
	text, err := json.Marshal(l.owner)
	if err != nil {
		return err
	}
	_, err = l.record.Write(text)
	return errors.Join(err, l.record.Sync())
}

// give hands what the owner has in the directory to the account. Groups stay.
// Files that have another name somewhere, which may be outside, and programs
// with rights of their own are left alone.
func (l *loan) give(uid int) error {
	if l.record == nil || uid == l.owner.UID {
		return nil
	}
	return l.each(func(root *os.Root, name string, st fs.FileInfo, sys *syscall.Stat_t) error {
		if int(sys.Uid) != l.owner.UID && !account.ForRuns(int(sys.Uid)) || st.Mode().IsRegular() && (sys.Nlink > 1 || privileged(root, name, st)) {
			return nil
		}
		return root.Lchown(name, uid, -1)
	})
}

// privileged reports a program that takes on rights when it is run, which a
// change of owner would take from it.
func privileged(root *os.Root, name string, st fs.FileInfo) bool {
	if st.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return true
	}
	if st.Mode().Perm()&0o111 == 0 {
		return false
	}
	f, err := root.Open(name)
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }()
	n, err := unix.Fgetxattr(int(f.Fd()), "security.capability", nil)
	return err == nil && n > 0
}

// systemDirs are never lent, nor anything below those that end in a slash: a
// mistyped workspace must not cost the machine its owners.
func systemDirs() []string {
	return []string{
		"/", "/bin/", "/boot/", "/dev/", "/etc/", "/lib/", "/lib32/", "/lib64/", "/libx32/", "/proc/", "/run/", "/sbin/", "/sys/", "/usr/",
		"/home", "/media", "/mnt", "/opt", "/root", "/srv", "/tmp", "/var", "/var/lib", "/var/tmp", "/var/cache", "/var/log",
	}
}

// lendable refuses directories of the system and those that hold, or are held
// by, the data directory.
func lendable(dir, data string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	refuse := func(why string) error {
		return fmt.Errorf("%w: --workspace %s %s: its files would change hands while the command runs; name a directory of your own", vcs.ErrInvalid, dir, why)
	}
	for _, sys := range systemDirs() {
		if below, ok := strings.CutSuffix(sys, "/"); dir == sys || ok && (dir == below || below != "" && strings.HasPrefix(dir, sys)) {
			return refuse("is the system's")
		}
	}
	if within(data, dir) || within(dir, data) {
		return refuse("holds, or is in, data_dir")
	}
	return nil
}

// within reports a path that is below a directory, or is it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// takeBack gives everything of the account back to the owner. Programs that
// commands have made to take on their owner's rights lose that by it.
func (l *loan) takeBack() error {
	if l.record == nil {
		return nil
	}
	err := l.each(func(root *os.Root, name string, _ fs.FileInfo, sys *syscall.Stat_t) error {
		gid := -1
		if account.ForRuns(int(sys.Gid)) {
			gid = l.owner.GID
		}
		if !account.ForRuns(int(sys.Uid)) {
			return nil
		}
		return root.Lchown(name, l.owner.UID, gid)
	})
	if err == nil {
		err = os.Remove(l.record.Name())
	}
	return errors.Join(err, l.record.Close())
}

func (l *loan) each(do func(*os.Root, string, fs.FileInfo, *syscall.Stat_t) error) error {
	root, err := os.OpenRoot(l.dir)
	if err != nil {
		return fmt.Errorf("opening %s: %w", l.dir, err)
	}
	defer func() { _ = root.Close() }()
	return fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := root.Lstat(name)
		if err != nil {
			return err
		}
		sys, ok := st.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		return do(root, name, st, sys)
	})
}
