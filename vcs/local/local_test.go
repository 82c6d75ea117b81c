package local_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/local"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.com", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.com"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// repository is a checkout of branch main with one commit.
func repository(t *testing.T, name string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git binary")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(base, name)
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "c")
	return dir
}

func open(t *testing.T, path string, opts ...local.Option) *local.Forge {
	t.Helper()
	f, err := local.Open(path, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOpenFindsTheTop(t *testing.T) {
	dir := repository(t, "My Project!")
	f := open(t, filepath.Join(dir, "a/b"))
	if f.Root() != dir {
		t.Errorf("root %q, want %q", f.Root(), dir)
	}
	if ref := f.Ref(); ref.Validate() != nil || !strings.HasPrefix(ref.Name, "My-Project-") || ref.Forge != vcs.Local {
		t.Errorf("ref %v", ref)
	}
	repo, err := f.Repo(context.Background(), f.Ref())
	if err != nil || repo.DefaultBranch != "main" || repo.ID <= 0 {
		t.Errorf("repo %+v, %v", repo, err)
	}
	remote, err := f.Remote(context.Background(), f.Ref(), vcs.Write)
	if d := cmp.Diff(vcs.Remote{URL: dir}, remote); d != "" || err != nil {
		t.Errorf("remote: %v\n%s", err, d)
	}
}

func TestOpenLinkedWorktreeBareAndDetached(t *testing.T) {
	dir := repository(t, "p")
	linked := filepath.Join(filepath.Dir(dir), "linked")
	git(t, dir, "worktree", "add", "-q", "-b", "topic/x", linked)
	bare := filepath.Join(filepath.Dir(dir), "b.git")
	git(t, dir, "clone", "-q", "--bare", dir, bare)
	for path, want := range map[string]string{linked: "topic/x", bare: "main"} {
		f := open(t, path)
		repo, err := f.Repo(context.Background(), f.Ref())
		if err != nil || repo.DefaultBranch != want || f.Root() != path {
			t.Errorf("%s: %+v, %v", path, repo, err)
		}
	}
	git(t, dir, "checkout", "-q", "--detach")
	f := open(t, dir)
	if repo, err := f.Repo(context.Background(), f.Ref()); err != nil || repo.DefaultBranch != "" {
		t.Errorf("detached: %+v, %v", repo, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: /nowhere/at/all\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := local.Open(dir); !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("gitfile to nowhere: %v", err)
	}
	if _, err := local.Open(filepath.Join(dir, "missing")); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
}

func TestSameNameOtherPathIsAnotherRepository(t *testing.T) {
	a, b := open(t, repository(t, "p")), open(t, repository(t, "p"))
	if a.Ref() == b.Ref() {
		t.Errorf("both are %v", a.Ref())
	}
	if _, err := a.Repo(context.Background(), b.Ref()); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("another repository's ref: %v", err)
	}
}

// TestConformance: what of the seam's contract applies where there is one
// thread, one account, and nobody who reviews.
func TestConformance(t *testing.T) {
	applies := []string{"self", "repository", "canceled", "sticky comment", "long comment"}
	ran := 0
	for _, c := range vcstest.ForgeCases() {
		if !slices.Contains(applies, c.Name) {
			continue
		}
		ran++
		t.Run(c.Name, func(t *testing.T) {
			f := open(t, repository(t, "p"))
			c.Run(t, vcstest.World{
				Forge: f, Repo: f.Ref(), Issue: vcs.Issue{Thread: f.Thread()}, Seen: func(vcs.Thread) []vcs.Comment { return f.Comments() },
			})
		})
	}
	if ran != len(applies) {
		t.Errorf("%d cases of the suite were found, want %d", ran, len(applies))
	}
}

func TestThread(t *testing.T) {
	ctx := context.Background()
	now := time.Unix(1700000000, 0)
	var seen []string
	f := open(t, repository(t, "p"), local.WithTask("Fix it", "the build is red"), local.WithClock(func() time.Time { return now }),
		local.WithWatch(func(c vcs.Comment) { seen = append(seen, c.Body) }))
	for _, c := range []vcs.StickyComment{{Marker: "m", Body: "one"}, {Marker: "n", Body: "other"}, {Marker: "m", Body: "two"}} {
		if _, err := f.PutComment(ctx, f.Thread(), c); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	issue, err := f.Issue(ctx, f.Thread())
	if err != nil || issue.Title != "Fix it" || issue.Body != "the build is red" || !issue.Author.Is(f.Operator()) {
		t.Errorf("issue %+v, %v", issue, err)
	}
	var bodies []string
	for _, c := range issue.Comments {
		bodies = append(bodies, c.Body)
	}
	if d := cmp.Diff([]string{"two", "other"}, bodies); d != "" {
		t.Errorf("comments (-want +got):\n%s", d)
	}
	if got := issue.Comments[0].UpdatedAt.Sub(issue.Comments[0].CreatedAt); got != 2*time.Second {
		t.Errorf("edited after %v", got)
	}
	if d := cmp.Diff([]string{"one", "other", "two"}, seen); d != "" {
		t.Errorf("watched (-want +got):\n%s", d)
	}
	if err := f.React(ctx, f.Thread(), vcs.CommentRef{}, vcs.ReactionEyes); err != nil {
		t.Error(err)
	}
}

func TestRights(t *testing.T) {
	ctx := context.Background()
	f := open(t, repository(t, "p"))
	self, err := f.Self(ctx)
	if err != nil || self.Kind != vcs.KindBot || self.Is(f.Operator()) {
		t.Errorf("self %+v, %v", self, err)
	}
	if p, err := f.Permission(ctx, f.Ref(), f.Operator()); err != nil || p != vcs.PermissionAdmin {
		t.Errorf("permission %v, %v", p, err)
	}
	if p, err := f.Permission(ctx, vcs.RepoRef{}, f.Operator()); err == nil || p != vcs.PermissionNone {
		t.Errorf("permission elsewhere %v, %v", p, err)
	}
	if _, err := f.PullRequest(ctx, f.Thread()); !errors.Is(err, vcs.ErrUnsupported) {
		t.Errorf("pull request: %v", err)
	}
	other := f.Thread()
	other.Number = 2
	if _, err := f.Issue(ctx, other); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("another thread: %v", err)
	}
}
