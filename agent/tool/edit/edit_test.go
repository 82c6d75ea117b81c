package edit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/edit"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

func TestApply(t *testing.T) {
	cases := []struct {
		name, body string
		req        edit.Request
		want       string    // when it is applied
		step       edit.Step // of an applied edit
		code       tool.Code // of a refusal
	}{
		{"exact", "a b c", edit.Request{Old: "b", New: "x"}, "a x c", edit.StepExact, ""},
		{"delete", "a\nb\nc\n", edit.Request{Old: "b\n", New: ""}, "a\nc\n", edit.StepExact, ""},
		{"literal", "x", edit.Request{Old: "x", New: `$&\1`}, `$&\1`, edit.StepExact, ""},
		{"overlapping is ambiguous", "aaa", edit.Request{Old: "aa", New: "b"}, "", "", tool.CodeAmbiguous},
		{"all", "a-a-a", edit.Request{Old: "a", New: "b", All: true}, "b-b-b", edit.StepExact, ""},
		{"expected", "a-a-a", edit.Request{Old: "a", New: "b", Expected: 2}, "", "", tool.CodeAmbiguous},
		{"expected right", "a-a", edit.Request{Old: "a", New: "b", Expected: 2}, "b-b", edit.StepExact, ""},
		{"same", "a", edit.Request{Old: "a", New: "a"}, "", "", tool.CodeNoChange},
		{"same but for line ends", "a\r\n", edit.Request{Old: "a\n", New: "a\r\n"}, "", "", tool.CodeNoChange},
		{"empty old", "a", edit.Request{New: "b"}, "", "", tool.CodeFileExists},

		{"CRLF kept", "a\r\nb\r\nc\r\n", edit.Request{Old: "a\nb", New: "a\nx\ny"}, "a\r\nx\r\ny\r\nc\r\n", edit.StepExact, ""},
		{"mixed: each line keeps its own", "a\r\nb\nc\r\nd\n", edit.Request{Old: "a\nb\nc\n", New: "a\nX\nc\n"}, "a\r\nX\nc\r\nd\n", edit.StepExact, ""},
		{"mixed: a new line takes its neighbour's", "a\r\nb\nc\n", edit.Request{Old: "a\nb\n", New: "a\nnew\nb\n"}, "a\r\nnew\r\nb\nc\n", edit.StepExact, ""},
		{"one bare LF stays one", "a\r\nb\nc\r\n", edit.Request{Old: "c", New: "C"}, "a\r\nb\nC\r\n", edit.StepExact, ""},
		{"lone CR is data", "a\rb\nc\n", edit.Request{Old: "c", New: "d"}, "a\rb\nd\n", edit.StepExact, ""},
		{"no final newline stays so", "a\nb", edit.Request{Old: "a", New: "x"}, "x\nb", edit.StepExact, ""},
		{"new text decides at the end", "a\nb", edit.Request{Old: "b\n", New: "c\n"}, "a\nc\n", edit.StepTrailing, ""},

		{"trailing spaces", "a  \nb\t\nc\n", edit.Request{Old: "a\nb\n", New: "a\nB\n"}, "a  \nB\nc\n", edit.StepTrailing, ""},
		{"indent added", "\t\tif x {\n\t\t\ty()\n\t\t}\n", edit.Request{Old: "if x {\n\ty()\n}", New: "if x {\n\tz()\n\n\tw()\n}"}, "\t\tif x {\n\t\t\tz()\n\n\t\t\tw()\n\t\t}\n", edit.StepIndent, ""},
		{"indent removed", "a:\n  b\n", edit.Request{Old: "    a:\n      b", New: "    a:\n      c"}, "a:\n  c\n", edit.StepIndent, ""},
		{"tabs for spaces", "\tif x {\n\t\ty()\n\t}\n", edit.Request{Old: "    if x {\n        y()\n    }", New: "    if x {\n        z()\n    }"}, "\tif x {\n\t\tz()\n\t}\n", edit.StepIndent, ""},
		{"uneven indent refused", "  a\n    b\n", edit.Request{Old: "a\nb", New: "c\nd"}, "", "", tool.CodeNoMatch},
		{"typographic", "say “hi” – now\nkeep ‘this’\n", edit.Request{Old: "say \"hi\" - now\nkeep 'this'", New: "say \"ho\" - now\nkeep 'this'"}, "say \"ho\" - now\nkeep ‘this’\n", edit.StepTypographic, ""},
		{"blank line too many", "a\nb\n", edit.Request{Old: "\na\n", New: "\nx\n"}, "x\nb\n", edit.StepBlankEnds, ""},
		{"escapes", "a\n\t\"b\"\n", edit.Request{Old: `a\n\t\"b\"`, New: `a\n\t\"c\"`}, "a\n\t\"c\"\n", edit.StepEscapes, ""},
		{"lenient ambiguity refused", "  a\n  b\n\n  a\n  b\n", edit.Request{Old: "a\nb\n", New: "c\n"}, "", "", tool.CodeAmbiguous},
		{"a blank request matches nothing loosely", "a\n\nb\n", edit.Request{Old: "  \n", New: "x\n"}, "", "", tool.CodeNoMatch},
		{"huge trailing space refused", "a" + strings.Repeat(" ", 500) + "\nb\n", edit.Request{Old: "a\nb\n", New: "c\n"}, "", "", tool.CodeOversizedMatch},
		{"near miss refused", "foo(a, b)\n", edit.Request{Old: "foo(a,b)", New: "bar()"}, "", "", tool.CodeNoMatch},
		{"placeholder", "a\n", edit.Request{Old: "a", New: "b\n// ... rest of code unchanged ..."}, "", "", tool.CodePlaceholder},
		{"spread is no placeholder", "a\n", edit.Request{Old: "a", New: "f(a, ...rest)"}, "f(a, ...rest)\n", edit.StepExact, ""},
		{"lost character", "a\n", edit.Request{Old: "a", New: "caf\ufffd"}, "", "", tool.CodeNotUTF8},
		{"a character lost before", "a \ufffd\n", edit.Request{Old: "a \ufffd", New: "b \ufffd"}, "b \ufffd\n", edit.StepExact, ""},
		{"raw bytes", "caf\xe9 x\n", edit.Request{Old: "x", New: "y", Bytes: true}, "caf\xe9 y\n", edit.StepExact, ""},
		{"raw bytes are exact", "caf\xe9 x \n", edit.Request{Old: "  x\n", New: "y", Bytes: true}, "", "", tool.CodeNoMatch},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := edit.Apply(t.Context(), c.body, c.req)
			if c.code != "" {
				r, _ := errors.AsType[*edit.RefusalError](err)
				if r == nil || r.Code != c.code {
					t.Fatalf("error %v, body %q, want %s", err, got.Body, c.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Body); diff != "" || got.Step != c.step {
				t.Errorf("step %q: %s", got.Step, diff)
			}
		})
	}
}

