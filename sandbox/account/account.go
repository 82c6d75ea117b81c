package account

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// The accounts given to runs when the worker is root: a range that no
// distribution assigns (systemd keeps 61184–65519 for its own).
const (
	firstUID = 60100
	uidCount = 64
)

// ForRuns reports whether an account is one of those that only runs have.
func ForRuns(uid int) bool { return uid >= firstUID && uid < firstUID+uidCount }

// Account is the host identity of one run.
type Account struct {
	UID, GID int
	own      bool     // the run has it alone
	lock     *os.File // held while in use; nil when own is false
}

// machineDir is where workers that are root agree on who has which account.
const machineDir = "/run/greenwright/accounts"

// Dir is the directory of locks: the machine's, or the one given where that
// cannot be made.
func Dir(otherwise string) string {
	if os.Geteuid() != 0 {
		return otherwise
	}
	if err := os.MkdirAll(machineDir, 0o700); err != nil {
		return otherwise
	}
	return machineDir
}

// Claim takes a free account; dir holds a lock file for each, so that workers
// on one machine do not share one.
func Claim(dir string) (*Account, error) {
	if os.Geteuid() != 0 {
		return &Account{UID: os.Geteuid(), GID: os.Getegid()}, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of accounts: %w", err)
	}
	for i := range uidCount {
		uid := firstUID + i
		f, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(uid)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("claiming an account: %w", err)
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return &Account{UID: uid, GID: uid, own: true, lock: f}, nil
		}
		_ = f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("claiming an account: %w", err)
		}
	}
	return nil, fmt.Errorf("all %d accounts for runs are in use on this machine: try again when a run has ended", uidCount)
}

// Release gives it back.
func (a *Account) Release() error {
	if a.lock == nil {
		return nil
	}
	f := a.lock
	a.lock = nil
	return f.Close()
}

// Attr makes a child process run as the account, without supplementary groups.
func (a *Account) Attr() *syscall.SysProcAttr {
	if !a.own {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID)}} //nolint:gosec // small constants
}

// Give hands a file or directory to the account.
func (a *Account) Give(path string) error {
	if !a.own {
		return nil
	}
	return os.Lchown(path, a.UID, a.GID)
}
