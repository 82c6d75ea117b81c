package git_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

func (s *shot) export(tb testing.TB, id string) git.Kept {
	tb.Helper()
	return value(s.snaps.Export(testContext(tb), id))(tb)
}

// elsewhere checks the same base out on another machine, with a mirror of its
// own, and begins snapshots there.
func (s *shot) elsewhere(tb testing.TB, opts git.SnapshotOptions, before func(dir string)) *shot {
	tb.Helper()
	ctx := testContext(tb)
	to := &shot{setup: &setup{remote: s.remote, base: s.base, mirror: newMirror(tb, git.Config{})}}
	value(to.mirror.Fetch(ctx, s.remote.remote(), "refs/heads/main"))(tb)
	to.dir = filepath.Join(tb.TempDir(), "ws")
	to.ws = value(to.mirror.Checkout(ctx, s.base, to.dir, git.CheckoutOptions{}))(tb)
	tb.Cleanup(func() { must(tb, to.ws.Close()) })
	if before != nil {
		before(to.dir)
	}
	opts.Dir = filepath.Join(tb.TempDir(), "snapshots")
	to.snaps = value(to.ws.Snapshots(ctx, opts))(tb)
	tb.Cleanup(func() { must(tb, to.snaps.Close()) })
	return to
}

// everyChange changes the small tree in every way.
func everyChange(tb testing.TB, dir string) {
	at := func(p string) string { return filepath.Join(dir, p) }
	write(tb, dir, "src/a.go", "package changed\r\n")
	must(tb, os.Remove(at("src/b.go")))
	must(tb, os.Rename(at("src/deep"), at("moved")))
	must(tb, os.Chmod(at("run.bat"), 0o751))
	must(tb, os.Remove(at("src/link")))
	must(tb, os.MkdirAll(at("src/link/was/a/link"), 0o750))
	must(tb, os.Mkdir(at("empty"), 0o700))
	write(tb, dir, "new/x.log", "ignored, by the run\n")
	write(tb, dir, "out/of/way", "ignored directory, by the run\n")
	write(tb, dir, "na\xefve \"\n\u2028name", "a name that is no text\n")
	must(tb, os.Symlink("/etc/passwd", at("abs")))
	must(tb, os.Symlink("package a\n", at("src/odd"))) // a target that the base has as a file
}

// TestSnapshotsGoOnElsewhere: another machine brings every state back.
func TestSnapshotsGoOnElsewhere(t *testing.T) {
	ctx := testContext(t)
	s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), nil)
	states := map[string]map[string]string{git.FirstSnapshot: disk(t, s.dir)}
	given := []git.Kept{s.export(t, git.FirstSnapshot)}
	keep := func(label string) {
		id := s.take(t, label)
		states[id] = disk(t, s.dir)
		given = append(given, s.export(t, id))
	}
	everyChange(t, s.dir)
	keep("every change")
	write(t, s.dir, "src/a.go", "package again\n")
	keep("one more")
	must(t, os.Remove(filepath.Join(s.dir, "abs")))
	keep("nothing new in it")

	to := s.elsewhere(t, git.SnapshotOptions{Series: "17"}, nil)
	must(t, to.snaps.Import(ctx, given))
	if diff := cmp.Diff(s.snaps.List(), to.snaps.List()); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	got := value(to.snaps.Resume(ctx, "s3"))(t)
	if diff := cmp.Diff(states["s3"], disk(t, to.dir)); diff != "" || len(got.Left) > 0 || got.Before != "" {
		t.Errorf("resumed: %v, before %q (-want +got):\n%s", got.Left, got.Before, diff)
	}
	if id := to.take(t, "unchanged"); id != "s3" {
		t.Errorf("the state that was resumed is taken for a new one, %s", id)
	}
	for _, id := range []string{"s1", git.FirstSnapshot, "s2", "s3"} {
		got := to.restore(t, id)
		if diff := cmp.Diff(states[id], disk(t, to.dir)); diff != "" || len(got.Left) > 0 {
			t.Errorf("%s: left %v (-want +got):\n%s", id, got.Left, diff)
		}
	}
	packs := 0
	for _, k := range given {
		packs += min(len(k.Pack), 1)
	}
	if packs != 3 || len(given[3].Pack) != 0 {
		t.Errorf("%d exports have a pack, want all but the last", packs)
	}
}