func TestNoMatchShowsTheNearestPlace(t *testing.T) {
	body := "one\ntwo\n\tthree\nfour\nfive\n"
	_, err := edit.Apply(t.Context(), body, edit.Request{Old: "two\n  three!\nfour\n", New: "x\n"})
	r, _ := errors.AsType[*edit.RefusalError](err)
	if r == nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lines 2-4", "at line 3", "file: →three", "sent:   three!", "    5│five"} {
		if !strings.Contains(r.Detail, want) {
			t.Errorf("detail lacks %q:\n%s", want, r.Detail)
		}
	}
	_, err = edit.Apply(t.Context(), "a line of text\n", edit.Request{Old: "    1│a line of text", New: "x"})
	if err == nil || !strings.Contains(err.Error(), "line numbers") {
		t.Errorf("error %v", err)
	}
	_, err = edit.Apply(t.Context(), "x\nthe new content\n", edit.Request{Old: "the old content!", New: "the new content"})
	if err == nil || !strings.Contains(err.Error(), "already there, at line 2") {
		t.Errorf("error %v", err)
	}
}

// FuzzApply checks that whatever is asked, bytes outside of the changed lines
// stay, and that an exact single match is a byte-exact replacement.
func FuzzApply(f *testing.F) {
	f.Add("a\r\nb\nc", "b", "x\ny", false)
	f.Add("  a\n    b\n", "a\n  b", "c\n  d\n", false)
	f.Add("x\n\n\nx\n", "x\n", "", true)
	f.Add("\n\r\n\r", "\n", "\r\n\n", true)
	f.Add("“a”\n", "\"a\"", "b", false)
	f.Fuzz(func(t *testing.T, body, old, text string, all bool) {
		got, err := edit.Apply(t.Context(), body, edit.Request{Old: old, New: text, All: all})
		if err != nil {
			if got.Body != "" {
				t.Fatal("a refusal with a body")
			}
			return
		}
		if got.Body == body {
			t.Fatal("applied without a change")
		}
		checkOutside(t, body, got.Body, got.Changes)
		if !all && strings.Count(body, old) == 1 && !strings.Contains(body+old+text, "\r") && got.Body != strings.Replace(body, old, text, 1) {
			t.Fatalf("%q is not the exact replacement of %q by %q in %q", got.Body, old, text, body)
		}
	})
}

