package git_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// allHistory is a depth that no test's repository has.
const allHistory = 100_000

// past is a repository with a history in a mirror.
type past struct {
	r      *remote
	mirror *git.Mirror
	head   string
}

// commitAt commits everything in work at a time of its own, by turns of two
// people.
func commitAt(tb testing.TB, dir string, n int, message string, args ...string) {
	tb.Helper()
	gitRun(tb, dir, "add", "-A")
	gitDated(tb, dir, n, append([]string{"commit", "-q", "--allow-empty", "-m", message}, args...)...)
}

func gitDated(tb testing.TB, dir string, n int, args ...string) {
	tb.Helper()
	date := fmt.Sprintf("%d +0200", 1_700_000_000+n*60)
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(gitEnv(), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date, fmt.Sprintf("GIT_AUTHOR_NAME=Person %d", n%2))
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// grown makes a history of random edits with branches merged in.
func grown(tb testing.TB, seed uint64, commits, depth int) *past {
	tb.Helper()
	p := &past{r: newRemote(tb)}
	rnd := rand.New(rand.NewPCG(seed, 3))
	dir := p.r.work
	line := 0
	files := []string{"a.txt", "d/b.txt", "d/e/c.txt", "other"}
	edit := func(name string) {
		old, _ := os.ReadFile(filepath.Join(dir, name))
		lines := strings.SplitAfter(string(old), "\n")
		for range 1 + rnd.IntN(3) {
			at := rnd.IntN(len(lines))
			line++
			fresh := fmt.Sprintf("line %d of its own\n", line)
			switch rnd.IntN(3) {
			case 0:
				lines = append(lines[:at:at], append([]string{fresh}, lines[at:]...)...)
			case 1:
				if lines[at] != "" {
					lines[at] = fresh
				}
			default:
				if len(lines) > 5 && at < len(lines)-1 {
					lines = append(lines[:at:at], lines[at+1:]...)
				}
			}
		}
		write(tb, dir, name, strings.Join(lines, ""))
	}
	for _, f := range files {
		edit(f)
		edit(f)
	}
	commitAt(tb, dir, 0, "the beginning")
	for n := 1; n < commits; n++ {
		if n%7 == 0 {
			gitRun(tb, dir, "checkout", "-q", "-b", fmt.Sprint("b", n), "HEAD~2")
			edit("other")
			if n%2 == 0 {
				write(tb, dir, fmt.Sprint("new", n), "n\n")
			}
			commitAt(tb, dir, n, fmt.Sprintf("on a branch: Fix no. %d", n))
			gitRun(tb, dir, "checkout", "-q", "main")
			gitDated(tb, dir, n, "merge", "-q", "--no-ff", "-X", "theirs", "-m", "merge", fmt.Sprint("b", n))
			continue
		}
		edit(files[rnd.IntN(len(files))])
		message := fmt.Sprintf("change %d\n\nlonger text\n", n)
		if n%5 == 0 {
			message = fmt.Sprintf("FIX the thing %d", n)
		}
		commitAt(tb, dir, n, message)
	}
	gitRun(tb, dir, "push", "-q", "-f", "origin", "HEAD:refs/heads/main")
	p.head = gitRun(tb, dir, "rev-parse", "HEAD")
	p.mirror = newMirror(tb, git.Config{Depth: depth})
	value(p.mirror.Fetch(testContext(tb), p.r.remote(), "refs/heads/main"))(tb)
	return p
}

func ids(list []git.LogEntry) string {
	var out []string
	for _, e := range list {
		out = append(out, e.ID)
	}
	return strings.Join(out, "\n")
}

// TestLogAgainstGit compares with git log on random histories.
func TestLogAgainstGit(t *testing.T) {
	for seed := range uint64(3) {
		p := grown(t, seed, 60, allHistory)
		for _, q := range []struct {
			git.LogQuery
			args []string
		}{
			{git.LogQuery{Limit: 1000}, nil},
			{git.LogQuery{Limit: 7}, []string{"-n7"}},
			{git.LogQuery{Limit: 1000, Path: "a.txt"}, []string{"--", "a.txt"}},
			{git.LogQuery{Limit: 1000, Path: "other"}, []string{"--", "other"}},
			{git.LogQuery{Limit: 1000, Path: "d"}, []string{"--", "d"}},
			{git.LogQuery{Limit: 1000, Path: "new14"}, []string{"--", "new14"}},
			{git.LogQuery{Limit: 1000, Text: "fix"}, []string{"-i", "-F", "--grep=fix"}},
			{git.LogQuery{Limit: 3, Path: "d/b.txt", Text: "CHANGE"}, []string{"-n3", "-i", "-F", "--grep=CHANGE", "--", "d/b.txt"}},
		} {
			want := gitRun(t, p.r.work, append([]string{"log", "--format=%H"}, q.args...)...)
			got := value(p.mirror.Log(testContext(t), p.head, q.LogQuery))(t)
			if diff := cmp.Diff(want, ids(got)); diff != "" {
				t.Errorf("seed %d, %+v (-want +got):\n%s", seed, q.LogQuery, diff)
			}
		}
	}
}

func TestLogEntries(t *testing.T) {
	p := grown(t, 1, 30, allHistory)
	for _, e := range value(p.mirror.Log(testContext(t), p.head, git.LogQuery{Limit: 100}))(t) {
		want := strings.Split(gitRun(t, p.r.work, "show", "-s", "--format=%an%n%at%n%P%n%B", e.ID), "\n")
		message := strings.TrimSpace(strings.Join(want[3:], "\n"))
		if e.Author != want[0] || fmt.Sprint(e.Date.Unix()) != want[1] || strings.TrimSpace(e.Message) != message {
			t.Errorf("%+v, want %q", e, want)
		}
		files := gitRun(t, p.r.work, "diff-tree", "--root", "--no-commit-id", "-r", "--no-renames", "--name-only", e.ID)
		if strings.Contains(want[2], " ") {
			files = ""
		}
		if diff := cmp.Diff(files, strings.Join(e.Files, "\n")); diff != "" {
			t.Errorf("files of %s (-want +got):\n%s", e.ID, diff)
		}
	}
}

func TestShallowHistorySaysSo(t *testing.T) {
	p := grown(t, 2, 30, 3)
	var cut *git.CutError
	got, err := p.mirror.Log(testContext(t), p.head, git.LogQuery{Limit: 100})
	if !errors.As(err, &cut) || len(got) == 0 {
		t.Errorf("log: %d entries, error %v", len(got), err)
	}
	if _, err := p.mirror.Log(testContext(t), p.head, git.LogQuery{Limit: 1}); err != nil {
		t.Errorf("what is there: %v", err)
	}
	lines, err := p.mirror.Blame(testContext(t), p.head, "d/b.txt", 1, 0)
	if !errors.As(err, &cut) || len(lines) == 0 {
		t.Errorf("blame: %d lines, error %v", len(lines), err)
	}
	if _, err := p.mirror.CoChanged(testContext(t), p.head, []string{"a.txt"}); err != nil {
		t.Errorf("co-change: %v", err)
	}
}

// TestBlameAgainstGit compares with git blame on random histories with merges.
func TestBlameAgainstGit(t *testing.T) {
	for seed := range uint64(3) {
		p := grown(t, seed, 60, allHistory)
		for _, name := range []string{"a.txt", "d/b.txt", "d/e/c.txt", "other"} {
			got := value(p.mirror.Blame(testContext(t), p.head, name, 0, 0))(t)
			compareBlame(t, p.r.work, got, name)
			if len(got) > 3 {
				part := value(p.mirror.Blame(testContext(t), p.head, name, 2, 3))(t)
				if diff := cmp.Diff(got[1:3], part); diff != "" {
					t.Errorf("lines 2-3 (-want +got):\n%s", diff)
				}
			}
		}
	}
}

func compareBlame(t *testing.T, dir string, got []git.BlameLine, name string) {
	t.Helper()
	var want, have []string
	for _, l := range strings.Split(gitRun(t, dir, "blame", "-s", "-l", "--root", "HEAD", "--", name), "\n") {
		if l != "" {
			want = append(want, l[:40])
		}
	}
	for _, l := range got {
		have = append(have, l.Commit)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

func TestHistoryOfWhatIsNotThere(t *testing.T) {
	p := grown(t, 4, 3, allHistory)
	ctx := testContext(t)
	write(t, p.r.work, "binary", "text\n\x00\n")
	commitAt(t, p.r.work, 9, "binary")
	gitRun(t, p.r.work, "push", "-q", "origin", "HEAD:refs/heads/main")
	p.head = value(p.mirror.Fetch(ctx, p.r.remote(), "refs/heads/main"))(t)["refs/heads/main"]
	if _, err := p.mirror.Blame(ctx, p.head, "binary", 0, 0); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("blame of a binary file: %v", err)
	}
	if _, err := p.mirror.Blame(ctx, p.head, "nowhere", 0, 0); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("blame of no file: %v", err)
	}
	if _, err := p.mirror.Blame(ctx, p.head, "d", 0, 0); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("blame of a directory: %v", err)
	}
	if _, err := p.mirror.Blame(ctx, p.head, "a.txt", 900, 0); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("blame of no line: %v", err)
	}
	if _, err := p.mirror.Log(ctx, p.head, git.LogQuery{Path: "../x"}); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("log of no path: %v", err)
	}
	if got, err := p.mirror.Log(ctx, p.head, git.LogQuery{Path: "nowhere", Limit: 5}); err != nil || len(got) > 0 {
		t.Errorf("log of a path that never was: %v, %v", got, err)
	}
	if _, err := p.mirror.Log(ctx, strings.Repeat("1", 40), git.LogQuery{}); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("log of no commit: %v", err)
	}
}

