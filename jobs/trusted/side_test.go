package trusted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/edit"
	"github.com/greenwright/greenwright/agent/tool/files"
	"github.com/greenwright/greenwright/agent/tool/history"
	"github.com/greenwright/greenwright/agent/tool/restore"
	"github.com/greenwright/greenwright/agent/tool/workspace"
	"github.com/greenwright/greenwright/jobs/trusted"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

var (
	_ tool.Differ       = (*trusted.Side)(nil)
	_ tool.Historian    = (*trusted.Side)(nil)
	_ tool.Restorer     = (*trusted.Side)(nil)
	_ agent.TreeHasher  = (*trusted.Side)(nil)
	_ agent.Snapshotter = (*trusted.Side)(nil)
)

// bench is an adopted directory with the tools over it.
type bench struct {
	dir  string
	side *trusted.Side
	reg  *tool.Registry
	deep int // how often history was brought in
}

func gitIn(t *testing.T, dir string, n int, args ...string) string {
	t.Helper()
	date := fmt.Sprintf("%d +0000", 1_700_000_000+n*86_400)
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C",
		"GIT_AUTHOR_NAME=Ann\x1b[31m Red", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.com",
		"GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git binary to make a repository with")
	}
	b := &bench{dir: t.TempDir()}
	gitIn(t, b.dir, 0, "init", "-q", "-b", "main")
	for n := range 3 {
		put(t, b.dir, "a.txt", strings.Repeat("x\n", n)+"last\n")
		put(t, b.dir, fmt.Sprintf("d/f%d", n), "f\n")
		put(t, b.dir, ".gitignore", "*.log\n")
		gitIn(t, b.dir, n, "add", "-A")
		gitIn(t, b.dir, n, "commit", "-q", "-m", fmt.Sprintf("change %d\n\nwhy \x1b[2Jit was", n))
	}
	put(t, b.dir, "theirs.log", "results\n")
	put(t, b.dir, "a.txt", "not committed\n")
	ctx := t.Context()
	info, err := git.OpenLocal(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := git.New(git.Config{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	m, err := store.Mirror(vcs.RepoRef{Forge: vcs.Local, Owner: "local", Name: "bench"})
	if err != nil {
		t.Fatal(err)
	}
	remote := vcs.Remote{URL: b.dir}
	if _, err := m.Fetch(ctx, remote, info.Head); err != nil {
		t.Fatal(err)
	}
	ws, err := m.Adopt(ctx, info.Head, b.dir, git.CheckoutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	snaps, err := ws.Snapshots(ctx, git.SnapshotOptions{Dir: filepath.Join(t.TempDir(), "s")})
	if err != nil {
		t.Fatal(err)
	}
	b.side = trusted.New(trusted.Config{Mirror: m, Workspace: ws, Snapshots: snaps, Deepen: func(ctx context.Context) error {
		b.deep++
		return m.Deepen(ctx, remote, trusted.HistoryDepth, info.Head)
	}})
	view, err := workspace.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = view.Close(), snaps.Close(), ws.Close() })
	b.reg, err = tool.NewRegistry(history.New(b.side), history.NewLog(b.side), history.NewBlame(b.side), restore.New(b.side), files.NewRead(view), edit.NewEdit(view))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) call(t *testing.T, name string, args map[string]any) tool.Result {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return b.reg.Run(t.Context(), tool.Call{Name: name, Args: raw})
}

func (b *bench) ok(t *testing.T, name string, args map[string]any) tool.Result {
	t.Helper()
	res := b.call(t, name, args)
	if !res.OK {
		t.Fatalf("%s %v: %s", name, args, res.Text)
	}
	return res
}

func (b *bench) file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestAdoptedAsItIs: changes that were there belong to the state that a
// restore goes back to, and nothing is written at adoption.
func TestAdoptedAsItIs(t *testing.T) {
	b := newBench(t)
	if diff := b.ok(t, "git_diff", nil).Text; !strings.Contains(diff, "+not committed") {
		t.Errorf("difference: %s", diff)
	}
	put(t, b.dir, "a.txt", "by the run\n")
	put(t, b.dir, "new.log", "by the run\n")
	id, err := b.side.Take(t.Context(), "after step 1")
	if err != nil {
		t.Fatal(err)
	}
	list := b.ok(t, "restore", nil).Text
	if !strings.Contains(list, "start") || !strings.Contains(list, id+"  after step 1") {
		t.Errorf("list: %s", list)
	}
	res := b.ok(t, "restore", map[string]any{"snapshot": "start"})
	if len(res.Effects) != 2 || !strings.Contains(res.Text, "removed new.log") || !strings.Contains(res.Text, "To undo this: snapshot "+id) {
		t.Errorf("%+v\n%s", res.Effects, res.Text)
	}
	if got := b.file(t, "a.txt"); got != "not committed\n" {
		t.Errorf("a.txt is %q", got)
	}
	if got := b.file(t, "theirs.log"); got != "results\n" {
		t.Errorf("theirs.log is %q", got)
	}
	if res = b.ok(t, "restore", map[string]any{"snapshot": "start"}); len(res.Effects) > 0 || !strings.Contains(res.Text, "No file differs") {
		t.Errorf("again: %s", res.Text)
	}
	b.ok(t, "restore", map[string]any{"snapshot": id, "paths": []string{"./a.txt"}})
	if got := b.file(t, "a.txt"); got != "by the run\n" {
		t.Errorf("undone: %q", got)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "new.log")); err == nil {
		t.Error("a path that was not named was restored")
	}
}

