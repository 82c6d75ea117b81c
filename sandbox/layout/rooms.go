package layout

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/greenwright/greenwright/sandbox/account"
)

// Dirs are the host directories of one sandbox.
type Dirs struct{ Scratch, Home, Temp string }

// DirsIn names them.
func DirsIn(scratch string) Dirs {
	return Dirs{Scratch: scratch, Home: filepath.Join(scratch, "home"), Temp: filepath.Join(scratch, "tmp")}
}

// Make makes them for the account, which also gets the workspace.
func (d Dirs) Make(acct *account.Account, workspace string) error {
	if err := os.MkdirAll(d.Scratch, 0o711); err != nil { //nolint:gosec // the run's account passes through it
		return fmt.Errorf("preparing the sandbox: %w", err)
	}
	for _, dir := range []string{d.Home, d.Temp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("preparing the sandbox: %w", err)
		}
	}
	for _, dir := range []string{d.Home, d.Temp, workspace} {
		if err := acct.Give(dir); err != nil {
			return fmt.Errorf("preparing the sandbox: %w", err)
		}
	}
	return nil
}

// Remove removes them with everything in them.
func (d Dirs) Remove() error { return RemoveTree(d.Scratch) }
