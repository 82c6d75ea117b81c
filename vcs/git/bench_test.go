package git_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/vcs/git"
)

// benchFiles is the size of the generated repository: a mid-sized project.
const benchFiles = 8000

// fillLarge writes source-like files of 1-8 KB in some 400 directories.
func fillLarge(tb testing.TB, dir string) {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("func return if err nil range string int context package import type struct for switch case value")
	for i := range benchFiles {
		var b strings.Builder
		for n := 20 + rnd.IntN(140); n > 0; n-- {
			for range 3 + rnd.IntN(6) {
				b.WriteString(words[rnd.IntN(len(words))])
				b.WriteByte(' ')
			}
			fmt.Fprintf(&b, "%x\n", rnd.Uint32())
		}
		write(tb, dir, fmt.Sprintf("pkg%02d/mod%02d/file%05d.go", i%20, i/20%20, i), b.String())
	}
	write(tb, dir, ".gitattributes", "*.go text\n*.bat eol=crlf\n")
	write(tb, dir, ".gitignore", "build/\n*.o\n")
}

// BenchmarkPrepare compares the preparation of a workspace with what git does
// for the same repository, in turns, over HTTP: cold (no mirror) against
// clone --depth 1, warm (mirror up to date, the refs asked for again) against
// worktree add. Ratios below 1 are faster than git.
func BenchmarkPrepare(b *testing.B) {
	r := newRemote(b)
	fillLarge(b, r.work)
	r.commit(b, "main")
	for _, mode := range []struct {
		name string
		cfg  git.Config
	}{{"binary", git.Config{}}, {"go-git", git.Config{GitBinary: git.NoBinary}}} {
		b.Run("cold/"+mode.name, func(b *testing.B) { benchCold(b, r, mode.cfg) })
		b.Run("warm/"+mode.name, func(b *testing.B) { benchWarm(b, r, mode.cfg) })
	}
}

func prepare(b *testing.B, s *git.Store, r *remote) {
	b.Helper()
	ctx := context.Background()
	m := value(s.Mirror(repoRef()))(b)
	got := value(m.Fetch(ctx, r.remote(), "refs/heads/main"))(b)
	dir := filepath.Join(b.TempDir(), "ws")
	ws := value(m.Checkout(ctx, got["refs/heads/main"], dir, git.CheckoutOptions{}))(b)
	must(b, ws.Close())
}

func authURL(r *remote) string {
	return strings.Replace(r.srv.URL, "http://", "http://"+r.user+":"+r.pass+"@", 1) + "/o/r.git"
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

func report(b *testing.B, ours, theirs time.Duration) {
	b.ReportMetric(ours.Seconds()*1e3/float64(b.N), "ours-ms")
	b.ReportMetric(theirs.Seconds()*1e3/float64(b.N), "git-ms")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "ratio")
}

func benchCold(b *testing.B, r *remote, cfg git.Config) {
	var ours, theirs time.Duration
	for b.Loop() {
		theirs += timed(func() { gitRun(b, b.TempDir(), "clone", "-q", "--depth=1", authURL(r), "c") })
		ours += timed(func() {
			c := cfg
			c.Dir = b.TempDir()
			prepare(b, value(git.New(c, slog.New(slog.DiscardHandler)))(b), r)
		})
	}
	report(b, ours, theirs)
}

func benchWarm(b *testing.B, r *remote, cfg git.Config) {
	s := newStore(b, cfg)
	prepare(b, s, r)
	clone := filepath.Join(b.TempDir(), "c")
	gitRun(b, r.work, "clone", "-q", "--depth=1", authURL(r), clone)
	var ours, theirs time.Duration
	for n := 0; b.Loop(); n++ {
		tree := filepath.Join(b.TempDir(), "wt")
		theirs += timed(func() { gitRun(b, clone, "worktree", "add", "-q", "--detach", tree) })
		ours += timed(func() { prepare(b, s, r) })
	}
	report(b, ours, theirs)
}

// BenchmarkChanges measures the look at an unchanged workspace, with what is
// remembered and without.
func BenchmarkChanges(b *testing.B) {
	if _, err := exec.LookPath("git"); err != nil {
		b.Skip("no git binary")
	}
	s := checkedOut(b, git.Config{}, func(dir string) { fillLarge(b, dir) })
	time.Sleep(50 * time.Millisecond) // past the resolution of file times
	must(b, os.Chmod(s.ws.Dir(), 0o755))
	for _, cold := range []bool{false, true} {
		b.Run(fmt.Sprintf("forget=%t", cold), func(b *testing.B) {
			for b.Loop() {
				if cold {
					s.ws.Forget()
				}
				if set := s.changes(b); !set.Empty() {
					b.Fatal(summary(set))
				}
			}
		})
	}
}

// BenchmarkSnapshot measures what keeping the state of a workspace costs when
// one file of it has changed, and naming its tree after that.
func BenchmarkSnapshot(b *testing.B) {
	for _, files := range []int{300, 10_000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) { benchSnapshot(b, files) })
	}
}

func benchSnapshot(b *testing.B, files int) {
	s := checkedOut(b, git.Config{}, func(dir string) {
		for i := range files {
			write(b, dir, fmt.Sprintf("d%02d/e%02d/f%d.go", i%20, i/20%25, i), fmt.Sprintf("package p%d\n", i))
		}
	})
	ctx := context.Background()
	snaps := value(s.ws.Snapshots(ctx, git.SnapshotOptions{Dir: filepath.Join(b.TempDir(), "s")}))(b)
	defer snaps.Close()
	time.Sleep(50 * time.Millisecond) // past the resolution of file times
	value(snaps.Take(ctx, "warm"))(b)
	value(s.ws.TreeHash(ctx))(b)
	var taking, hashing []time.Duration
	for n := 0; b.Loop(); n++ {
		write(b, s.ws.Dir(), "d01/e00/f1.go", fmt.Sprintf("package changed%d\n", n))
		taking = append(taking, timed(func() { value(snaps.Take(ctx, "step"))(b) }))
		hashing = append(hashing, timed(func() { value(s.ws.TreeHash(ctx))(b) }))
	}
	slices.Sort(taking)
	slices.Sort(hashing)
	b.ReportMetric(taking[len(taking)/2].Seconds()*1e3, "take-ms")
	b.ReportMetric(hashing[len(hashing)/2].Seconds()*1e3, "treehash-ms")
}
