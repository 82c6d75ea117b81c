package ignore_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/tool/ignore"
)

// gitCase is a tree of files with up to two .gitignore files.
type gitCase struct {
	top, nested string // contents of .gitignore and a/.gitignore
}

// entries are the paths of every case; those that end in a slash are
// directories. Their names hold what patterns trip over.
var entries = []string{
	"a/", "a/b/", "a/b/c", "a/b/a/", "a/b/a/x.o", "a/x.o", "a/xa", "b/", "b/a", "b/b/", "b/b/x.o", "b/c d", "x.o", "xa", "c", "c ",
	"aab", "abb", "[a", "a]", "-", "#c", "!c", "\\c", "A", "B/", "B/x.O", "a/é", "ab/", "ab/c", "a/ab/", "a/ab/c", "a\tb", "**", "*",
}

// git runs git in dir without anyone's configuration.
func git(dir string, stdin []byte, args ...string) ([]byte, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+dir, "GIT_DIR="+filepath.Join(dir, ".git"), "GIT_WORK_TREE="+dir)
	return cmd.Output()
}

// askGit lays the cases out side by side in one repository, so that one
// process of git answers for all, and returns what it ignores.
func askGit(t *testing.T, cases []gitCase) map[string]bool {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed, so nothing was compared")
	}
	dir := t.TempDir()
	if _, err := git(dir, nil, "init", "-q"); err != nil {
		t.Skipf("SKIPPED: git init does not work here: %v", err)
	}
	var ask bytes.Buffer
	for i, c := range cases {
		root := filepath.Join(dir, fmt.Sprint("case", i))
		for _, e := range entries {
			full := filepath.Join(root, e)
			if strings.HasSuffix(e, "/") {
				check(t, os.MkdirAll(full, 0o755))
			} else {
				check(t, os.WriteFile(full, nil, 0o600))
			}
			fmt.Fprintf(&ask, "case%d/%s\x00", i, strings.TrimSuffix(e, "/"))
		}
		check(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte(c.top), 0o600))
		check(t, os.WriteFile(filepath.Join(root, "a/.gitignore"), []byte(c.nested), 0o600))
	}
	out, err := git(dir, ask.Bytes(), "check-ignore", "--no-index", "-z", "--stdin")
	if exit := new(exec.ExitError); err != nil && (!asExit(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("git check-ignore: %v", err)
	}
	ignored := make(map[string]bool)
	for p := range strings.SplitSeq(string(out), "\x00") {
		ignored[p] = true
	}
	return ignored
}

func asExit(err error, target **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError) //nolint:errorlint // Output returns it bare
	*target = e
	return ok
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ours answers as the walk does: top down, with the rules of each directory.
func (c gitCase) ours(entry string) bool {
	isDir := strings.HasSuffix(entry, "/")
	path := strings.TrimSuffix(entry, "/")
	rules := (*ignore.List)(nil).With("", c.top)
	if strings.HasPrefix(path, "a/") {
		if rules.Ignored("a", true) {
			return true
		}
		rules = rules.With("a", c.nested)
	}
	return ignored(rules, path, isDir)
}

// random writes patterns out of pieces that interact.
func random(r *rand.Rand) string {
	pieces := []string{
		"a", "b", "c", "ab", "x.o", "*", "**", "***", "?", "/", "/", "**/", "/**", "/**/", "[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[a", "[[:alpha:]]",
		"[[:nope:]]", "[[:", "[a-]", `[\]a]`, `[+--]`, "[/]", `\`, `\a`, `\*`, `\ `, " ", "!", "#", "A", "é", "\t", ".", "-", "]", `\\`, "/.", `\/`,
	}
	var b strings.Builder
	for range r.IntN(4) + 1 {
		if r.IntN(4) == 0 {
			b.WriteByte('!')
		}
		for range r.IntN(5) + 1 {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		if r.IntN(4) == 0 {
			b.WriteByte('/')
		}
		b.WriteString([]string{"\n", "\n", "\n", "\r\n", " \n", "  \n", "\r\r\n"}[r.IntN(7)])
	}
	return b.String()
}

func compare(t *testing.T, cases []gitCase) (compared, ignoredCount int) {
	t.Helper()
	want := askGit(t, cases)
	failures := 0
	for i, c := range cases {
		for _, e := range entries {
			compared++
			w := want[fmt.Sprintf("case%d/%s", i, strings.TrimSuffix(e, "/"))]
			if w {
				ignoredCount++
			}
			if got := c.ours(e); got != w {
				if failures++; failures <= 20 {
					t.Errorf("%q: git says %v\n.gitignore %q\na/.gitignore %q", e, w, c.top, c.nested)
				}
			}
		}
	}
	if failures > 0 {
		t.Errorf("%d of %d answers differ", failures, compared)
	}
	return compared, ignoredCount
}

// TestAgainstGitAtRandom compares some thousand random cases. It means to
// differ from git nowhere.
func TestAgainstGitAtRandom(t *testing.T) {
	n := 1200
	if testing.Short() {
		n = 200
	}
	seed := uint64(2026)
	if s, err := strconv.ParseUint(os.Getenv("IGNORE_SEED"), 10, 64); err == nil {
		seed = s
	}
	r := rand.New(rand.NewPCG(4, seed))
	cases := make([]gitCase, n)
	for i := range cases {
		cases[i].top = random(r)
		if r.IntN(2) == 0 {
			cases[i].nested = random(r)
		}
	}
	compared, hits := compare(t, cases)
	t.Logf("%d cases, %d answers compared, %d of them ignored", n, compared, hits)
}

// FuzzAgainstGit takes the contents of both files from the fuzzer.
func FuzzAgainstGit(f *testing.F) {
	f.Add("*.o\n!a/x.o\n", "b/\n")
	f.Add("a**/c\n/a/**/x.o\n", "!*\n")
	f.Add("[[:alpha:]-]\n\\ \n", "[a-\n")
	f.Add("\xef\xbb\xbfc\n", "x.o\x00b\n")
	f.Fuzz(func(t *testing.T, top, nested string) {
		if len(top) > 300 || len(nested) > 300 { // longer lines are not read, by design
			return
		}
		compare(t, []gitCase{{top, nested}})
	})
}
