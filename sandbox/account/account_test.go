package account_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/greenwright/greenwright/sandbox/account"
)

func TestClaim(t *testing.T) {
	dir := t.TempDir()
	a, err := account.Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		if a.UID != os.Geteuid() || a.Attr().Credential != nil {
			t.Errorf("got account %d with %+v; want the own one", a.UID, a.Attr())
		}
		return
	}
	b, err := account.Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if a.UID == b.UID || a.UID == 0 || b.UID == 0 {
		t.Errorf("two claims got %d and %d", a.UID, b.UID)
	}
	if c := a.Attr().Credential; c == nil || int(c.Uid) != a.UID || len(c.Groups) != 0 {
		t.Errorf("children run as %+v", c)
	}
	given := filepath.Join(t.TempDir(), "link")
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, given); err != nil {
		t.Fatal(err)
	}
	if err := a.Give(given); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(target); err != nil || st.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("a link's target was given away: %v, %v", st, err)
	}
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	again, err := account.Claim(dir)
	if err != nil || again.UID != a.UID {
		t.Errorf("after the release: %+v, %v; want %d again", again, err, a.UID)
	}
	for _, x := range []*account.Account{again, b, b} {
		if err := x.Release(); err != nil {
			t.Error(err)
		}
	}
}

func TestAllInUse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only a worker that is root has accounts to give")
	}
	dir := t.TempDir()
	var all []*account.Account
	for {
		a, err := account.Claim(dir)
		if err != nil {
			break
		}
		if all = append(all, a); len(all) > 1000 {
			t.Fatal("accounts without end")
		}
	}
	if len(all) != 64 {
		t.Errorf("%d accounts", len(all))
	}
	for _, a := range all {
		if err := a.Release(); err != nil {
			t.Error(err)
		}
	}
}