func TestRestoreRefuses(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		args map[string]any
		code tool.Code
	}{
		{map[string]any{"snapshot": "s77"}, tool.CodeInvalidArgs},
		{map[string]any{"paths": []string{"a.txt"}}, tool.CodeInvalidArgs},
		{map[string]any{"snapshot": "start", "paths": []string{"nowhere"}}, tool.CodeFileNotFound},
		{map[string]any{"snapshot": "start", "paths": []string{"../x"}}, tool.CodePathOutsideWorkspace},
		{map[string]any{"snapshot": "start", "paths": []string{"/etc/passwd"}}, tool.CodePathOutsideWorkspace},
		{map[string]any{"snapshot": "start", "paths": []string{".git/config"}}, tool.CodeProtectedPath},
	} {
		if res := b.call(t, "restore", c.args); res.Code != c.code {
			t.Errorf("%v: %s %s, want %s", c.args, res.Code, res.Text, c.code)
		}
	}
}

// TestRestoreSaysWhatIsLeft: a nested repository that the run made stays.
func TestRestoreSaysWhatIsLeft(t *testing.T) {
	b := newBench(t)
	put(t, b.dir, "sub/.git/HEAD", "ref: refs/heads/main\n")
	put(t, b.dir, "sub/file", "f\n")
	res := b.ok(t, "restore", map[string]any{"snapshot": "last"})
	if !strings.Contains(res.Text, "1 path not as then") || !strings.Contains(res.Text, "sub: holds something that is not kept") {
		t.Errorf("text: %s", res.Text)
	}
}

// TestReadsStayHonest: marks hold contents, so a file that a restore brought
// back to what was shown may be edited, and one that it changed may not.
func TestReadsStayHonest(t *testing.T) {
	b := newBench(t)
	b.ok(t, "read_file", map[string]any{"path": "a.txt"})
	put(t, b.dir, "a.txt", "by a command\n")
	id, err := b.side.Take(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	b.ok(t, "restore", map[string]any{"snapshot": "start"})
	b.ok(t, "edit_file", map[string]any{"path": "a.txt", "old_string": "not", "new_string": "now"})
	b.ok(t, "restore", map[string]any{"snapshot": id})
	if res := b.call(t, "edit_file", map[string]any{"path": "a.txt", "old_string": "by a", "new_string": "by no"}); res.OK {
		t.Errorf("a file that was never shown as it is was edited: %s", res.Text)
	}
}

var day = regexp.MustCompile(`^[0-9a-f]{12} 2023-11-1[4-9] Ann Red: change 2`)

func TestHistoryTools(t *testing.T) {
	b := newBench(t)
	log := b.ok(t, "git_log", nil).Text
	if !day.MatchString(log) || strings.Contains(log, "\x1b") || strings.Contains(log, "example.com") || strings.Count(log, ": change ") != 3 {
		t.Errorf("log: %q", log)
	}
	if !strings.Contains(log, "files: a.txt, d/f2") || !strings.Contains(log, "it was") {
		t.Errorf("log: %q", log)
	}
	one := b.ok(t, "git_log", map[string]any{"path": "d/f1", "limit": 5}).Text
	if strings.Count(one, ": change ") != 1 || !strings.Contains(one, "change 1") {
		t.Errorf("log of d/f1: %q", one)
	}
	if text := b.ok(t, "git_log", map[string]any{"text": "CHANGE 0"}).Text; !strings.Contains(text, ": change 0") || strings.Contains(text, ": change 1") {
		t.Errorf("log by text: %q", text)
	}
	blame := b.ok(t, "git_blame", map[string]any{"path": "a.txt"}).Text
	if lines := strings.Split(strings.TrimSpace(blame), "\n"); len(lines) != 3 || !strings.HasPrefix(lines[2], "3\t") || !strings.HasSuffix(lines[2], "2023-11-14 Ann Red\tlast") {
		t.Errorf("blame: %q", blame)
	}
	if res := b.call(t, "git_blame", map[string]any{"path": "nowhere"}); res.Code != tool.CodeFileNotFound {
		t.Errorf("blame of no file: %s", res.Text)
	}
	if res := b.call(t, "git_blame", map[string]any{"path": "a.txt", "from": 90}); res.Code != tool.CodeInvalidArgs || !strings.Contains(res.Text, "lines 1 to 3") {
		t.Errorf("blame of no line: %s", res.Text)
	}
	if b.deep != 1 {
		t.Errorf("history was brought in %d times", b.deep)
	}
}

func TestShallowHistoryIsSaid(t *testing.T) {
	b := newBench(t)
	info, err := git.OpenLocal(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	store, err := git.New(git.Config{Dir: t.TempDir()}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	m, err := store.Mirror(vcs.RepoRef{Forge: vcs.Local, Owner: "local", Name: "bench"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fetch(t.Context(), vcs.Remote{URL: b.dir}, info.Head); err != nil {
		t.Fatal(err)
	}
	ws, err := m.Adopt(t.Context(), info.Head, b.dir, git.CheckoutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	side := trusted.New(trusted.Config{Mirror: m, Workspace: ws, Deepen: func(context.Context) error { return errors.New("no network") }})
	reg, err := tool.NewRegistry(history.NewLog(side), history.NewBlame(side))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"git_log": "there may be more: older history could not be fetched", "git_blame": "too new a commit"} {
		res := reg.Run(t.Context(), tool.Call{Name: name, Args: json.RawMessage(`{"path":"a.txt"}`)})
		if !res.OK || !strings.Contains(res.Text, want) {
			t.Errorf("%s: %s", name, res.Text)
		}
	}
}
