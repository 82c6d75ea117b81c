package git_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// shot is a checked-out workspace with snapshots.
type shot struct {
	*setup
	snaps *git.Snapshots
	dir   string
}

func snapshots(tb testing.TB, opts git.SnapshotOptions, fill, before func(dir string)) *shot {
	tb.Helper()
	s := &shot{setup: checkedOut(tb, git.Config{}, fill)}
	s.dir = s.ws.Dir()
	if before != nil {
		before(s.dir)
	}
	if opts.Dir == "" {
		opts.Dir = filepath.Join(tb.TempDir(), "snapshots")
	}
	s.snaps = value(s.ws.Snapshots(testContext(tb), opts))(tb)
	tb.Cleanup(func() { must(tb, s.snaps.Close()) })
	return s
}

func (s *shot) take(tb testing.TB, label string) string {
	tb.Helper()
	return value(s.snaps.Take(testContext(tb), label))(tb)
}

func (s *shot) restore(tb testing.TB, id string, paths ...string) git.Restored {
	tb.Helper()
	return value(s.snaps.Restore(testContext(tb), id, paths))(tb)
}

// disk is everything below dir but .git: kind, permissions and bytes by path.
func disk(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	out := map[string]string{}
	must(tb, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, p)
		if err != nil || rel == "." {
			return err
		}
		if rel == ".git" {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String() + " "
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			text += target
		case info.Mode().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text += string(data)
		}
		out[rel] = text
		return nil
	}))
	return out
}

func changedPaths(r git.Restored) []string {
	var out []string
	for _, f := range r.Files {
		out = append(out, f.Path)
	}
	return out
}

func leftPaths(list []git.Left) []string {
	var out []string
	for _, l := range list {
		out = append(out, l.Path)
	}
	return out
}

func fillSmall(tb testing.TB) func(dir string) {
	return func(dir string) {
		write(tb, dir, ".gitignore", "*.log\nout/\n")
		write(tb, dir, ".gitattributes", "*.bat eol=crlf\n")
		write(tb, dir, "run.bat", "a\nb\n")
		write(tb, dir, "src/a.go", "package a\n")
		write(tb, dir, "src/b.go", "package b\n")
		write(tb, dir, "src/deep/c.go", "package c\n")
		must(tb, os.Symlink("a.go", filepath.Join(dir, "src/link")))
	}
}

// TestRestoreBringsBackEverything changes a tree in every way and goes back,
// and forth again.
func TestRestoreBringsBackEverything(t *testing.T) {
	s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), nil)
	before := disk(t, s.dir)
	at := func(p string) string { return filepath.Join(s.dir, p) }
	write(t, s.dir, "src/a.go", "package changed\r\n")
	must(t, os.Remove(at("src/b.go")))
	must(t, os.Rename(at("src/deep"), at("moved")))
	must(t, os.Chmod(at("run.bat"), 0o751))
	must(t, os.Remove(at("src/link")))
	must(t, os.MkdirAll(at("src/link/was/a/link"), 0o750))
	must(t, os.Mkdir(at("empty"), 0o700))
	write(t, s.dir, "new/x.log", "ignored, by the run\n")
	write(t, s.dir, "out/of/way", "ignored directory, by the run\n")
	must(t, os.Symlink("/etc/passwd", at("abs")))
	after := disk(t, s.dir)
	id := s.take(t, "changed")
	got := s.restore(t, git.FirstSnapshot)
	if diff := cmp.Diff(before, disk(t, s.dir)); diff != "" {
		t.Errorf("back (-want +got):\n%s", diff)
	}
	if len(got.Left) > 0 || got.Before != id {
		t.Errorf("left %v, before %s, want none and %s", got.Left, got.Before, id)
	}
	want := []string{"abs", "moved/c.go", "new/x.log", "out/of/way", "run.bat", "src/a.go", "src/b.go", "src/deep/c.go", "src/link"}
	if diff := cmp.Diff(want, changedPaths(got)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	s.restore(t, id)
	if diff := cmp.Diff(after, disk(t, s.dir)); diff != "" {
		t.Errorf("forth (-want +got):\n%s", diff)
	}
	if set := s.changes(t); set.Empty() {
		t.Error("the tree did not change")
	}
}