// checkOutside fails when a line outside of the changes is not as it was.
func checkOutside(t *testing.T, old, text string, changes []workspace.Change) {
	t.Helper()
	before, after := splitAfter(old), splitAfter(text)
	oldAt, newAt := 0, 0
	for _, c := range changes {
		keep := c.From - oldAt
		if keep < 0 || newAt+keep > len(after) {
			t.Fatalf("changes %+v do not fit", changes)
		}
		if diff := cmp.Diff(before[oldAt:c.From], after[newAt:newAt+keep]); diff != "" && !onlyEnds(before[oldAt:c.From], after[newAt:newAt+keep]) {
			t.Fatalf("bytes outside of the edit changed: %s", diff)
		}
		oldAt, newAt = c.From+c.Old, newAt+keep+c.New
	}
	if newAt > len(after) || oldAt > len(before) || cmp.Diff(before[oldAt:], after[newAt:]) != "" {
		t.Fatalf("bytes after the edit changed: %q to %q, %+v", old, text, changes)
	}
}

// onlyEnds says that the last line only got the newline that it lacked.
func onlyEnds(before, after []string) bool {
	n := len(before) - 1
	return !strings.HasSuffix(before[n], "\n") && cmp.Equal(before[:n], after[:n]) && strings.TrimRight(after[n], "\r\n") == strings.TrimRight(before[n], "\r")
}

