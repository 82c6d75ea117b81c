package layout_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/greenwright/greenwright/sandbox/layout"
)

func put(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestSeed(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	secret := filepath.Join(t.TempDir(), "secret")
	put(t, secret, "outside", 0o644)
	put(t, filepath.Join(from, ".cache/go-build/00/entry"), "compiled", 0o644)
	put(t, filepath.Join(from, "go/pkg/mod/m@v1/file.go"), "package m", 0o444)
	put(t, filepath.Join(from, ".config/go/env"), "GOFLAGS=-x", 0o644)
	put(t, filepath.Join(from, ".bashrc"), "evil", 0o644)
	if err := os.Chmod(filepath.Join(from, "go/pkg/mod/m@v1"), 0o555); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, filepath.Join(from, ".cache/link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Dir(secret), filepath.Join(from, ".npm")); err != nil { // where a cache would be
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(from, ".cache/fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 60100, 60100
	}
	if err := layout.Seed(t.Context(), from, to, layout.Caches(), uid, gid); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{".cache/go-build/00/entry": "compiled", "go/pkg/mod/m@v1/file.go": "package m"} {
		got, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		st, err := os.Stat(filepath.Join(to, name))
		if err != nil || int(st.Sys().(*syscall.Stat_t).Uid) != uid {
			t.Errorf("%s is not the account's: %v", name, err)
		}
	}
	if st, err := os.Stat(filepath.Join(to, "go/pkg/mod/m@v1")); err != nil || st.Mode().Perm() != 0o555 {
		t.Errorf("a read-only directory: %v, %v", st, err)
	}
	if target, err := os.Readlink(filepath.Join(to, ".cache/link")); err != nil || target != secret {
		t.Errorf("a link became %q, %v", target, err)
	}
	for _, name := range []string{".config", ".bashrc", ".cache/fifo", ".npm"} {
		if _, err := os.Lstat(filepath.Join(to, name)); !os.IsNotExist(err) {
			t.Errorf("%s was copied (%v)", name, err)
		}
	}
	if err := layout.RemoveTree(to); err != nil {
		t.Error(err)
	}
}

func TestSeedOfNothing(t *testing.T) {
	to := t.TempDir()
	if err := layout.Seed(t.Context(), t.TempDir(), to, layout.Caches(), os.Getuid(), os.Getgid()); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(to); err != nil || len(entries) > 0 {
		t.Errorf("made %v, %v", entries, err)
	}
}
