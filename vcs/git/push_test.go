package git_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// change edits one file of a fresh workspace and commits that.
func change(t *testing.T, s *setup) string {
	t.Helper()
	write(t, s.ws.Dir(), "a", "changed\n")
	return value(s.mirror.Commit(testContext(t), spec(s.changes(t).Tree, s.base)))(t)
}

func one(t *testing.T) *setup {
	return checkedOut(t, git.Config{}, func(dir string) { write(t, dir, "a", "a\n") })
}

func TestPushRefusesWhatMoved(t *testing.T) {
	s := one(t)
	ctx := testContext(t)
	sha := change(t, s)
	write(t, s.remote.work, "b", "somebody else\n")
	other := s.remote.commit(t, "main")
	for name, expect := range map[string]string{"moved": s.base, "exists": ""} {
		_, err := s.mirror.Push(ctx, s.remote.remote(), git.PushSpec{Commit: sha, Branch: "main", Expect: expect})
		if !errors.Is(err, vcs.ErrConflict) {
			t.Errorf("%s: error %v, want ErrConflict", name, err)
		}
	}
	if got := gitRun(t, s.remote.bare, "rev-parse", mainRef); got != other {
		t.Errorf("main at %s, want %s", got, other)
	}
}

func TestPushNeverRewrites(t *testing.T) {
	s := one(t)
	ctx := testContext(t)
	sha := change(t, s)
	write(t, s.remote.work, "b", "somebody else\n")
	other := s.remote.commit(t, "main")
	value(s.mirror.Fetch(ctx, s.remote.remote(), mainRef))(t)
	// The caller knows where main is, but the commit was not made on top.
	_, err := s.mirror.Push(ctx, s.remote.remote(), git.PushSpec{Commit: sha, Branch: "main", Expect: other})
	if !errors.Is(err, vcs.ErrConflict) {
		t.Errorf("error %v, want ErrConflict", err)
	}
	if got := gitRun(t, s.remote.bare, "rev-parse", mainRef); got != other {
		t.Errorf("main at %s, want %s", got, other)
	}
}

func TestPushMovesForwardAndRepeats(t *testing.T) {
	s := one(t)
	ctx := testContext(t)
	sha := change(t, s)
	push := git.PushSpec{Commit: sha, Branch: "main", Expect: s.base}
	for range 2 { // the second is what a resumed run does
		if got := value(s.mirror.Push(ctx, s.remote.remote(), push))(t); got != sha {
			t.Fatalf("read back %s", got)
		}
	}
	// A second commit on the first, which the mirror has from itself.
	write(t, s.ws.Dir(), "c", "more\n")
	next := value(s.mirror.Commit(ctx, spec(s.changes(t).Tree, sha)))(t)
	value(s.mirror.Push(ctx, s.remote.remote(), git.PushSpec{Commit: next, Branch: "main", Expect: sha}))(t)
	if got := gitRun(t, s.remote.bare, "rev-list", "--count", mainRef); got != "3" {
		t.Errorf("%s commits on main", got)
	}
	if got := value(s.mirror.Fetch(ctx, s.remote.remote(), mainRef))(t)[mainRef]; got != next {
		t.Errorf("fetched %s, want %s", got, next)
	}
	ws := value(s.mirror.Checkout(ctx, next, filepath.Join(t.TempDir(), "ws"), git.CheckoutOptions{}))(t)
	defer ws.Close()
	gitRun(t, ws.Dir(), "fsck")
	if got := gitRun(t, ws.Dir(), "rev-list", "--count", "HEAD"); got != "3" {
		t.Errorf("%s commits in the workspace", got)
	}
}

func TestPushTwoCommitsAtOnce(t *testing.T) {
	s := one(t)
	ctx := testContext(t)
	first := change(t, s)
	write(t, s.ws.Dir(), "d/e", "more\n")
	second := value(s.mirror.Commit(ctx, spec(s.changes(t).Tree, first)))(t)
	value(s.mirror.Push(ctx, s.remote.remote(), git.PushSpec{Commit: second, Branch: "two"}))(t)
	gitRun(t, s.remote.bare, "fsck", "--strict")
	if got := gitRun(t, s.remote.bare, "log", "--format=%H", "two"); got != second+"\n"+first+"\n"+s.base {
		t.Errorf("log %q", got)
	}
}

func TestPushReadsBack(t *testing.T) {
	s := one(t)
	sha := change(t, s)
	// A server that says yes and then reports another commit.
	inner := s.remote.srv.Config.Handler
	var pushed atomic.Bool
	s.remote.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if pushed.Load() && strings.HasSuffix(q.URL.RawQuery, "git-upload-pack") {
			gitRun(t, s.remote.bare, "update-ref", "refs/heads/fix", s.base)
		}
		inner.ServeHTTP(w, q)
		if strings.HasSuffix(q.URL.Path, "git-receive-pack") && q.Method == http.MethodPost {
			pushed.Store(true)
		}
	})
	got, err := s.mirror.Push(testContext(t), s.remote.remote(), git.PushSpec{Commit: sha, Branch: "fix"})
	if !errors.Is(err, vcs.ErrConflict) || got != s.base {
		t.Errorf("got %s, %v; want the branch's real place and ErrConflict", got, err)
	}
}

