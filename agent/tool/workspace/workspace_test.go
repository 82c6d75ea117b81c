package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

func setUp(t *testing.T) (string, *workspace.Workspace) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	outside := dir + "-escape"
	for _, d := range []string{dir, outside, filepath.Join(dir, "sub"), filepath.Join(dir, ".git"), filepath.Join(dir, "sub/.git")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"a.txt": "a", "sub/b.txt": "b", ".git/config": "c", "../ws-escape/secret": "s"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{
		"in": "sub/b.txt", "chain": "in", "abs-in": "/workspace/sub/b.txt", "out": "../ws-escape/secret", "abs-out": "/etc/passwd",
		"dirout": "../ws-escape", "loop": "loop", "dangling": "nothing-here", "dangling-out": "../ws-escape/new", "gitdir": ".git", "sub/up": "..",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return dir, ws
}

func read(ws *workspace.Workspace, name string) (string, error) {
	p, err := ws.Resolve(name)
	if err != nil {
		return "", err
	}
	f, err := ws.Read(p)
	return string(f.Bytes), err
}

func TestReadIsHeldInside(t *testing.T) {
	_, ws := setUp(t)
	cases := []struct {
		path, want string
		code       tool.Code
	}{
		{"a.txt", "a", ""},
		{"./sub/../a.txt", "a", ""},
		{"/workspace/sub/b.txt", "b", ""},
		{"in", "b", ""},
		{"chain", "b", ""},
		{"abs-in", "b", ""},
		{"sub/up/a.txt", "a", ""},
		{"", "", tool.CodeInvalidArgs},
		{"a\x00b", "", tool.CodeInvalidArgs},
		{strings.Repeat("x", 300), "", tool.CodeInvalidArgs},
		{strings.Repeat("x/", 3000), "", tool.CodeInvalidArgs},
		{"../ws-escape/secret", "", tool.CodePathOutsideWorkspace},
		{"/etc/passwd", "", tool.CodePathOutsideWorkspace},
		{"/workspace/../etc/passwd", "", tool.CodePathOutsideWorkspace},
		{"/workspace-escape/secret", "", tool.CodePathOutsideWorkspace},
		{"out", "", tool.CodeSymlinkRefused},
		{"abs-out", "", tool.CodeSymlinkRefused},
		{"dirout/secret", "", tool.CodeSymlinkRefused},
		{"loop", "", tool.CodeSymlinkRefused},
		{".git/config", "", tool.CodeProtectedPath},
		{".GIT/config", "", tool.CodeProtectedPath},
		{"sub/.git/config", "", tool.CodeProtectedPath},
		{"gitdir/config", "", tool.CodeProtectedPath},
		{"fifo", "", tool.CodeProtectedPath},
		{"sub", "", tool.CodeIsDirectory},
		{"nothing", "", tool.CodeFileNotFound},
		{"a.txt/x", "", tool.CodeFileNotFound},
		{"dangling", "", tool.CodeFileNotFound},
	}
	for _, c := range cases {
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, err := read(ws, c.path)
			var code tool.Code
			if err != nil {
				code = workspace.Result(err).Code
			}
			if got != c.want || code != c.code {
				t.Errorf("%.40q = %q, %s (%v), want %q, %s", c.path, got, code, err, c.want, c.code)
			}
		}()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			t.Fatalf("%q blocks", c.path)
		}
	}
}

// TestGitLookAlikes are the names that git itself refuses, because some file
// system takes them for .git.
func TestGitLookAlikes(t *testing.T) {
	_, ws := setUp(t)
	for _, name := range []string{
		".g\u200cit/config", "\ufeff.git", "sub/.gi\u202et/x", ".G\u206fIT", "git~1/config", "GIT~1", ".git ", ".git./x", ".git::$INDEX_ALLOCATION/x",
	} {
		for how, resolve := range map[string]func(string) (workspace.Path, error){"file": ws.Resolve, "entry": ws.ResolveEntry} {
			if _, err := resolve(name); err == nil || workspace.Result(err).Code != tool.CodeProtectedPath {
				t.Errorf("%s %+q: %v", how, name, err)
			}
		}
	}
	for _, name := range []string{".gitignore", ".github/x", "git", "git~2", "git~10", "a.git", "\u200cx", ".gitx ", ".git-"} {
		if _, err := ws.Resolve(name); err != nil {
			t.Errorf("%+q: %v", name, err)
		}
	}
}

