package ignore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/tool/ignore"
)

// ignored asks top down, as the walk does.
func ignored(l *ignore.List, path string, isDir bool) bool {
	parts := strings.Split(path, "/")
	for i := 1; i < len(parts); i++ {
		if l.Ignored(strings.Join(parts[:i], "/"), true) {
			return true
		}
	}
	return l.Ignored(path, isDir)
}

type ignoreCase struct {
	rules, path string
	isDir, want bool
}

func cases() []ignoreCase {
	return []ignoreCase{
		{"*.log", "a.log", false, true},
		{"*.log", "x/y/a.log", false, true},
		{"*.log", "a.logs", false, false},
		{"/a.log", "x/a.log", false, false},
		{"/a.log", "a.log", false, true},
		{"x/y", "x/y", false, true},
		{"x/y", "z/x/y", false, false},
		{"build/", "build", true, true},
		{"build/", "build", false, false},
		{"build/", "a/build/x", false, true},
		{"**/foo", "a/b/foo", false, true},
		{"**/foo", "foo", false, true},
		{"foo/**", "foo/a/b", false, true},
		{"foo/**", "foo", true, false},
		{"a/**/b", "a/b", false, true},
		{"a/**/b", "a/x/y/b", false, true},
		{"a/**/b", "a/x/y/c", false, false},
		{"*\n!keep", "keep", false, false},
		{"*\n!keep", "other", false, true},
		{"dir\n!dir/keep", "dir/keep", false, true}, // a parent is ignored
		{"a?c", "abc", false, true},
		{"a?c", "a/c", false, false},
		{"a*c", "a/c", false, false},
		{"[a-c].txt", "b.txt", false, true},
		{"[!a-c].txt", "b.txt", false, false},
		{"[!a-c].txt", "d.txt", false, true},
		{"[]-]x", "]x", false, true},
		{`\#x`, "#x", false, true},
		{"#x", "#x", false, false},
		{`\!x`, "!x", false, true},
		{"x  ", "x", false, true},
		{"x.tmp\r", "x.tmp", false, true},
		{"foo/*", "foo/a", false, true},
		{"foo/*", "foo/a/b", false, true},
		{"**", "a", false, true},
	}
}

func TestIgnored(t *testing.T) {
	for _, c := range cases() {
		l := (*ignore.List)(nil).With("", c.rules)
		if got := ignored(l, c.path, c.isDir); got != c.want {
			t.Errorf("%q on %s (dir %v): %v", c.rules, c.path, c.isDir, got)
		}
	}
}

// TestCasesAgainstGit asks git itself about every case, where it is installed.
func TestCasesAgainstGit(t *testing.T) {
	for _, c := range cases() {
		dir := t.TempDir()
		if _, err := git(dir, nil, "init", "-q"); err != nil {
			t.Skipf("SKIPPED: git init does not work here: %v", err)
		}
		full := filepath.Join(dir, c.path)
		check(t, os.MkdirAll(filepath.Dir(full), 0o755))
		if c.isDir {
			check(t, os.MkdirAll(full, 0o755))
		} else {
			check(t, os.WriteFile(full, nil, 0o600))
		}
		check(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(c.rules+"\n"), 0o600))
		_, err := git(dir, nil, "check-ignore", "-q", c.path)
		if got := err == nil; got != c.want {
			t.Errorf("git says %v for %q on %s (dir %v)", got, c.rules, c.path, c.isDir)
		}
	}
}

func TestNestedFiles(t *testing.T) {
	l := (*ignore.List)(nil).With("", "*.gen").With("sub", "!keep.gen\n/top")
	for path, want := range map[string]bool{"a.gen": true, "sub/keep.gen": false, "sub/a.gen": true, "sub/top": true, "sub/x/top": false, "top": false, "keep.gen": true} {
		if got := l.Ignored(path, false); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

func FuzzIgnored(f *testing.F) {
	f.Add("**/a*b*c/[x-", "a/b/c")
	f.Add(strings.Repeat("*a", 100), strings.Repeat("a", 200))
	f.Add(strings.Repeat("**/", 50)+"x", strings.Repeat("a/", 50)+"y")
	f.Fuzz(func(t *testing.T, rules, path string) {
		if len(path) > 4096 {
			return
		}
		start := time.Now()
		l := (*ignore.List)(nil).With("", rules)
		first := l.Ignored(path, false)
		if took := time.Since(start); took > 2*time.Second {
			t.Fatalf("took %v", took)
		}
		if l.Ignored(path, false) != first {
			t.Fatal("two answers")
		}
	})
}