// TestExportsGoOn: what was taken up is not exported again, and a third
// machine goes on from what two have left.
func TestExportsGoOn(t *testing.T) {
	ctx := testContext(t)
	a := snapshots(t, git.SnapshotOptions{}, fillSmall(t), nil)
	everyChange(t, a.dir)
	given := []git.Kept{a.export(t, git.FirstSnapshot), a.export(t, a.take(t, "a"))}
	b := a.elsewhere(t, git.SnapshotOptions{Series: "2"}, nil)
	must(t, b.snaps.Import(ctx, given))
	value(b.snaps.Resume(ctx, "s1"))(t)
	write(t, b.dir, "from-b", "made by the second\n")
	id := b.take(t, "b")
	if id != "s2-2" {
		t.Errorf("the second machine's snapshot is %s, want s2-2", id)
	}
	next := b.export(t, id)
	if sizes := value(git.ReadPack(next.Pack, 1<<20, 1<<20))(t); !slices.Equal(sizes, []int{len("made by the second\n")}) {
		t.Errorf("the second machine's pack holds objects of %v bytes", sizes)
	}
	c := a.elsewhere(t, git.SnapshotOptions{}, nil)
	must(t, c.snaps.Import(ctx, append(given, next)))
	value(c.snaps.Resume(ctx, id))(t)
	if diff := cmp.Diff(disk(t, b.dir), disk(t, c.dir)); diff != "" {
		t.Errorf("the third machine (-want +got):\n%s", diff)
	}
}

// TestExportIsDeterministic: the same state gives the same bytes, on another
// machine as well, and when an export is repeated.
func TestExportIsDeterministic(t *testing.T) {
	a := snapshots(t, git.SnapshotOptions{}, fillSmall(t), nil)
	b := a.elsewhere(t, git.SnapshotOptions{}, nil)
	everyChange(t, a.dir)
	everyChange(t, b.dir)
	want := a.export(t, a.take(t, "x"))
	if diff := cmp.Diff(want, b.export(t, b.take(t, "x"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, a.export(t, want.ID)); diff != "" {
		t.Errorf("repeated (-want +got):\n%s", diff)
	}
	if _, err := a.snaps.Export(testContext(t), "s9"); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("unknown snapshot: %v", err)
	}
}

// TestAttackedSnapshotsElsewhere: states that were made to hurt come back
// without what no snapshot holds, and hurt nobody.
func TestAttackedSnapshotsElsewhere(t *testing.T) {
	for _, a := range restoreAttacks {
		t.Run(a.name, func(t *testing.T) {
			ctx := testContext(t)
			outside := t.TempDir()
			write(t, outside, "secret", secret)
			write(t, outside, "a.go", secret)
			s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), nil)
			a.do(t, s.dir, outside)
			beyond := disk(t, outside)
			id := s.take(t, "attacked")
			to := s.elsewhere(t, git.SnapshotOptions{}, nil)
			must(t, to.snaps.Import(ctx, []git.Kept{s.export(t, git.FirstSnapshot), s.export(t, id)}))
			got := value(to.snaps.Resume(ctx, id))(t)
			if diff := cmp.Diff(beyond, disk(t, outside)); diff != "" {
				t.Errorf("outside (-want +got):\n%s", diff)
			}
			want, now := disk(t, s.dir), disk(t, to.dir)
			for _, l := range append(leftPaths(got.Left), a.stays...) { // no snapshot holds these
				for _, m := range []map[string]string{want, now} {
					for p := range m {
						if p == l || strings.HasPrefix(p, l+"/") {
							delete(m, p)
						}
					}
				}
			}
			if diff := cmp.Diff(want, now); diff != "" {
				t.Errorf("left %v (-want +got):\n%s", got.Left, diff)
			}
		})
	}
}

// TestRandomTreesElsewhere takes random states to another machine, and has git
// itself look at every pack.
func TestRandomTreesElsewhere(t *testing.T) {
	needGit(t)
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			ctx := testContext(t)
			rnd := rand.New(rand.NewPCG(seed, 11))
			s := snapshots(t, git.SnapshotOptions{Keep: 100}, fillSmall(t), nil)
			states := map[string]map[string]string{git.FirstSnapshot: disk(t, s.dir)}
			given := []git.Kept{s.export(t, git.FirstSnapshot)}
			for range 20 {
				for range 1 + rnd.IntN(12) {
					mangle(t, rnd, s.dir)
				}
				id := s.take(t, "")
				if _, ok := states[id]; !ok {
					given = append(given, s.export(t, id))
				}
				states[id] = disk(t, s.dir)
			}
			checkPacks(t, s, given)
			to := s.elsewhere(t, git.SnapshotOptions{Keep: 100}, nil)
			must(t, to.snaps.Import(ctx, given))
			ids := ordered(states)
			rnd.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			for _, id := range ids {
				got := to.restore(t, id)
				if diff := cmp.Diff(states[id], disk(t, to.dir)); diff != "" || len(got.Left) > 0 {
					t.Fatalf("%s: left %v, (-want +got):\n%s", id, got.Left, diff)
				}
			}
		})
	}
}