func TestCoChanged(t *testing.T) {
	r := newRemote(t)
	step := 0
	change := func(message string, names ...string) {
		step++
		for _, n := range names {
			write(t, r.work, n, fmt.Sprint(step))
		}
		commitAt(t, r.work, step, message)
	}
	var all []string
	for i := range 48 {
		all = append(all, fmt.Sprint("bulk/", i))
	}
	change("everything", append(all, "a", "a_test", "doc", "gone")...)
	for range 3 {
		change("pair", "a", "a_test")
	}
	change("three", "a", "doc", "gone")
	change("other", "b", "bulk/1")
	must(t, os.Remove(filepath.Join(r.work, "gone")))
	change("without")
	gitRun(t, r.work, "push", "-q", "origin", "HEAD:refs/heads/main")
	head := gitRun(t, r.work, "rev-parse", "HEAD")
	m := newMirror(t, git.Config{Depth: allHistory})
	value(m.Fetch(testContext(t), r.remote(), "refs/heads/main"))(t)
	got := value(m.CoChanged(testContext(t), head, []string{"a"}))(t)
	if diff := cmp.Diff([]string{"a_test", "doc"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestOwnHistory blames this repository's larger files and compares with git,
// where there is a checkout with history.
func TestOwnHistory(t *testing.T) {
	needGit(t)
	root, err := gitTry(t, ".", "rev-parse", "--show-toplevel")
	if err != nil {
		t.Skip("not in a checkout")
	}
	head := gitRun(t, root, "rev-parse", "HEAD")
	if gitRun(t, root, "rev-parse", "--is-shallow-repository") == "true" {
		t.Skip("shallow checkout")
	}
	store := newStore(t, git.Config{Depth: allHistory, AllowFile: true})
	m := value(store.Mirror(vcs.RepoRef{Forge: vcs.Local, Owner: "local", Name: "own"}))(t)
	value(m.Fetch(testContext(t), vcs.Remote{URL: root}, head))(t)
	for _, name := range []string{"CHANGELOG.md", "jobs/runner/work.go", "go.sum", "vcs/git/walk.go"} {
		want, err := gitTry(t, root, "blame", "-s", "-l", "--root", head, "--", name)
		if err != nil {
			continue
		}
		var got []git.BlameLine
		took := timed(func() { got = value(m.Blame(testContext(t), head, name, 0, 0))(t) })
		lines := strings.Split(want, "\n")
		same := 0
		for i, l := range lines {
			if i < len(got) && strings.HasPrefix(l, got[i].Commit) {
				same++
			}
		}
		t.Logf("%s: %d lines in %s, %d as git says", name, len(got), took, same)
		if len(got) != len(lines) || same*100 < len(lines)*95 {
			t.Errorf("%s: %d of %d lines as git says", name, same, len(lines))
		}
	}
}
