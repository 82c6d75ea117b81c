package edit_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/edit"
)

func TestPatchNeedsToHaveSeen(t *testing.T) {
	long := strings.Repeat("line\n", 300)
	b := newBench(t, map[string]string{"f": "head\n" + long + "target\n" + "tail\n"})
	patch := map[string]any{"patch": update("@@\n line\n-target\n+hit\n tail\n")}
	want := func(code tool.Code) {
		t.Helper()
		if res := b.call("apply_patch", patch); res.Code != code {
			t.Fatalf("%s, want %s: %s", res.Code, code, res.Text)
		}
	}
	want(tool.CodeNotRead)
	b.call("read_file", map[string]any{"path": "f", "limit": 10})
	want(tool.CodeNotRead)
	b.call("read_file", map[string]any{"path": "f", "offset": 290})
	b.put("f", strings.Replace(b.tree()["f"], "target\n", "target\ninserted\n", 1))
	want(tool.CodeNoMatch) // the context is no longer there
	b.put("f", "head\n"+long+"target\ntail\nmore\n")
	want(tool.CodeOK)
	patch = map[string]any{"patch": update("@@\n-hit\n+hit twice\n")}
	want(tool.CodeOK)
	b.registry.Forget("apply_patch", []byte(`{"patch":"*** Begin Patch\n*** Update File: f\n@@\n-hit\n+hit twice\n*** End Patch"}`))
	patch = map[string]any{"patch": update("@@\n-hit twice\n+x\n")}
	want(tool.CodeNotRead)
	b.put("f", strings.Replace(b.tree()["f"], "tail", "TAIL", 1))
	patch = map[string]any{"patch": update("@@\n-TAIL\n+x\n")}
	want(tool.CodeStaleFile)
}

func TestStaleShowsWhatChanged(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\ntwo\nthree\n"})
	b.call("read_file", map[string]any{"path": "f"})
	b.put("f", "one\nTWO\nthree\n")
	res := b.call("edit_file", map[string]any{"path": "f", "old_string": "TWO", "new_string": "2"})
	if res.Code != tool.CodeStaleFile || !strings.Contains(res.Text, "-    2│two\n+    2│TWO\n") {
		t.Errorf("%s", res.Text)
	}
}

func TestOwnEditIsNamed(t *testing.T) {
	b := newBench(t, map[string]string{"f": "one\ntwo\n"})
	b.call("read_file", map[string]any{"path": "f"})
	change := map[string]any{"path": "f", "old_string": "two", "new_string": "2"}
	b.call("edit_file", change)
	if res := b.call("edit_file", change); res.Code != tool.CodeNoMatch || !strings.Contains(res.Text, "your edit number 1 of this file") {
		t.Errorf("%s", res.Text)
	}
}

func TestLargeDeleteMustBeMeant(t *testing.T) {
	var long strings.Builder
	for i := range 150 {
		long.WriteString(strings.Repeat("x", i+1) + "\n")
	}
	lines := strings.SplitAfter(long.String(), "\n")
	var hunk strings.Builder
	hunk.WriteString("@@\n")
	for _, l := range lines[10:140] {
		hunk.WriteString("-" + l)
	}
	calls := map[string]map[string]any{
		"apply_patch": {"patch": update(hunk.String())},
		"edit_file":   {"path": "f", "old_string": strings.Join(lines[10:140], ""), "new_string": ""},
		"write_file":  {"path": "f", "content": "x\n", "overwrite": true},
	}
	for name, args := range calls {
		b := newBench(t, map[string]string{"f": long.String()})
		b.call("read_file", map[string]any{"path": "f"})
		if res := b.call(name, args); res.Code != tool.CodeConflict || !strings.Contains(res.Text, "confirm_large_delete") {
			t.Errorf("%s: %s", name, res.Text)
		}
		args["confirm_large_delete"] = true
		if res := b.call(name, args); !res.OK {
			t.Errorf("%s: %s", name, res.Text)
		}
	}
}

