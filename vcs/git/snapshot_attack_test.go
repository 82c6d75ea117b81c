package git_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// TestRestoreUnderAttack sets the workspace up against a restore.
func TestRestoreUnderAttack(t *testing.T) {
	for _, a := range restoreAttacks {
		t.Run(a.name, func(t *testing.T) {
			outside := t.TempDir()
			write(t, outside, "secret", secret)
			write(t, outside, "a.go", secret)
			s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), nil)
			before, beyond := disk(t, s.dir), disk(t, outside)
			a.do(t, s.dir, outside)
			s.take(t, "attacked")
			got := s.restore(t, git.FirstSnapshot)
			if diff := cmp.Diff(beyond, disk(t, outside)); diff != "" {
				t.Errorf("outside (-want +got):\n%s", diff)
			}
			now := disk(t, s.dir)
			for p := range now {
				if a.top != "" && (p == a.top || strings.HasPrefix(p, a.top+"/")) {
					delete(now, p)
				}
			}
			if diff := cmp.Diff(before, now); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(a.stays, leftPaths(got.Left)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

var restoreAttacks = []struct {
	name  string
	do    func(tb testing.TB, ws, outside string)
	stays []string // said to be left
	top   string   // where that is
}{
	{name: "directory becomes a link to the outside", do: func(tb testing.TB, ws, outside string) {
		must(tb, os.RemoveAll(filepath.Join(ws, "src")))
		must(tb, os.Symlink(outside, filepath.Join(ws, "src")))
	}},
	{name: "directory becomes a link to its neighbour", do: func(tb testing.TB, ws, _ string) {
		must(tb, os.Rename(filepath.Join(ws, "src"), filepath.Join(ws, "other")))
		must(tb, os.Symlink("other", filepath.Join(ws, "src")))
	}},
	{name: "file becomes a link to the outside", do: func(tb testing.TB, ws, outside string) {
		must(tb, os.Remove(filepath.Join(ws, "src/a.go")))
		must(tb, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(ws, "src/a.go")))
	}},
	{name: "file becomes a hard link to the outside", do: func(tb testing.TB, ws, outside string) {
		must(tb, os.Remove(filepath.Join(ws, "src/a.go")))
		must(tb, os.Link(filepath.Join(outside, "secret"), filepath.Join(ws, "src/a.go")))
	}},
	{name: "hard links within", do: func(tb testing.TB, ws, _ string) {
		must(tb, os.Link(filepath.Join(ws, "src/a.go"), filepath.Join(ws, "twin")))
		write(tb, ws, "twin", "both\n")
	}},
	{name: "file becomes a FIFO", do: func(tb testing.TB, ws, _ string) {
		must(tb, os.Remove(filepath.Join(ws, "src/a.go")))
		must(tb, syscall.Mkfifo(filepath.Join(ws, "src/a.go"), 0o644))
		must(tb, syscall.Mkfifo(filepath.Join(ws, "pipe"), 0o644))
	}},
	{name: "nested repository", top: "sub", stays: []string{"sub"}, do: func(tb testing.TB, ws, _ string) {
		write(tb, ws, "sub/.git/config", "[core]\n\tfsmonitor = touch /tmp/owned\n")
		write(tb, ws, "sub/file", "of another repository\n")
	}},
	{name: "names of temporary files", do: func(tb testing.TB, ws, outside string) {
		write(tb, ws, "src/a.go", "x")
		must(tb, os.Symlink(outside, filepath.Join(ws, "src/.greenwright-restore-X")))
	}},
	{name: "deep nesting", top: "d", stays: []string{strings.TrimSuffix(strings.Repeat("d/", 129), "/")}, do: func(tb testing.TB, ws, _ string) {
		write(tb, ws, strings.Repeat("d/", 200)+"f", "x")
	}},
}

// TestContentFromOutsideIsNotKept: a hard link brings nothing into the store.
func TestContentFromOutsideIsNotKept(t *testing.T) {
	s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), nil)
	outside := t.TempDir()
	write(t, outside, "secret", secret)
	must(t, os.Link(filepath.Join(outside, "secret"), filepath.Join(s.dir, "hard")))
	id := s.take(t, "hard")
	list := s.snaps.List()
	if diff := cmp.Diff([]string{"hard"}, leftPaths(list[len(list)-1].Left)); diff != "" {
		t.Errorf("said not to be kept (-want +got):\n%s", diff)
	}
	s.restore(t, git.FirstSnapshot)
	if _, err := os.Lstat(filepath.Join(s.dir, "hard")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the name stays: %v", err)
	}
	if got := s.restore(t, id); len(got.Files) > 0 || len(got.Left) != 1 {
		t.Errorf("brought back %v, left %v", got.Files, got.Left)
	}
}

