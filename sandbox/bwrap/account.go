package bwrap

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

// account is the host identity of one run. A worker that is not root has only
// its own to give.
type account struct {
	uid, gid int
	own      bool     // the run has it alone
	lock     *os.File // held while in use; nil when own is false
}

// claimAccount takes a free account; dir holds a lock file for each, so that
// workers on one machine do not share one.
func claimAccount(dir string) (*account, error) {
	if os.Geteuid() != 0 {
		return &account{uid: os.Geteuid(), gid: os.Getegid()}, nil
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
			return &account{uid: uid, gid: uid, own: true, lock: f}, nil
		}
		_ = f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("claiming an account: %w", err)
		}
	}
	return nil, fmt.Errorf("all %d accounts for runs are in use", uidCount)
}

func (a *account) release() error {
	if a.lock == nil {
		return nil
	}
	f := a.lock
	a.lock = nil
	return f.Close()
}

// attr makes a child process run as the account, without supplementary groups.
func (a *account) attr() *syscall.SysProcAttr {
	if !a.own {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}} //nolint:gosec // small constants
}

// give hands a directory to the account.
func (a *account) give(dir string) error {
	if !a.own {
		return nil
	}
	return os.Chown(dir, a.uid, a.gid)
}
