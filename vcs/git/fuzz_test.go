package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/vcs/git"
)

// FuzzAttributes looks for rules that we and git read differently.
func FuzzAttributes(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("no git binary")
	}
	for _, s := range []string{"*.o text", "a/** eol=crlf -text", "\"a b\" text\n* !text", "* binary", "a/ text", "!a text", "[attr]x text\n* x", "**/b text=auto", "# c\n a text"} {
		f.Add(s, "a/b")
	}
	dir := f.TempDir()
	gitRun(f, dir, "init", "-q", "--bare")
	f.Fuzz(func(t *testing.T, file, name string) {
		if git.ValidatePath(name) != nil || strings.ContainsAny(name, "\n\r") || strings.ContainsAny(file, "\x00\r\v\f\"") || len(file) > 80 || strings.HasPrefix(name, ":") || strings.Contains(file, "\ufeff") {
			t.Skip()
		}
		must(t, os.MkdirAll(filepath.Join(dir, "info"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "info/attributes"), []byte(file+"\n"), 0o644))
		cmd := exec.Command("git", "check-attr", "-z", "text", "--", name)
		cmd.Dir, cmd.Env = dir, gitEnv()
		out, err := cmd.Output()
		if err != nil || strings.Count(string(out), "\x00") != 3 {
			t.Skip()
		}
		want := strings.Split(string(out), "\x00")[2]
		got, ok := git.Attr(file+"\n", name, "text")
		switch {
		case !ok:
			got = "unspecified"
		case got == "true":
			got = "set"
		case got == "false":
			got = "unset"
		}
		if got != want {
			t.Errorf("%q for %q: %q, git says %q", file, name, got, want)
		}
	})
}

// FuzzDiff checks that a diff turns the old text into the new one.
func FuzzDiff(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc\n")
	f.Add("", "x")
	f.Add("x", "")
	f.Add("a\na\na\nb\n", "b\na\na")
	f.Add(strings.Repeat("a\n", 30)+"x\n"+strings.Repeat("b\n", 30), "y\n"+strings.Repeat("a\n", 30)+strings.Repeat("b\n", 29))
	f.Fuzz(func(t *testing.T, a, b string) {
		if got := applyHunks(t, a, git.DiffText(a, b)); got != b {
			t.Errorf("diff of %q and %q gives %q", a, b, got)
		}
	})
}

// applyHunks applies a unified diff strictly.
func applyHunks(t *testing.T, a, diff string) string {
	t.Helper()
	var out strings.Builder
	old, at := strings.SplitAfter(a, "\n"), 0
	lines := strings.SplitAfter(diff, "\n")
	for i, l := range lines {
		text := l[min(len(l), 1):]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\`) {
			text = strings.TrimSuffix(text, "\n")
		}
		switch {
		case l == "" || l[0] == '\\':
		case l[0] == '@':
			first, count, _ := strings.Cut(strings.Fields(l)[1][1:], ",")
			start := atoi(first) - 1
			if count == "0" {
				start++
			}
			for ; at < start; at++ {
				out.WriteString(old[at])
			}
		case l[0] == '+':
			out.WriteString(text)
		default:
			if at >= len(old) || old[at] != text {
				t.Fatalf("hunk does not apply at line %d: %q", at+1, l)
			}
			if l[0] == ' ' {
				out.WriteString(text)
			}
			at++
		}
	}
	return out.String() + strings.Join(old[at:], "")
}

// FuzzLink checks that a link we accept stays below the top, wherever the
// names in between lead within it.
func FuzzLink(f *testing.F) {
	for _, s := range []string{"../x", "a/../..", "/etc", "./a", "../../x", "a//b", "..", ""} {
		f.Add("d/l", s)
	}
	f.Fuzz(func(t *testing.T, p, target string) {
		if git.ValidatePath(p) != nil || git.Escapes(p, target) {
			return
		}
		if joined := filepath.Join(filepath.Dir(p), target); filepath.IsAbs(target) || !filepath.IsLocal(joined) {
			t.Errorf("%q -> %q accepted", p, target)
		}
		if i := strings.LastIndex(target, ".."); i > 0 && strings.Trim(target[:i], "./") != "" && strings.HasPrefix(target[i:], "../") && target[i-1] == '/' {
			t.Errorf("%q -> %q goes up behind a name", p, target)
		}
	})
}