func splitAfter(s string) []string {
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func TestMustBeReadAndFresh(t *testing.T) {
	b := newBench(t, map[string]string{"f.txt": strings.Repeat("line\n", 500) + "target\n" + strings.Repeat("tail\n", 10)})
	change := map[string]any{"path": "f.txt", "old_string": "target", "new_string": "hit"}
	want := func(code tool.Code) {
		t.Helper()
		if res := b.call("edit_file", change); res.Code != code {
			t.Fatalf("code %s, want %s: %s", res.Code, code, res.Text)
		}
	}
	want(tool.CodeNotRead)
	b.call("read_file", map[string]any{"path": "f.txt"}) // the first 400 lines
	want(tool.CodeNotRead)
	b.call("read_file", map[string]any{"path": "f.txt", "offset": 495, "limit": 10})
	// Somebody else changes another place, then the place itself.
	text := b.tree()["f.txt"]
	b.put("f.txt", "new first line\n"+text)
	res := b.call("edit_file", change)
	if res.Code != tool.CodeOK || !strings.Contains(res.Text, "changed elsewhere") {
		t.Fatalf("moved: %s", res.Text)
	}
	if len(res.Effects) != 1 || res.Effects[0].Path != "f.txt" || res.Effects[0].Before == res.Effects[0].After {
		t.Errorf("effects %+v", res.Effects)
	}
	b.put("f.txt", strings.Replace(b.tree()["f.txt"], "hit", "hit again", 1))
	change = map[string]any{"path": "f.txt", "old_string": "hit again", "new_string": "x"}
	want(tool.CodeStaleFile)
}

func TestOwnEditsNeedNoSecondRead(t *testing.T) {
	b := newBench(t, map[string]string{"f.txt": "a\nb\nc\nd\n"})
	b.call("read_file", map[string]any{"path": "f.txt"})
	for _, e := range [][2]string{{"b\n", "b1\nb2\nb3\n"}, {"b2\n", ""}, {"d", "D"}, {"b1\nb3", "z"}} {
		if res := b.call("edit_file", map[string]any{"path": "f.txt", "old_string": e[0], "new_string": e[1]}); !res.OK {
			t.Fatalf("%q: %s", e[0], res.Text)
		}
	}
	if got := b.tree()["f.txt"]; got != "a\nz\nc\nD\n" {
		t.Errorf("got %q", got)
	}
}

func TestEncodingsModeAndLinks(t *testing.T) {
	b := newBench(t, map[string]string{
		"bom.txt":     "\xef\xbb\xbfa\r\nb\r\n",
		"utf16.txt":   "\xff\xfea\x00\n\x00b\x00\n\x00",
		"latin.txt":   "caf\xe9\nplain\n",
		"bin":         "a\x00b",
		"real/run.sh": "#!/bin/sh\necho a\n",
	})
	if err := os.Chmod(filepath.Join(b.dir, "real/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real/run.sh", filepath.Join(b.dir, "link.sh")); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		path, old, new string
		code           tool.Code
		file, want     string
	}{
		{"bom.txt", "a", "x", tool.CodeOK, "bom.txt", "\xef\xbb\xbfx\r\nb\r\n"},
		{"utf16.txt", "b", "ö", tool.CodeOK, "utf16.txt", "\xff\xfea\x00\n\x00\xf6\x00\n\x00"},
		{"latin.txt", "plain", "simple", tool.CodeOK, "latin.txt", "caf\xe9\nsimple\n"},
		{"latin.txt", "simple", "é", tool.CodeNotUTF8, "latin.txt", "caf\xe9\nsimple\n"},
		{"bin", "a", "b", tool.CodeBinaryFile, "bin", "a\x00b"},
		{"/workspace/link.sh", "echo a", "echo b", tool.CodeOK, "real/run.sh", "#!/bin/sh\necho b\n"},
	}
	for _, c := range cases {
		b.call("read_file", map[string]any{"path": c.path})
		res := b.call("edit_file", map[string]any{"path": c.path, "old_string": c.old, "new_string": c.new})
		if res.Code != c.code {
			t.Errorf("%s: code %s: %s", c.path, res.Code, res.Text)
		}
		got, err := os.ReadFile(filepath.Join(b.dir, c.file))
		if err != nil || string(got) != c.want {
			t.Errorf("%s = %q, %v", c.file, got, err)
		}
	}
	info, err := os.Stat(filepath.Join(b.dir, "real/run.sh"))
	if err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if link, err := os.Readlink(filepath.Join(b.dir, "link.sh")); link != "real/run.sh" {
		t.Errorf("the link became %q, %v", link, err)
	}
}

func TestWriteFile(t *testing.T) {
	long := strings.Repeat("line\n", 200)
	b := newBench(t, map[string]string{"old.txt": "a\r\nb\r\n", "long.txt": long})
	write := func(code tool.Code, args map[string]any) {
		t.Helper()
		if res := b.call("write_file", args); res.Code != code {
			t.Fatalf("%v: code %s, want %s: %s", args["path"], res.Code, code, res.Text)
		}
	}
	write(tool.CodeOK, map[string]any{"path": "new/dir/x.txt", "content": "x\n"})
	write(tool.CodeFileExists, map[string]any{"path": "old.txt", "content": "c\n"})
	write(tool.CodeNotRead, map[string]any{"path": "old.txt", "content": "c\n", "overwrite": true})
	b.call("read_file", map[string]any{"path": "old.txt"})
	write(tool.CodeOK, map[string]any{"path": "old.txt", "content": "c\nd\n", "overwrite": true})
	b.call("read_file", map[string]any{"path": "long.txt"})
	write(tool.CodeConflict, map[string]any{"path": "long.txt", "content": "short\n", "overwrite": true})
	write(tool.CodeOK, map[string]any{"path": "long.txt", "content": "short\n", "overwrite": true, "confirm_large_delete": true})
	write(tool.CodePlaceholder, map[string]any{"path": "y.go", "content": "package y\n// ... existing code ...\n"})
	write(tool.CodeIsDirectory, map[string]any{"path": "new", "content": "x"})
	want := map[string]string{"new/dir/x.txt": "x\n", "old.txt": "c\r\nd\r\n", "long.txt": "short\n"}
	if diff := cmp.Diff(want, b.tree()); diff != "" {
		t.Error(diff)
	}
}