func TestRestoreTouchesOnlyWhatDiffers(t *testing.T) {
	s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), nil)
	same := value(os.Lstat(filepath.Join(s.dir, "src/b.go")))(t)
	write(t, s.dir, "src/a.go", "x\n")
	write(t, s.dir, "other", "x\n")
	got := s.restore(t, git.FirstSnapshot, "src")
	if diff := cmp.Diff([]string{"src/a.go"}, changedPaths(got)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if got.Files[0].Before == "" || got.Files[0].After == "" || got.Files[0].Before == got.Files[0].After {
		t.Errorf("hashes %+v", got.Files[0])
	}
	now := value(os.Lstat(filepath.Join(s.dir, "src/b.go")))(t)
	if !os.SameFile(same, now) || !same.ModTime().Equal(now.ModTime()) {
		t.Error("a file that did not differ was written")
	}
	if _, err := os.Lstat(filepath.Join(s.dir, "other")); err != nil {
		t.Errorf("outside of the paths: %v", err)
	}
}

func TestRestoreOfAPathMakesItsDirectories(t *testing.T) {
	s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), nil)
	must(t, os.RemoveAll(filepath.Join(s.dir, "src")))
	got := s.restore(t, git.FirstSnapshot, "src/deep/c.go")
	if diff := cmp.Diff([]string{"src/deep/c.go"}, changedPaths(got)); diff != "" || got.Dirs < 2 {
		t.Errorf("dirs %d, changed (-want +got):\n%s", got.Dirs, diff)
	}
	if _, err := s.snaps.Restore(testContext(t), git.FirstSnapshot, []string{"nowhere"}); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("unknown path: %v", err)
	}
	if _, err := s.snaps.Restore(testContext(t), "s99", nil); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("unknown snapshot: %v", err)
	}
	for _, p := range []string{"../x", "/etc", ".git/config", "a//b"} {
		if _, err := s.snaps.Restore(testContext(t), git.FirstSnapshot, []string{p}); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("path %q: %v", p, err)
		}
	}
}

// TestIgnoredBeforeIsNeverTouched: what was ignored at the beginning stays,
// though the run changes it, lifts the rule, and goes back.
func TestIgnoredBeforeIsNeverTouched(t *testing.T) {
	s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), func(dir string) {
		write(t, dir, "keep.log", "a gigabyte of results\n")
		write(t, dir, "out/theirs", "theirs\n")
		write(t, dir, "notes", "untracked from the start\n")
	})
	write(t, s.dir, ".gitignore", "# nothing is ignored now\n")
	write(t, s.dir, "keep.log", "changed\n")
	write(t, s.dir, "out/ours", "ours\n")
	must(t, os.Remove(filepath.Join(s.dir, "notes")))
	s.take(t, "no rules")
	s.restore(t, git.FirstSnapshot)
	now := disk(t, s.dir)
	for p, want := range map[string]string{"keep.log": "changed\n", "out/theirs": "theirs\n", "notes": "untracked from the start\n"} {
		if got := now[p]; !strings.HasSuffix(got, " "+want) {
			t.Errorf("%s is %q, want %q", p, got, want)
		}
	}
	if _, ok := now["out/ours"]; ok {
		t.Error("what the run put into an ignored directory stays")
	}
}