func TestShowLine(t *testing.T) {
	for line, want := range map[string]string{
		"plain\r\n": "plain", "a\rb\n": "a␍b", "\xffé\u202e\xfe\r\xff": "\xffé⟨U+202E⟩\xfe␍\xff", "\U000e0020\xf3": "⟨U+E0020⟩\xf3", "": "",
	} {
		if got := workspace.ShowLine(line); got != want {
			t.Errorf("%q is shown as %q, want %q", line, got, want)
		}
	}
}

func TestWritesAreHeldInside(t *testing.T) {
	dir, ws := setUp(t)
	for _, name := range []string{"out", "dirout/new", "dangling", "dangling-out", ".git/hooks/pre-commit", "../x", "fifo", "gitdir/x"} {
		p, err := ws.Resolve(name)
		if err == nil {
			_, err = ws.Commit(t.Context(), []workspace.FileChange{{Path: p, Content: []byte("evil")}})
		}
		if err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if data, err := os.ReadFile(dir + "-escape/secret"); err != nil || string(data) != "s" {
		t.Errorf("secret = %q, %v", data, err)
	}
	entries, err := os.ReadDir(dir + "-escape")
	if err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}

func TestLargeFileIsRefused(t *testing.T) {
	dir, ws := setUp(t)
	f, err := os.Create(filepath.Join(dir, "big"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(workspace.MaxFileBytes+1), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := read(ws, "big"); workspace.Result(err).Code != tool.CodeFileTooLarge {
		t.Errorf("error %v", err)
	}
}

func TestWalk(t *testing.T) {
	dir, ws := setUp(t)
	for name, text := range map[string]string{".gitignore": "*.log\nnode_modules/\n", "x.log": "", "sub/.gitignore": "!keep.log\n", "sub/keep.log": "", "sub/x.log": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "node_modules/m"), 0o755); err != nil {
		t.Fatal(err)
	}
	collect := func(from string) []string {
		var got []string
		if err := ws.Walk(context.Background(), from, false, func(e workspace.Entry) error {
			if e.Info.Mode().IsRegular() {
				got = append(got, e.Path)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if diff := cmp.Diff([]string{".gitignore", "a.txt", "sub/.gitignore", "sub/b.txt", "sub/keep.log"}, collect(".")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"sub/.gitignore", "sub/b.txt", "sub/keep.log"}, collect("sub")); diff != "" {
		t.Error(diff)
	}
}

func TestTreeHash(t *testing.T) {
	dir, ws := setUp(t)
	hash := func() string {
		t.Helper()
		h, err := ws.TreeHash(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	first := hash()
	if hash() != first {
		t.Error("an unchanged tree changed its name")
	}
	write("a.txt", "b")
	second := hash()
	write("a.txt", "a")
	if second == first || hash() != first {
		t.Error("content does not decide the name")
	}
	write(".git/x", "y")
	if hash() != first {
		t.Error(".git counts")
	}
	if err := os.Chmod(filepath.Join(dir, "a.txt"), 0o755); err != nil {
		t.Fatal(err)
	}
	if hash() == first {
		t.Error("the executable bit does not count")
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a\n", "\xef\xbb\xbfa", "\xff\xfea\x00", "\xfe\xff\x00a", "\xff\xfe\x00\xd8", "\xe9", "\xff\xfea"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := workspace.Decode(data)
		if err != nil {
			return
		}
		if got := text.Encode(text.Body); string(got) != string(data) {
			t.Fatalf("%q came back as %q (%s)", data, got, text.Encoding)
		}
	})
}
