package workspace_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// snapshot is every entry below dir with its kind, mode and content.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			all[rel] = "directory"
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			all[rel] = "to " + target
			return err
		default:
			data, err := os.ReadFile(p)
			all[rel] = info.Mode().String() + " " + string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func open(t *testing.T, tree map[string]string) (string, *workspace.Workspace) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range tree {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return dir, ws
}

func at(name string) workspace.Path { return workspace.Path{Name: name, Real: name} }

func TestCommitIsAllOrNothing(t *testing.T) {
	tree := map[string]string{"a": "a", "b": "b", "c": "c", "full/x": "x", "d/e": "e"}
	good := []workspace.FileChange{
		{Path: at("a"), Content: []byte("A"), Before: []byte("a")},
		{Path: at("new/dir/n"), Content: []byte("n"), Mode: 0o755},
		{Path: at("b"), Gone: true, Before: []byte("b")},
		{Path: at("moved/c"), From: "c", Before: []byte("c")},
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	cases := []struct {
		name string
		ctx  context.Context
		bad  workspace.FileChange
	}{
		{"onto a directory that is not empty", t.Context(), workspace.FileChange{Path: at("full"), Content: []byte("f")}},
		{"below a file", t.Context(), workspace.FileChange{Path: at("d/e/f"), Content: []byte("f")}},
		{"a file that is gone", t.Context(), workspace.FileChange{Path: at("gone"), Gone: true}},
		{"a source that is gone", t.Context(), workspace.FileChange{Path: at("z"), From: "gone"}},
		{"too large", t.Context(), workspace.FileChange{Path: at("z"), Content: make([]byte, workspace.MaxFileBytes+1)}},
		{"canceled", canceled, workspace.FileChange{Path: at("z"), Content: []byte("z")}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir, ws := open(t, tree)
			before := snapshot(t, dir)
			inode, err := os.Stat(filepath.Join(dir, "a"))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ws.Commit(c.ctx, append(good[:len(good):len(good)], c.bad)); err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(before, snapshot(t, dir)); diff != "" {
				t.Error(diff)
			}
			if now, err := os.Stat(filepath.Join(dir, "a")); err != nil || !os.SameFile(inode, now) {
				t.Errorf("the file was put back as another one, %v", err)
			}
		})
	}
	dir, ws := open(t, tree)
	effects, err := ws.Commit(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		".": "directory", "a": "-rw-r----- A", "new": "directory", "new/dir": "directory", "new/dir/n": "-rwxr-xr-x n",
		"moved": "directory", "moved/c": "-rw-r----- c", "full": "directory", "full/x": "-rw-r----- x", "d": "directory", "d/e": "-rw-r----- e",
	}
	if diff := cmp.Diff(want, snapshot(t, dir)); diff != "" {
		t.Error(diff)
	}
	sum := func(s string) string { return workspace.Hash([]byte(s)) }
	wantEffects := []tool.FileEffect{
		{Path: "a", Before: sum("a"), After: sum("A")}, {Path: "new/dir/n", After: sum("n")}, {Path: "b", Before: sum("b")},
		{Path: "c", Before: sum("c")}, {Path: "moved/c", After: sum("c")},
	}
	if diff := cmp.Diff(wantEffects, effects); diff != "" {
		t.Error(diff)
	}
}

// TestSpecialModeBitsStay when a file is written again or moved with a change;
// a new file in its place does not get them.
func TestSpecialModeBitsStay(t *testing.T) {
	dir, ws := open(t, map[string]string{"edit": "e", "moved": "m", "chmod": "c", "new": "n"})
	const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky
	for _, name := range []string{"edit", "moved", "chmod", "new"} {
		if err := os.Chmod(filepath.Join(dir, name), special|0o750); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode()&special != special {
			t.Skipf("SKIPPED: the file system or this user cannot set special bits: %v, %v", info.Mode(), err)
		}
	}
	if _, err := ws.Commit(t.Context(), []workspace.FileChange{
		{Path: at("edit"), Content: []byte("E")},
		{Path: at("to"), Content: []byte("M"), Like: "moved"},
		{Path: at("chmod"), Content: []byte("C"), Like: "chmod", Mode: 0o755},
		{Path: at("new"), Content: []byte("N"), Mode: 0o644},
	}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{"edit": special | 0o750, "to": special | 0o750, "chmod": special | 0o755, "new": 0o644} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
			t.Errorf("%s is %v, want %v, %v", name, info.Mode(), want, err)
		}
	}
}

func TestAbsolutePathsBelowTheRoot(t *testing.T) {
	dir, ws := open(t, map[string]string{"d/a": "a"})
	if got, err := read(ws, filepath.Join(dir, "d", "a")); got != "a" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{dir + "-escape/x", dir + "/../x", "/"} {
		if _, err := ws.Resolve(name); workspace.Result(err).Code != tool.CodePathOutsideWorkspace {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadsFollowMovesAndEdits(t *testing.T) {
	_, ws := open(t, nil)
	r := ws.Reads()
	r.Show("a", "1\n2\n3\n", 0, 3)
	r.Show("b", "x\n", 0, 1)
	r.Move([2]string{"a", "b"}, [2]string{"b", "a"})
	if r.Covers("b", "1\n2\n3\n", 0, 3) != workspace.Fresh || r.Covers("a", "x\n", 0, 1) != workspace.Fresh {
		t.Error("marks did not change places")
	}
	r.Edited("b", "1\n2\n3\n", "1\ntwo\n3\n", []workspace.Change{{From: 1, Old: 1, New: 1}})
	if n, found := r.Removed("b", "2\n"); n != 1 || !found {
		t.Errorf("removed by %d, %v", n, found)
	}
	r.ForgetText("b", "two\r\n")
	if r.Covers("b", "1\ntwo\n3\n", 1, 2) != workspace.NotRead || r.Covers("b", "1\ntwo\n3\n", 2, 3) != workspace.Fresh {
		t.Error("forgot the wrong lines")
	}
	if body, known := r.Last("b"); body != "1\ntwo\n3\n" || !known {
		t.Errorf("last %q", body)
	}
	r.Drop("b")
	if r.Known("b") {
		t.Error("known after it is gone")
	}
	for i := range 200 { // far over what is kept
		r.Show(strings.Repeat("n", i+1), strings.Repeat("y\n", 60_000), 0, 1)
	}
	if _, known := r.Last("nnn"); !known {
		t.Error("the first contents are not kept")
	}
	if _, known := r.Last(strings.Repeat("n", 200)); known {
		t.Error("everything is kept")
	}
}
