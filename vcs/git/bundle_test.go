package git_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// otherMirror is a mirror on another machine that has the base.
func (s *setup) otherMirror(tb testing.TB, cfg git.Config) *git.Mirror {
	tb.Helper()
	m := newMirror(tb, cfg)
	value(m.Fetch(testContext(tb), s.remote.remote(), "refs/heads/main"))(tb)
	return m
}

// TestBundleIsPushedFromElsewhere: a commit made on one machine is pushed from
// another, byte for byte.
func TestBundleIsPushedFromElsewhere(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		ctx := testContext(t)
		s := checkedOut(t, cfg, fillSmall(t))
		everyChange(t, s.ws.Dir())
		must(t, os.Remove(filepath.Join(s.ws.Dir(), "abs")))
		must(t, os.Remove(filepath.Join(s.ws.Dir(), "src/odd")))
		first := value(s.mirror.Commit(ctx, spec(s.changes(t).Tree, s.base)))(t)
		write(t, s.ws.Dir(), "src/a.go", "package second\n")
		second := value(s.mirror.Commit(ctx, spec(s.changes(t).Tree, first)))(t)

		pack := value(s.mirror.Bundle(ctx, second, s.base))(t)
		if again := value(s.mirror.Bundle(ctx, second, s.base))(t); !bytes.Equal(pack, again) {
			t.Error("the same bundle has other bytes")
		}
		to := s.otherMirror(t, cfg)
		for range 2 {
			must(t, to.Unbundle(ctx, pack, second))
		}
		if got := value(to.Push(ctx, s.remote.remote(), git.PushSpec{Commit: second, Branch: "fix"}))(t); got != second {
			t.Fatalf("pushed %s, want %s", got, second)
		}
		gitRun(t, s.remote.bare, "fsck", "--full", "--strict")
		if got := gitRun(t, s.remote.bare, "show", "fix:src/a.go"); got != "package second" {
			t.Errorf("pushed %q", got)
		}
		if got := gitRun(t, s.remote.bare, "log", "--format=%H", "fix"); got != second+"\n"+first+"\n"+s.base {
			t.Errorf("history is %s", got)
		}

		// A bundle on a commit that was made here, too, holds the step alone.
		step := value(s.mirror.Bundle(ctx, second, first))(t)
		if sizes := value(git.ReadPack(step, 1<<20, 1<<20))(t); len(sizes) != 4 { // commit, two trees, a file
			t.Errorf("the second commit alone takes %d objects", len(sizes))
		}
		third := s.otherMirror(t, cfg)
		if err := third.Unbundle(ctx, step, second); !errors.Is(err, git.ErrIncomplete) || !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("without the first commit: %v", err)
		}
		must(t, third.Unbundle(ctx, value(s.mirror.Bundle(ctx, first, s.base))(t), first))
		must(t, third.Unbundle(ctx, step, second))
	})
}

// TestBundleIsARealPack: git reads it over the base and finds it whole.
func TestBundleIsARealPack(t *testing.T) {
	ctx := testContext(t)
	s := checkedOut(t, git.Config{}, fillSmall(t))
	write(t, s.ws.Dir(), "src/new/file.go", "package file\n")
	sha := value(s.mirror.Commit(ctx, spec(s.changes(t).Tree, s.base)))(t)
	ids := indexPack(t, s.remote.bare, value(s.mirror.Bundle(ctx, sha, s.base))(t))
	if len(ids) != 5 { // commit, three trees, a file
		t.Errorf("%d objects: %v", len(ids), ids)
	}
	gitRun(t, s.remote.bare, "update-ref", "refs/heads/made", sha)
	if out := gitRun(t, s.remote.bare, "fsck", "--full", "--strict"); strings.Contains(out, "missing") || strings.Contains(out, "dangling") {
		t.Errorf("git fsck: %s", out)
	}
	if got := gitRun(t, s.remote.bare, "diff", "--name-only", "main", "made"); got != "src/new/file.go" {
		t.Errorf("it changes %s", got)
	}
}

