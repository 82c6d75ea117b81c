package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/vcs/git"
)

// fillMixed is a tree with everything that has to survive a round trip.
func fillMixed(tb testing.TB) func(dir string) {
	return func(dir string) {
		write(tb, dir, "README.md", "hello\nworld\n")
		write(tb, dir, "src/a.go", "package a\n")
		write(tb, dir, "src/deep/er/b.txt", "b\n")
		write(tb, dir, "src.txt", "sorts between\n")
		write(tb, dir, "run.sh", "#!/bin/sh\n")
		must(tb, os.Chmod(filepath.Join(dir, "run.sh"), 0o755))
		write(tb, dir, "empty", "")
		write(tb, dir, "bin.dat", "\x00\x01\r\n\x02")
		write(tb, dir, "nul\xff\xfe.txt", "bad name\n")
		write(tb, dir, "spa ce/ü.txt", "x\n")
		must(tb, os.Symlink("src/a.go", filepath.Join(dir, "link")))
		must(tb, os.Symlink("/etc/passwd", filepath.Join(dir, "outside")))
		must(tb, os.Symlink("nowhere", filepath.Join(dir, "src/dangling")))
		write(tb, dir, ".gitignore", "build/\n*.log\n!keep.log\n")
		write(tb, dir, "tracked.log", "tracked though ignored\n")
	}
}

func TestCheckoutWithoutEditHasNoChanges(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		s := checkedOut(t, cfg, fillMixed(t))
		set := s.changes(t)
		if !set.Empty() || len(set.Refused()) > 0 {
			t.Errorf("changes: %v, notes %v", summary(set), set.Notes)
		}
		if want := gitRun(t, s.remote.work, "rev-parse", "HEAD^{tree}"); set.Tree != want {
			t.Errorf("tree %s, want %s", set.Tree, want)
		}
		s.ws.Forget()
		if set := s.changes(t); !set.Empty() {
			t.Errorf("changes after reading everything: %v", summary(set))
		}
	})
}

func TestWorkspaceGitIsOrdinary(t *testing.T) {
	binaries(t, func(t *testing.T, cfg git.Config) {
		s := checkedOut(t, cfg, fillMixed(t))
		dir := s.ws.Dir()
		if got := gitRun(t, dir, "status", "--porcelain"); got != "" {
			t.Errorf("status: %q", got)
		}
		if got := gitRun(t, dir, "rev-parse", "HEAD"); got != s.base {
			t.Errorf("HEAD %s, want %s", got, s.base)
		}
		if got := gitRun(t, dir, "log", "--format=%s"); got != "c" {
			t.Errorf("log: %q", got)
		}
		gitRun(t, dir, "blame", "README.md")
		gitRun(t, dir, "fsck", "--full")
		if got := gitRun(t, dir, "remote"); got != "" {
			t.Errorf("remote: %q", got)
		}
		write(t, dir, "README.md", "changed\n")
		if got := gitRun(t, dir, "status", "--porcelain"); got != " M README.md" {
			t.Errorf("status after edit: %q", got)
		}
		gitRun(t, dir, "commit", "-qam", "inside")
		out, err := gitTry(t, dir, "grep", "-r", "--no-index", "s3cret", ".git")
		if err == nil {
			t.Errorf("credential in .git: %s", out)
		}
	})
}

// edit changes a mixed tree in every ordinary way.
func edit(tb testing.TB, dir string) {
	write(tb, dir, "README.md", "hello\nthere\nworld\n")
	write(tb, dir, "new/dir/file.txt", "new\n")
	write(tb, dir, "build/out.o", "ignored\n")
	write(tb, dir, "x.log", "ignored\n")
	write(tb, dir, "keep.log", "not ignored\n")
	write(tb, dir, "tracked.log", "changed though ignored\n")
	must(tb, os.Remove(filepath.Join(dir, "src/deep/er/b.txt")))
	must(tb, os.Chmod(filepath.Join(dir, "run.sh"), 0o644))
	must(tb, os.Chmod(filepath.Join(dir, "src/a.go"), 0o755))
	must(tb, os.Remove(filepath.Join(dir, "link")))
	must(tb, os.Symlink("README.md", filepath.Join(dir, "link")))
	must(tb, os.Symlink("../README.md", filepath.Join(dir, "new/up")))
	must(tb, os.Remove(filepath.Join(dir, "empty")))
	write(tb, dir, "empty/now-a-dir", "d\n")
	must(tb, os.RemoveAll(filepath.Join(dir, "spa ce")))
	write(tb, dir, "spa ce", "now a file\n")
	write(tb, dir, "q\"uote\\.txt", "q\n")
	write(tb, dir, "no-newline", "x")
}

