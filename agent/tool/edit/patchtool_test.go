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

// TestNoNULIsWritten into text, which would then read as binary.
func TestNoNULIsWritten(t *testing.T) {
	had := strings.Repeat("line\n", 2_000) + "\x00 here\n"
	tree := map[string]string{"f": "one\ntwo\n", "had": had}
	b := newBench(t, tree)
	b.readAll(tree)
	calls := []struct {
		tool string
		args map[string]any
	}{
		{"edit_file", map[string]any{"path": "f", "old_string": "one", "new_string": "o\x00e"}},
		{"write_file", map[string]any{"path": "f", "content": "o\x00e\n", "overwrite": true}},
		{"write_file", map[string]any{"path": "new", "content": "o\x00e\n"}},
		{"apply_patch", map[string]any{"patch": update("@@\n-one\n+o\x00e\n")}},
		{"apply_patch", map[string]any{"patch": v4a("*** Add File: new\n+o\x00e\n")}},
	}
	for _, c := range calls {
		if res := b.call(c.tool, c.args); res.Code != tool.CodeInvalidArgs || !strings.Contains(res.Text, "NUL") {
			t.Errorf("%s %q: %s", c.tool, c.args, res.Text)
		}
	}
	if diff := cmp.Diff(tree, b.tree()); diff != "" {
		t.Error(diff)
	}
	res := b.call("edit_file", map[string]any{"path": "had", "old_string": "\x00 here", "new_string": "\x00 there"})
	if !res.OK || !strings.HasSuffix(b.tree()["had"], "\x00 there\n") {
		t.Errorf("a file that has one: %s", res.Text)
	}
}

// TestAFileBelowAFile cannot be made, in whichever order it is asked for.
func TestAFileBelowAFile(t *testing.T) {
	tree := map[string]string{"old": "old\n", "kept": "kept\n"}
	patches := []string{
		"*** Add File: p/q\n+a\n*** Add File: p\n+b\n",
		"*** Add File: p\n+b\n*** Add File: p/q/r\n+a\n",
		"*** Update File: old\n*** Move to: p\n@@\n-old\n+new\n*** Add File: p/q\n+a\n",
		"*** Update File: kept\n@@\n-kept\n+k\n*** Add File: kept/q\n+a\n",
		"*** Add File: kept/q\n+a\n",
	}
	for _, patch := range patches {
		b := newBench(t, tree)
		b.readAll(tree)
		if res := b.call("apply_patch", map[string]any{"patch": v4a(patch)}); res.Code != tool.CodeParse && res.Code != tool.CodeConflict && res.Code != tool.CodeFileExists {
			t.Errorf("%q: %s", patch, res.Text)
		}
		if diff := cmp.Diff(tree, b.tree()); diff != "" {
			t.Error(diff)
		}
	}
	b := newBench(t, tree)
	if res := b.call("apply_patch", map[string]any{"patch": v4a("*** Delete File: old\n*** Add File: old/q\n+a\n")}); !res.OK {
		t.Errorf("a file that makes room: %s", res.Text)
	}
}

// TestInvisibleCharactersAreShown by read_file, search and edits, and a text
// copied with their marks is told what is wrong.
func TestInvisibleCharactersAreShown(t *testing.T) {
	b := newBench(t, map[string]string{"f": "if access != \"user\u202e \u2066// admin\u2069\" {\nplain \U000e0041\U000e007f tags\n"})
	res := b.call("read_file", map[string]any{"path": "f"})
	for _, want := range []string{"user⟨U+202E⟩ ⟨U+2066⟩// admin⟨U+2069⟩\" {", "plain ⟨U+E0041⟩⟨U+E007F⟩ tags"} {
		if !strings.Contains(res.Text, want) {
			t.Errorf("lacks %q: %s", want, res.Text)
		}
	}
	for name, args := range map[string]map[string]any{
		"edit_file":   {"path": "f", "old_string": "user⟨U+202E⟩ ", "new_string": "user "},
		"apply_patch": {"patch": update("@@\n-plain ⟨U+E0041⟩⟨U+E007F⟩ tags\n+plain tags\n")},
	} {
		if res := b.call(name, args); res.Code != tool.CodeNoMatch || !strings.Contains(res.Text, "invisible character") {
			t.Errorf("%s: %s", name, res.Text)
		}
	}
	res = b.call("edit_file", map[string]any{"path": "f", "old_string": "user\u202e \u2066// admin\u2069", "new_string": "user // admin"})
	if !res.OK || strings.ContainsRune(res.Text, 0x202e) || b.tree()["f"] != "if access != \"user // admin\" {\nplain \U000e0041\U000e007f tags\n" {
		t.Errorf("the characters themselves: %s", res.Text)
	}
}