func TestBundleRefuses(t *testing.T) {
	ctx := testContext(t)
	s := checkedOut(t, git.Config{}, fillSmall(t))
	write(t, s.ws.Dir(), "x", "x\n")
	sha := value(s.mirror.Commit(ctx, spec(s.changes(t).Tree, s.base)))(t)
	other := value(s.mirror.Commit(ctx, spec(s.changes(t).Tree)))(t) // without the base
	for name, c := range map[string]struct {
		commit, base string
		want         error
	}{
		"unknown commit": {strings.Repeat("1", 40), s.base, vcs.ErrNotFound},
		"unknown base":   {sha, strings.Repeat("1", 40), vcs.ErrNotFound},
		"not on it":      {other, s.base, vcs.ErrInvalid},
		"the wrong way":  {s.base, sha, vcs.ErrInvalid},
		"no id":          {"HEAD", s.base, vcs.ErrInvalid},
	} {
		if _, err := s.mirror.Bundle(ctx, c.commit, c.base); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if pack, err := s.mirror.Bundle(ctx, s.base, s.base); err != nil || len(pack) > 0 {
		t.Errorf("the base itself: %d bytes, %v", len(pack), err)
	}
}

// TestForgedBundles: what is not exactly the commit is refused, and nothing of
// it is left.
func TestForgedBundles(t *testing.T) {
	ctx := testContext(t)
	s := checkedOut(t, git.Config{}, fillSmall(t))
	write(t, s.ws.Dir(), "x", "new\n")
	sha := value(s.mirror.Commit(ctx, spec(s.changes(t).Tree, s.base)))(t)
	pack := value(s.mirror.Bundle(ctx, sha, s.base))(t)
	to := s.otherMirror(t, git.Config{})
	indexPack(t, s.remote.bare, pack)
	commit, tree := rawObject(t, s.remote.bare, "commit", sha), rawObject(t, s.remote.bare, "tree", sha+"^{tree}")
	dotGit := "100644 .git\x00" + strings.Repeat("\x01", 20)
	body := func(entries ...[]byte) []byte { return git.SealPack(uint32(len(entries)), bytes.Join(entries, nil)) }
	for name, bad := range map[string][]byte{
		"no tree":       body(packEntry(1, commit), packEntry(3, "new\n")),
		"no file":       body(packEntry(1, commit), packEntry(2, tree)),
		"more":          body(packEntry(1, commit), packEntry(2, tree), packEntry(3, "new\n"), packEntry(3, "more")),
		"twice":         body(packEntry(1, commit), packEntry(2, tree), packEntry(3, "new\n"), packEntry(3, "new\n")),
		"other commit":  body(packEntry(1, strings.Replace(commit, "fix: it", "fix: us", 1)), packEntry(2, tree), packEntry(3, "new\n")),
		"hostile tree":  body(packEntry(1, commit), packEntry(2, tree), packEntry(3, "new\n"), packEntry(2, dotGit)),
		"tree cut":      body(packEntry(1, commit), packEntry(2, tree[:len(tree)-3]), packEntry(3, "new\n")),
		"file as tree":  body(packEntry(1, commit), packEntry(3, tree), packEntry(3, "new\n")),
		"no pack":       []byte("PACK"),
		"changed":       append(bytes.Clone(pack[:len(pack)-1]), pack[len(pack)-1]^1),
		"cut":           pack[:len(pack)-5],
		"only a commit": body(packEntry(1, commit)),
	} {
		if err := to.Unbundle(ctx, bad, sha); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := to.Unbundle(ctx, nil, sha); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("an empty pack of a commit that is not there: %v", err)
	}
	if _, err := to.Bundle(ctx, sha, s.base); !errors.Is(err, vcs.ErrNotFound) {
		t.Errorf("after all that the commit is there: %v", err)
	}
	must(t, to.Unbundle(ctx, body(packEntry(3, "new\n"), packEntry(2, tree), packEntry(1, commit)), sha))
}

// rawObject is what the real git has of an object.
func rawObject(tb testing.TB, dir, kind, name string) string {
	tb.Helper()
	cmd := exec.Command("git", "cat-file", kind, name)
	cmd.Dir, cmd.Env = dir, gitEnv()
	return string(value(cmd.Output())(tb))
}

// hexOf is an object's id.
func hexOf(kind, content string) string {
	return hex.EncodeToString([]byte(idOf(kind, content)))
}

// idOf is an object's id as trees hold it.
func idOf(kind, content string) string {
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d\x00%s", kind, len(content), content))
	return string(sum[:])
}

// TestHostileTrees: a commit of somebody else's that is whole and names what
// must not be named.
func TestHostileTrees(t *testing.T) {
	ctx := testContext(t)
	s := checkedOut(t, git.Config{}, fillSmall(t))
	blob := idOf("blob", "x")
	for name, tree := range map[string]string{
		"dot git":      "100644 .git\x00" + blob,
		"up":           "100644 ..\x00" + blob,
		"twice":        "100644 a\x00" + blob + "100644 a\x00" + blob,
		"unknown mode": "140000 a\x00" + blob,
		"slash":        "100644 a/b\x00" + blob,
	} {
		commit := "tree " + hexOf("tree", tree) + "\nparent " + s.base + "\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n"
		pack := git.SealPack(3, bytes.Join([][]byte{packEntry(1, commit), packEntry(2, tree), packEntry(3, "x")}, nil))
		if err := s.mirror.Unbundle(ctx, pack, hexOf("commit", commit)); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := "100644 a\x00" + blob
	commit := "tree " + hexOf("tree", good) + "\nparent " + s.base + "\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n"
	pack := git.SealPack(3, bytes.Join([][]byte{packEntry(1, commit), packEntry(2, good), packEntry(3, "x")}, nil))
	must(t, s.mirror.Unbundle(ctx, pack, hexOf("commit", commit)))
	if diff := cmp.Diff(pack, value(s.mirror.Bundle(ctx, hexOf("commit", commit), s.base))(t)); diff != "" {
		t.Errorf("bundled again (-want +got):\n%s", diff)
	}
}

// FuzzUnbundle: nothing but a whole commit with that id is taken.
func FuzzUnbundle(f *testing.F) {
	needGit(f)
	s := checkedOut(f, git.Config{}, fillSmall(f))
	tree := "100644 a\x00" + idOf("blob", "x")
	f.Add(uint32(1), packEntry(2, tree), "tree "+hexOf("tree", tree)+"\nparent "+s.base+"\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n")
	f.Add(uint32(2), append(packEntry(3, "x"), packEntry(2, tree)...), "tree "+hexOf("tree", tree)+"\n\n")
	f.Fuzz(func(t *testing.T, count uint32, rest []byte, commit string) {
		sha := hexOf("commit", commit)
		pack := git.SealPack(count+1, append(packEntry(1, commit), rest...))
		if s.mirror.Unbundle(t.Context(), pack, sha) != nil {
			return
		}
		if _, err := s.mirror.FindFiles(t.Context(), sha, "a"); err != nil {
			t.Errorf("a commit was taken that cannot be read: %v", err)
		}
	})
}
