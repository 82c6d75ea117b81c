package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// localCheckout is a user's own checkout with two commits and hooks that
// leave a trace if anybody runs them.
func localCheckout(t *testing.T) (dir, trace string) {
	t.Helper()
	needGit(t)
	dir, trace = filepath.Join(t.TempDir(), "proj"), filepath.Join(t.TempDir(), "ran")
	must(t, os.MkdirAll(dir, 0o755))
	gitRun(t, dir, "init", "-q", "-b", "main")
	write(t, dir, "a", "a\n")
	gitRun(t, dir, "add", "-A")
	gitRun(t, dir, "commit", "-qm", "one")
	write(t, dir, "b/c", "c\n")
	gitRun(t, dir, "add", "-A")
	gitRun(t, dir, "commit", "-qm", "two")
	for _, h := range []string{"pre-receive", "update", "post-receive", "post-update", "reference-transaction", "post-checkout"} {
		must(t, os.WriteFile(filepath.Join(dir, ".git/hooks", h), []byte("#!/bin/sh\ntouch '"+trace+"'\n"), 0o755))
	}
	return dir, trace
}

func TestLocalRepositoryRoundTrip(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		ctx := testContext(t)
		dir, trace := localCheckout(t)
		rem := vcs.Remote{URL: dir}
		m := value(newStore(t, cfg).Mirror(vcs.RepoRef{Forge: vcs.Local, Owner: "local", Name: "proj-1"}))(t)
		head := gitRun(t, dir, "rev-parse", "HEAD")
		if got := value(m.DefaultBranch(ctx, rem))(t); got != "main" {
			t.Errorf("default branch %q", got)
		}
		if got := value(m.Fetch(ctx, rem, mainRef))(t)[mainRef]; got != head {
			t.Fatalf("fetched %s, want %s", got, head)
		}
		ws := value(m.Checkout(ctx, head, filepath.Join(t.TempDir(), "ws"), git.CheckoutOptions{}))(t)
		defer ws.Close()
		gitRun(t, ws.Dir(), "fsck")
		write(t, ws.Dir(), "a", "fixed\n")
		set := value(ws.Changes(ctx))(t)
		sha := value(m.Commit(ctx, spec(set.Tree, head)))(t)
		value(m.Push(ctx, rem, git.PushSpec{Commit: sha, Branch: "greenwright/1-fix"}))(t)
		gitRun(t, dir, "fsck", "--strict")
		if got := gitRun(t, dir, "show", "greenwright/1-fix:a"); got != "fixed" {
			t.Errorf("branch has %q", got)
		}
		if got := gitRun(t, dir, "status", "--porcelain"); got != "" {
			t.Errorf("the user's checkout is touched: %q", got)
		}
		if _, err := m.Push(ctx, rem, git.PushSpec{Commit: sha, Branch: "main", Expect: head}); !errors.Is(err, vcs.ErrForbidden) {
			t.Errorf("push to the branch checked out: %v", err)
		}
		if _, err := m.Push(ctx, rem, git.PushSpec{Commit: head, Branch: "greenwright/1-fix"}); !errors.Is(err, vcs.ErrConflict) {
			t.Errorf("push over an existing branch: %v", err)
		}
		if _, err := os.Stat(trace); err == nil {
			t.Error("a hook of the user's repository ran")
		}
	})
}

func TestLocalLinkedWorktree(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		ctx := testContext(t)
		dir, _ := localCheckout(t)
		linked := filepath.Join(t.TempDir(), "linked")
		gitRun(t, dir, "worktree", "add", "-q", "-b", "topic", linked)
		rem := vcs.Remote{URL: linked}
		m := value(newStore(t, cfg).Mirror(vcs.RepoRef{Forge: vcs.Local, Owner: "local", Name: "linked-1"}))(t)
		if got := value(m.DefaultBranch(ctx, rem))(t); got != "topic" {
			t.Errorf("branch %q", got)
		}
		head := value(m.Fetch(ctx, rem, "refs/heads/topic"))(t)["refs/heads/topic"]
		value(m.Push(ctx, rem, git.PushSpec{Commit: head, Branch: "copy"}))(t)
		if got := gitRun(t, dir, "rev-parse", "copy"); got != head {
			t.Errorf("branch at %s", got)
		}
	})
}

func TestDirty(t *testing.T) {
	ctx := testContext(t)
	dir, trace := localCheckout(t)
	if dirty := value(git.Dirty(ctx, dir))(t); dirty {
		t.Error("a fresh checkout is dirty")
	}
	info := value(git.OpenLocal(dir))(t)
	if info.Branch != "main" || info.Head != gitRun(t, dir, "rev-parse", "HEAD") {
		t.Errorf("info %+v", info)
	}
	write(t, dir, ".gitignore", "*.o\n")
	write(t, dir, "x.o", "ignored\n")
	write(t, dir, "a", "edited\n")
	must(t, os.Remove(filepath.Join(dir, "b/c")))
	objects := gitRun(t, dir, "count-objects")
	if got := strings.Join(value(git.DirtyPaths(ctx, dir))(t), " "); got != ".gitignore a b/c" {
		t.Errorf("dirty: %q", got)
	}
	if got := gitRun(t, dir, "count-objects"); got != objects {
		t.Errorf("objects written: %s, before %s", got, objects)
	}
	if _, err := os.Stat(trace); err == nil {
		t.Error("a hook ran")
	}
	if _, err := git.Dirty(ctx, t.TempDir()); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("no repository: %v", err)
	}
}

func TestEmptyLocalRepository(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	gitRun(t, dir, "init", "-q")
	if dirty := value(git.Dirty(testContext(t), dir))(t); !dirty {
		t.Error("nothing committed counts as clean")
	}
	m := value(newStore(t, git.Config{}).Mirror(vcs.RepoRef{Forge: vcs.Local, Owner: "local", Name: "e-1"}))(t)
	if _, err := m.Fetch(testContext(t), vcs.Remote{URL: dir}, mainRef); !errors.Is(err, git.ErrEmpty) {
		t.Errorf("error %v, want ErrEmpty", err)
	}
}