func TestWhatIsNotKeptIsNotDestroyed(t *testing.T) {
	s := snapshots(t, git.SnapshotOptions{MaxFileBytes: 100, MaxIgnored: 3}, func(dir string) {
		fillSmall(t)(dir)
		write(t, dir, "big", strings.Repeat("b", 500))
	}, nil)
	write(t, s.dir, "src/a.go", strings.Repeat("x", 200))
	write(t, s.dir, "new", strings.Repeat("x", 200))
	for i := range 5 {
		write(t, s.dir, fmt.Sprintf("out/%d", i), "x")
	}
	s.take(t, "large")
	list := s.snaps.List()
	left := leftPaths(list[len(list)-1].Left)
	slices.Sort(left)
	if diff := cmp.Diff([]string{"new", "out", "src/a.go"}, left); diff != "" {
		t.Errorf("said not to be kept (-want +got):\n%s", diff)
	}
	was := disk(t, s.dir)
	got := s.restore(t, git.FirstSnapshot)
	if len(got.Left) != 3 || len(got.Files) != 0 {
		t.Errorf("changed %v, left %v", got.Files, got.Left)
	}
	if diff := cmp.Diff(was, disk(t, s.dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	must(t, os.Remove(filepath.Join(s.dir, "big"))) // a large file of the base's is kept
	s.restore(t, git.FirstSnapshot, "big")
	if diff := cmp.Diff(was, disk(t, s.dir)); diff != "" {
		t.Errorf("big (-want +got):\n%s", diff)
	}
}

func TestSnapshotsAreThinned(t *testing.T) {
	s := snapshots(t, git.SnapshotOptions{Keep: 8}, fillSmall(t), nil)
	var last string
	for i := range 40 {
		write(t, s.dir, "f", fmt.Sprint(i))
		last = s.take(t, fmt.Sprint(i))
		if again := s.take(t, "again"); again != last {
			t.Fatalf("an unchanged state became %s", again)
		}
	}
	list := s.snaps.List()
	if len(list) > 8 || list[0].ID != git.FirstSnapshot || list[len(list)-1].ID != last {
		t.Fatalf("kept %v", list)
	}
	for _, k := range list[1:] {
		s.restore(t, k.ID)
		if got := value(os.ReadFile(filepath.Join(s.dir, "f")))(t); string(got) != k.Label {
			t.Errorf("%s holds %q, want %q", k.ID, got, k.Label)
		}
	}
}

// TestRandomTrees does random things to a tree, keeps states in between, and
// goes back to each in random order.
func TestRandomTrees(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 9))
			s := snapshots(t, git.SnapshotOptions{Keep: 100}, fillSmall(t), nil)
			states := map[string]map[string]string{git.FirstSnapshot: disk(t, s.dir)}
			for range 25 {
				for range 1 + rnd.IntN(12) {
					mangle(t, rnd, s.dir)
				}
				states[s.take(t, "")] = disk(t, s.dir)
				if rnd.IntN(4) == 0 {
					ids := ordered(states)
					id := ids[rnd.IntN(len(ids))]
					s.restore(t, id)
				}
			}
			ids := ordered(states)
			rnd.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			for _, id := range ids {
				got := s.restore(t, id)
				if diff := cmp.Diff(states[id], disk(t, s.dir)); diff != "" || len(got.Left) > 0 {
					t.Fatalf("%s: left %v, (-want +got):\n%s", id, got.Left, diff)
				}
			}
		})
	}
}

func ordered(m map[string]map[string]string) []string {
	var ids []string
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// mangle does one random thing.
func mangle(t *testing.T, rnd *rand.Rand, dir string) {
	names := []string{"a", "b", "c.log", "out", "src", "deep"}
	var parts []string
	for range 1 + rnd.IntN(3) {
		parts = append(parts, names[rnd.IntN(len(names))])
	}
	p := filepath.Join(dir, filepath.Join(parts...))
	if info, err := os.Stat(filepath.Dir(p)); err != nil || !info.IsDir() {
		if rnd.IntN(2) == 0 {
			_ = os.MkdirAll(filepath.Dir(p), 0o755) // may meet a file
		}
	}
	switch rnd.IntN(8) {
	case 0, 1, 2: // errors mean that something else stands there: that is fine
		_ = os.WriteFile(p, fmt.Append(nil, rnd.IntN(5), "\r\n"), 0o644)
	case 3:
		_ = os.RemoveAll(p)
	case 4:
		_ = os.Mkdir(p, 0o711)
	case 5:
		_ = os.Symlink(names[rnd.IntN(len(names))], p)
	case 6:
		if info, err := os.Lstat(p); err == nil && info.Mode()&fs.ModeSymlink == 0 {
			must(t, os.Chmod(p, []fs.FileMode{0o644, 0o600, 0o755, 0o700}[rnd.IntN(4)]))
		}
	case 7:
		_ = os.Rename(p, filepath.Join(dir, names[rnd.IntN(len(names))]))
	}
}