func TestTreeEqualsGitAddAll(t *testing.T) {
	s := checkedOut(t, git.Config{}, fillMixed(t))
	edit(t, s.ws.Dir())
	set := s.changes(t)
	gitRun(t, s.ws.Dir(), "add", "-A")
	if want := gitRun(t, s.ws.Dir(), "write-tree"); set.Tree != want {
		t.Fatalf("tree differs from git's: %s\nours: %v", gitRun(t, s.ws.Dir(), "status", "--porcelain"), summary(set))
	}
	hash := value(s.ws.TreeHash(testContext(t)))(t)
	if hash != set.Tree {
		t.Errorf("TreeHash %s, want %s", hash, set.Tree)
	}
	want := []string{"modified README.md", "deleted empty", "added empty/now-a-dir", "added keep.log", "modified link",
		"added new/dir/file.txt", "added new/up", "added no-newline", "added q\"uote\\.txt", "mode run.sh", "added spa ce",
		"deleted spa ce/ü.txt", "mode src/a.go", "deleted src/deep/er/b.txt", "modified tracked.log"}
	if d := cmp.Diff(want, summary(set)); d != "" {
		t.Errorf("changes (-want +got):\n%s", d)
	}
	if n := noteKinds(set)[git.NoteIgnored]; len(n) != 1 {
		t.Errorf("ignored notes: %v", n)
	}
}

func TestCommitPushAndDiffAgreeWithGit(t *testing.T) {
	s := checkedOut(t, git.Config{}, fillMixed(t))
	edit(t, s.ws.Dir())
	set := s.changes(t)
	sha := s.push(t, set, "fix/it")
	if got := gitRun(t, s.remote.bare, "rev-parse", "refs/heads/fix/it"); got != sha {
		t.Fatalf("remote branch at %s, want %s", got, sha)
	}
	gitRun(t, s.remote.bare, "fsck", "--full", "--strict")
	if got := gitRun(t, s.remote.bare, "log", "-1", "--format=%an|%ae|%at|%P|%B", sha); got != "Bot|bot@example.com|1700000100|"+s.base+"|fix: it\n\nbody" {
		t.Errorf("commit: %q", got)
	}
	diff := value(s.ws.Diff(testContext(t), set))(t)
	clone := t.TempDir()
	gitRun(t, clone, "clone", "-q", s.remote.bare, "c")
	clone = filepath.Join(clone, "c")
	must(t, os.WriteFile(filepath.Join(t.TempDir(), "p"), nil, 0o644))
	patch := filepath.Join(t.TempDir(), "patch")
	must(t, os.WriteFile(patch, []byte(diff), 0o644))
	gitRun(t, clone, "apply", "--index", patch)
	if got := gitRun(t, clone, "write-tree"); got != set.Tree {
		t.Errorf("applying the diff gives tree %s, want %s\n%s", got, set.Tree, diff)
	}
	compareNumstat(t, s, set, sha)
}

func compareNumstat(t *testing.T, s *setup, set *git.ChangeSet, sha string) {
	t.Helper()
	want := gitRun(t, s.remote.bare, "diff", "--numstat", "-z", "--no-renames", s.base, sha)
	var wantAdd, wantDel int
	for rec := range strings.SplitSeq(strings.Trim(want, "\x00"), "\x00") {
		f := strings.SplitN(rec, "\t", 3)
		if f[0] != "-" {
			wantAdd += atoi(f[0])
			wantDel += atoi(f[1])
		}
	}
	var add, del int
	for _, f := range set.Files {
		add += f.Added
		del += f.Deleted
	}
	if add != wantAdd || del != wantDel {
		t.Errorf("lines +%d -%d, git says +%d -%d", add, del, wantAdd, wantDel)
	}
}

func atoi(s string) int {
	n := 0
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}

func TestDiffOfSelectedPaths(t *testing.T) {
	s := checkedOut(t, git.Config{}, fillMixed(t))
	edit(t, s.ws.Dir())
	set := s.changes(t)
	diff := value(s.ws.Diff(testContext(t), set, "new", "README.md"))(t)
	for _, want := range []string{"diff --git a/README.md b/README.md\n", "@@ -1,2 +1,3 @@\n hello\n+there\n world\n", "+++ b/new/dir/file.txt\n"} {
		if !strings.Contains(diff, want) {
			t.Errorf("diff lacks %q:\n%s", want, diff)
		}
	}
	if strings.Contains(diff, "tracked.log") {
		t.Error("diff shows what was not asked for")
	}
}
