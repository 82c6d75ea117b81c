package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/vcs/git"
)

func TestValidatePath(t *testing.T) {
	for p, ok := range map[string]bool{
		"a": true, "a/b.txt": true, ".github/workflows/ci.yml": true, ".gitignore": true, "a b/\xff": true, "x.git": true, "git~2": true,
		"": false, "/a": false, "a/": false, "a//b": false, ".": false, "a/./b": false, "..": false, "a/../b": false, ".git": false,
		"a/.git/config": false, ".Git": false, ".git ": false, ".git.": false, "GIT~1": false, ".git:x": false, ".g\u200cit": false,
		"a\x00b": false, `a\.git`: false, "\ufeff.git": false,
	} {
		if got := git.ValidatePath(p) == nil; got != ok {
			t.Errorf("%q: valid %t, want %t", p, got, ok)
		}
	}
}

func FuzzValidatePath(f *testing.F) {
	for _, s := range []string{"a/b", "../x", ".git/config", "a/.GIT./b", "x\\..\\.git", ".g\u200cit", "/", "a//b", "\xff/\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		if git.ValidatePath(p) != nil {
			return
		}
		if filepath.Clean(p) != p || !filepath.IsLocal(p) || strings.ContainsRune(p, 0) {
			t.Errorf("%q accepted", p)
		}
		for part := range strings.SplitSeq(strings.ToLower(p), "/") {
			if strings.TrimRight(part, " .") == ".git" {
				t.Errorf("%q accepted", p)
			}
		}
	})
}

// ignoreTree is files that ignore rules are tried on.
var ignoreTree = []string{"a", "b.o", "foo", "foo.txt", "dir/a", "dir/foo", "dir/sub/foo", "dir/sub/b.o", "deep/x/y/z/foo",
	"build/out", "src/build/out", "[x]", "x-1", "x_2", "é", "sp ace", "a\\b", "!bang", "#hash", "dir/.hidden", "q]", "tail "}

// ours lists which of ignoreTree a workspace leaves out under the rules.
func ignoredByUs(t *testing.T, top, sub string) map[string]bool {
	t.Helper()
	s := checkedOut(t, git.Config{}, func(dir string) { write(t, dir, "keep", "k\n") })
	write(t, s.ws.Dir(), ".gitignore", top)
	if sub != "" {
		write(t, s.ws.Dir(), "dir/.gitignore", sub)
	}
	for _, p := range ignoreTree {
		write(t, s.ws.Dir(), p, "x\n")
	}
	set := s.changes(t)
	gitRun(t, s.ws.Dir(), "add", "-A")
	if want := gitRun(t, s.ws.Dir(), "write-tree"); set.Tree != want {
		t.Errorf("rules %q and %q: tree differs from git's:\n%s\nours: %q", top, sub, gitRun(t, s.ws.Dir(), "diff", "--cached", "--name-only"), summary(set))
	}
	taken := map[string]bool{}
	for _, f := range set.Files {
		taken[f.Path] = true
	}
	return taken
}

func TestIgnoreRulesAsGit(t *testing.T) {
	for _, c := range [][2]string{
		{"*.o\nbuild\n", ""},
		{"/build\n/foo\n", "foo\n"},
		{"build/\n!src/build/\n", ""},
		{"dir/*\n!dir/sub\n", ""},
		{"**/foo\n", "!foo\n"},
		{"deep/**/foo\n", ""},
		{"deep/**\n!deep/x/\n", ""},
		{"x[-_]?\n[[]x]\n", ""},
		{"[!a-f]*\n", ""},
		{"\\#hash\n\\!bang\ntail\\ \n", "# comment\n\n/\n"},
		{"a\\\\b\nq]\n[[:alpha:]]\n", ""},
		{"sub\n", "!sub/\n"},
		{"*\n!*/\n!*.txt\n!.gitignore\n", ""},
		{"dir/sub/\r\nb.o   \r\n", "/sub/foo\n"},
		{"**\n", ""},
		{"/**/sub\nd*/a\n", ""},
		{"foo**\n**oo\na**b/x\n", ""},
	} {
		ignoredByUs(t, c[0], c[1])
	}
}

func TestHarmlessIgnoreChangesNothingTracked(t *testing.T) {
	s := checkedOut(t, git.Config{}, func(dir string) {
		write(t, dir, ".gitignore", "build/\n")
		write(t, dir, "src/a.go", "a\n")
	})
	// Removing a rule does not bring build outputs in; a new rule does not
	// hide what is tracked.
	write(t, s.ws.Dir(), ".gitignore", "src/\n*\n")
	write(t, s.ws.Dir(), "build/x", "x\n")
	write(t, s.ws.Dir(), "src/a.go", "b\n")
	if got := strings.Join(summary(s.changes(t)), ";"); got != "modified .gitignore;modified src/a.go" {
		t.Errorf("changes %q", got)
	}
}

// FuzzIgnore looks for rules on which we and git disagree about one name.
func FuzzIgnore(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("no git binary")
	}
	for _, s := range []string{"*.o", "/a/**/b", "[!x-]", "a/", "**/x", "\\", "[", "[]]", "[a-", "[[:digit:]]x", "!x", "a\\*"} {
		f.Add(s, "a/x/b")
	}
	dir := f.TempDir()
	gitRun(f, dir, "init", "-q")
	f.Fuzz(func(t *testing.T, rule, name string) {
		if git.ValidatePath(name) != nil || strings.ContainsAny(rule+name, "\n\x00\r") || len(rule) > 60 || len(name) > 60 || strings.HasPrefix(name, ":") || strings.HasPrefix(rule, "\ufeff") {
			t.Skip()
		}
		must(t, os.WriteFile(filepath.Join(dir, ".git/info/exclude"), []byte(rule+"\n"), 0o644))
		cmd := exec.Command("git", "-c", "core.quotePath=false", "check-ignore", "-q", "--no-index", "--", "./"+name)
		cmd.Dir, cmd.Env = dir, gitEnv()
		err := cmd.Run()
		if cmd.ProcessState.ExitCode() > 1 {
			t.Skip()
		}
		if got, want := git.Ignored(rule+"\n", name), err == nil; got != want {
			t.Errorf("rule %q, name %q: ignored %t, git says %t", rule, name, got, want)
		}
	})
}