// TestUnreadableDirectory: what cannot be listed is not kept, and not touched.
// As root, the walk alone runs as somebody else.
func TestUnreadableDirectory(t *testing.T) {
	s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), nil)
	shut := filepath.Join(s.dir, "shut")
	write(t, s.dir, "shut/f", "x\n")
	must(t, os.Chmod(shut, 0o300))
	t.Cleanup(func() { _ = os.Chmod(shut, 0o755) })
	if os.Getuid() == 0 {
		for d := filepath.Dir(s.dir); strings.HasPrefix(d, os.TempDir()+"/"); d = filepath.Dir(d) {
			must(t, os.Chmod(d, 0o755)) // of the test's own directory
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		must(t, unix.Setfsuid(65534))
		defer func() { must(t, unix.Setfsuid(0)) }()
		if _, err := os.ReadDir(shut); err == nil {
			t.Skip("this kernel lets anybody list")
		}
	}
	got := s.restore(t, git.FirstSnapshot)
	if diff := cmp.Diff([]string{"shut"}, leftPaths(got.Left)); diff != "" || len(got.Files) > 0 {
		t.Errorf("changed %v, left (-want +got):\n%s", got.Files, diff)
	}
	if _, err := os.Lstat(filepath.Join(s.dir, "src/a.go")); err != nil {
		t.Error(err)
	}
	list := s.snaps.List()
	if left := leftPaths(list[len(list)-1].Left); !slices.Contains(left, "shut") {
		t.Errorf("said not to be kept: %v", left)
	}
}

// TestRestoreWhileSwapped exchanges a directory for a link to the outside as
// it is restored.
func TestRestoreWhileSwapped(t *testing.T) {
	outside := t.TempDir()
	write(t, outside, "a.go", secret)
	s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), nil)
	must(t, os.Symlink(outside, filepath.Join(s.dir, "lnk")))
	want := disk(t, outside)
	swapping(t, filepath.Join(s.dir, "src"), filepath.Join(s.dir, "lnk"))
	for i := range 60 {
		_ = os.WriteFile(filepath.Join(s.dir, "run.bat"), fmt.Append(nil, i), 0o644)
		if _, err := s.snaps.Restore(testContext(t), git.FirstSnapshot, []string{"src", "run.bat"}); err != nil && !errors.Is(err, vcs.ErrNotFound) {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, disk(t, outside)); diff != "" {
		t.Errorf("outside (-want +got):\n%s", diff)
	}
}

// TestRestoredFilesAreTheRuns: what is written belongs to the run's account.
func TestRestoredFilesAreTheRuns(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("giving files away needs root")
	}
	s := checkedOut(t, git.Config{}, fillSmall(t))
	ws := value(s.mirror.Attach(testContext(t), s.base, s.ws.Dir(), git.CheckoutOptions{UID: 4242, GID: 4343}))(t)
	defer ws.Close()
	snaps := value(ws.Snapshots(testContext(t), git.SnapshotOptions{Dir: filepath.Join(t.TempDir(), "s")}))(t)
	defer snaps.Close()
	must(t, os.RemoveAll(filepath.Join(s.ws.Dir(), "src")))
	value(snaps.Restore(testContext(t), git.FirstSnapshot, nil))(t)
	for _, p := range []string{"src", "src/a.go", "src/link"} {
		info := value(os.Lstat(filepath.Join(s.ws.Dir(), p)))(t)
		if uid, gid := ownerOf(info); uid != 4242 || gid != 4343 {
			t.Errorf("%s belongs to %d:%d", p, uid, gid)
		}
	}
}