func TestSyntaxIsTold(t *testing.T) {
	b := newBench(t, map[string]string{"f.go": "package f\n\nfunc a() {\n}\n"})
	b.call("read_file", map[string]any{"path": "f.go"})
	calls := []struct {
		tool   string
		args   map[string]any
		faults int // zero or some
	}{
		{"edit_file", map[string]any{"path": "f.go", "old_string": "func a() {", "new_string": "func a() {{"}, 1},
		{"edit_file", map[string]any{"path": "f.go", "old_string": "func a", "new_string": "func b"}, 0}, // no new one
		{"apply_patch", map[string]any{"patch": v4a("*** Add File: g.json\n+{\"a\": }\n")}, 1},
		{"write_file", map[string]any{"path": "h.yaml", "content": "a: [1\nb: 2\n"}, 1},
	}
	for _, c := range calls {
		res := b.call(c.tool, c.args)
		edited, ok := res.Data.(edit.Edited)
		if !res.OK || !ok || (len(edited.Syntax) > 0) != (c.faults > 0) || len(res.Effects) != 1 {
			t.Errorf("%v: %+v, %+v", c.args, edited, res)
		}
		if strings.Contains(res.Text, "SYNTAX_BROKEN") != (c.faults > 0) {
			t.Errorf("%s", res.Text)
		}
	}
}

func TestMoveAndDelete(t *testing.T) {
	b := newBench(t, map[string]string{"a": "a\n", "b": "b\n", "dir/c": "c\n"})
	if err := os.Symlink("b", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../outside", filepath.Join(b.dir, "out")); err != nil {
		t.Fatal(err)
	}
	b.call("read_file", map[string]any{"path": "a"})
	steps := []struct {
		tool string
		args map[string]any
		code tool.Code
	}{
		{"move_file", map[string]any{"from": "a", "to": "b"}, tool.CodeFileExists},
		{"move_file", map[string]any{"from": "a", "to": "new/dir/a"}, tool.CodeOK},
		{"edit_file", map[string]any{"path": "new/dir/a", "old_string": "a", "new_string": "x"}, tool.CodeOK}, // still read
		{"move_file", map[string]any{"from": "dir", "to": "dir2"}, tool.CodeIsDirectory},
		{"move_file", map[string]any{"from": "gone", "to": "x"}, tool.CodeFileNotFound},
		{"move_file", map[string]any{"from": "b", "to": "../x"}, tool.CodePathOutsideWorkspace},
		{"move_file", map[string]any{"from": "link", "to": "link2"}, tool.CodeOK},
		{"move_file", map[string]any{"from": "b", "to": "b"}, tool.CodeNoChange},
		{"delete_file", map[string]any{"path": "out"}, tool.CodeOK},
		{"delete_file", map[string]any{"path": "link2"}, tool.CodeOK},
		{"delete_file", map[string]any{"path": "dir"}, tool.CodeIsDirectory},
		{"delete_file", map[string]any{"path": "link2"}, tool.CodeFileNotFound},
		{"delete_file", map[string]any{"path": "dir/c"}, tool.CodeOK},
	}
	for _, s := range steps {
		if res := b.call(s.tool, s.args); res.Code != s.code {
			t.Errorf("%s %v: %s", s.tool, s.args, res.Text)
		}
	}
	if diff := cmp.Diff(map[string]string{"b": "b\n", "new/dir/a": "x\n"}, b.tree()); diff != "" {
		t.Error(diff)
	}
}

func TestTwinsAreReported(t *testing.T) {
	b := newBench(t, map[string]string{"Readme.md": "x\n", "caf\u00e9": "x\n"})
	for name, twin := range map[string]string{"README.md": "Readme.md", "cafe\u0301": "caf\u00e9"} {
		if res := b.call("write_file", map[string]any{"path": name, "content": "y\n"}); !res.OK || !strings.Contains(res.Text, "there is "+twin) {
			t.Errorf("%s", res.Text)
		}
	}
	if res := b.call("edit_file", map[string]any{"path": "readme.MD", "old_string": "a", "new_string": "b"}); !strings.Contains(res.Text, "Readme.md") {
		t.Errorf("%s", res.Text)
	}
}