// checkPacks has git index every pack, and sees that none holds what the base
// or an earlier one does.
func checkPacks(t *testing.T, s *shot, given []git.Kept) {
	t.Helper()
	bare := t.TempDir()
	gitRun(t, bare, "init", "-q", "--bare")
	seen := map[string]string{}
	for _, k := range given {
		for _, h := range indexPack(t, bare, k.Pack) {
			if at, ok := seen[h]; ok {
				t.Errorf("%s is in the packs of %s and %s", h, at, k.ID)
			}
			seen[h] = k.ID
			if _, err := gitTry(t, s.remote.bare, "cat-file", "-e", h); err == nil {
				t.Errorf("%s, in the pack of %s, is in the base", h, k.ID)
			}
		}
	}
	gitRun(t, bare, "fsck", "--full", "--strict") // fails by its exit code
	if len(seen) == 0 {
		t.Error("no pack holds anything")
	}
}

// indexPack takes a pack into a repository with the real git and gives the ids
// of its objects.
func indexPack(t *testing.T, bare string, pack []byte) []string {
	t.Helper()
	if len(pack) == 0 {
		return nil
	}
	cmd := exec.Command("git", "index-pack", "--strict", "--stdin")
	cmd.Dir, cmd.Env, cmd.Stdin = bare, gitEnv(), bytes.NewReader(pack)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git index-pack: %v\n%s", err, out)
	}
	_, name, _ := strings.Cut(strings.TrimSpace(string(out)), "\t")
	var ids []string
	for line := range strings.Lines(gitRun(t, bare, "verify-pack", "-v", "objects/pack/pack-"+name+".idx")) {
		if f := strings.Fields(line); len(f) > 1 && len(f[0]) == 40 {
			ids = append(ids, f[0])
		}
	}
	return ids
}

// TestImportAfterSetUp: what the set-up of the new room ignored and made stays
// out of it, and what the old one's first state had comes back.
func TestImportAfterSetUp(t *testing.T) {
	ctx := testContext(t)
	s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), func(dir string) {
		write(t, dir, "out/cache", "here\n")
		write(t, dir, "made", "by the set-up\n")
	})
	write(t, s.dir, "out/new", "the run's, in an ignored directory\n")
	given := []git.Kept{s.export(t, git.FirstSnapshot), s.export(t, s.take(t, "x"))}
	to := s.elsewhere(t, git.SnapshotOptions{}, func(dir string) {
		write(t, dir, "out/cache", "there\n")
		write(t, dir, "made", "by another set-up\n")
		write(t, dir, "more", "by another set-up\n")
	})
	must(t, to.snaps.Import(ctx, given))
	value(to.snaps.Resume(ctx, "s1"))(t)
	want := disk(t, s.dir)
	want["out/cache"] = strings.Replace(want["out/cache"], "here", "there", 1)
	if diff := cmp.Diff(want, disk(t, to.dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestExportUnderUmask: a checkout under another umask is no difference.
func TestExportUnderUmask(t *testing.T) {
	s := snapshots(t, git.SnapshotOptions{}, fillSmall(t), func(dir string) {
		must(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.Type()&os.ModeSymlink != 0 {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			return os.Chmod(p, info.Mode().Perm()&^0o077)
		}))
	})
	k := s.export(t, git.FirstSnapshot)
	if bytes.Contains(k.Manifest, []byte("src/a.go")) || !bytes.Contains(k.Manifest, []byte("run.bat")) {
		t.Errorf("the manifest names what does not differ: %s", k.Manifest)
	}
	to := s.elsewhere(t, git.SnapshotOptions{}, nil)
	must(t, to.snaps.Import(testContext(t), []git.Kept{k}))
	value(to.snaps.Resume(testContext(t), git.FirstSnapshot))(t)
	if diff := cmp.Diff(disk(t, s.dir), disk(t, to.dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// BenchmarkExport measures the export of a snapshot in which one file of 8,000
// has changed, and taking it up elsewhere.
func BenchmarkExport(b *testing.B) {
	ctx := b.Context()
	s := snapshots(b, git.SnapshotOptions{}, func(dir string) { fillLarge(b, dir) }, nil)
	began := time.Now()
	given := []git.Kept{s.export(b, git.FirstSnapshot)}
	first := time.Since(began)
	var exporting []time.Duration
	size := 0
	for n := 0; b.Loop(); n++ {
		write(b, s.dir, "pkg01/mod00/file00001.go", fmt.Sprintf("package changed%d\n", n))
		id := s.take(b, "step")
		exporting = append(exporting, timed(func() {
			k := s.export(b, id)
			size = len(k.Manifest) + len(k.Pack)
			given = append(given, k)
		}))
	}
	slices.Sort(exporting)
	b.ReportMetric(first.Seconds()*1e3, "first-ms")
	b.ReportMetric(exporting[len(exporting)/2].Seconds()*1e3, "export-ms")
	b.ReportMetric(float64(size), "bytes")
	given = given[:min(len(given), 51)]
	to := s.elsewhere(b, git.SnapshotOptions{}, nil)
	b.ReportMetric(timed(func() { must(b, to.snaps.Import(ctx, given)) }).Seconds()*1e3, "import50-ms")
}