func TestPushRaceIsDecidedByTheServer(t *testing.T) {
	s := one(t)
	sha := change(t, s)
	write(t, s.remote.work, "b", "b\n")
	other := s.remote.commit(t, "side")
	inner := s.remote.srv.Config.Handler
	s.remote.srv.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if strings.HasSuffix(q.URL.Path, "git-receive-pack") { // after we looked
			gitRun(t, s.remote.bare, "update-ref", mainRef, other)
		}
		inner.ServeHTTP(w, q)
	})
	_, err := s.mirror.Push(testContext(t), s.remote.remote(), git.PushSpec{Commit: sha, Branch: "main", Expect: s.base})
	if !errors.Is(err, vcs.ErrConflict) {
		t.Errorf("error %v, want ErrConflict", err)
	}
	if got := gitRun(t, s.remote.bare, "rev-parse", mainRef); got != other {
		t.Errorf("main at %s, want %s", got, other)
	}
}

func TestPushRefusedByHook(t *testing.T) {
	s := one(t)
	sha := change(t, s)
	hook := filepath.Join(s.remote.bare, "hooks", "pre-receive")
	must(t, os.WriteFile(hook, []byte("#!/bin/sh\necho 'GH006: protected branch' >&2\nexit 1\n"), 0o755))
	_, err := s.mirror.Push(testContext(t), s.remote.remote(), git.PushSpec{Commit: sha, Branch: "fix"})
	if !errors.Is(err, vcs.ErrForbidden) || !strings.Contains(err.Error(), "GH006: protected branch") {
		t.Errorf("error %v, want ErrForbidden with the server's words", err)
	}
}

func TestPushValidates(t *testing.T) {
	s := one(t)
	for _, p := range []git.PushSpec{{Commit: s.base, Branch: "-x"}, {Commit: s.base, Branch: "refs/heads/x"}, {Commit: "HEAD", Branch: "x"}, {Commit: s.base, Branch: "x", Expect: "y"}} {
		if _, err := s.mirror.Push(testContext(t), s.remote.remote(), p); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

func TestCommitIsRepeatableAndChecked(t *testing.T) {
	s := one(t)
	ctx := testContext(t)
	write(t, s.ws.Dir(), "a", "x\n")
	sp := spec(s.changes(t).Tree, s.base)
	sp.Author.Name, sp.Author.Email = "Evil\nparent 00 <x>", "a>b\n@c"
	first, second := value(s.mirror.Commit(ctx, sp))(t), value(s.mirror.Commit(ctx, sp))(t)
	if first != second {
		t.Errorf("%s and %s from one spec", first, second)
	}
	value(s.mirror.Push(ctx, s.remote.remote(), git.PushSpec{Commit: first, Branch: "x"}))(t)
	gitRun(t, s.remote.bare, "fsck", "--strict")
	if got := gitRun(t, s.remote.bare, "log", "-1", "--format=%an|%ae|%P", first); got != "Evilparent 00 x|ab@c|"+s.base {
		t.Errorf("commit says %q", got)
	}
	for _, bad := range []git.CommitSpec{spec(strings.Repeat("ab", 20), s.base), spec(sp.Tree, strings.Repeat("ab", 20))} {
		if _, err := s.mirror.Commit(ctx, bad); !errors.Is(err, vcs.ErrNotFound) {
			t.Errorf("commit of what is not there: %v", err)
		}
	}
}

func TestMergeTrees(t *testing.T) {
	ctx := testContext(t)
	s := checkedOut(t, git.Config{}, func(dir string) {
		write(t, dir, "a", "a\n")
		write(t, dir, "b", "b\n")
		write(t, dir, "d/gone", "x\n")
	})
	write(t, s.ws.Dir(), "a", "ours\n")
	write(t, s.ws.Dir(), "new", "n\n")
	must(t, os.Remove(filepath.Join(s.ws.Dir(), "d/gone")))
	ours := s.changes(t).Tree
	write(t, s.remote.work, "b", "theirs\n")
	theirs := s.remote.commit(t, "main")
	value(s.mirror.Fetch(ctx, s.remote.remote(), mainRef))(t)
	tree, conflicts, err := s.mirror.MergeTrees(ctx, s.base, ours, theirs)
	if err != nil || len(conflicts) > 0 {
		t.Fatalf("merge: %v, %v", conflicts, err)
	}
	sha := value(s.mirror.Commit(ctx, spec(tree, theirs)))(t)
	value(s.mirror.Push(ctx, s.remote.remote(), git.PushSpec{Commit: sha, Branch: "main", Expect: theirs}))(t)
	if got := gitRun(t, s.remote.bare, "diff", "--name-status", s.base, sha); got != "M\ta\nM\tb\nD\td/gone\nA\tnew" {
		t.Errorf("merged: %q", got)
	}
	write(t, s.remote.work, "a", "theirs too\n")
	clash := s.remote.commit(t, "clash")
	value(s.mirror.Fetch(ctx, s.remote.remote(), "refs/heads/clash"))(t)
	if _, conflicts, err = s.mirror.MergeTrees(ctx, s.base, ours, clash); err != nil || strings.Join(conflicts, ",") != "a" {
		t.Errorf("conflicts %v, %v", conflicts, err)
	}
}
