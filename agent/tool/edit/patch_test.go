package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/edit"
)

func v4a(body string) string { return "*** Begin Patch\n" + body + "*** End Patch" }

func update(body string) string { return v4a("*** Update File: f\n" + body) }

func TestPatchHunks(t *testing.T) {
	cases := []struct {
		name, file, patch string
		want              string
		code              tool.Code
		says              string
	}{
		{"replace", "a\nb\nc\n", update("@@\n a\n-b\n+x\n c\n"), "a\nx\nc\n", "", ""},
		{"header narrows", "f1\nx\nf2\nx\n", update("@@ f2\n-x\n+y\n"), "f1\nx\nf2\ny\n", "", ""},
		{"ambiguous after the header", "f1\nx\nf2\nx\n", update("@@ f1\n-x\n+y\n"), "", tool.CodeAmbiguous, "2 places after its @@"},
		{"headers nest", "class A\n def m\n  x\nclass B\n def m\n  x\n", update("@@ class B\n@@  def m\n-  x\n+  y\n"), "class A\n def m\n  x\nclass B\n def m\n  y\n", "", ""},
		{"header not there", "a\nb\n", update("@@ func q()\n-b\n+c\n"), "", tool.CodeNoMatch, "func q()"},
		{"ambiguous", "x\nx\n", update("@@\n-x\n+y\n"), "", tool.CodeAmbiguous, "line 1, "},
		{"end of file decides", "x\ny\nx\n", update("@@\n-x\n+z\n*** End of File\n"), "x\ny\nz\n", "", ""},
		{"not at the end of file", "x\ny\n", update("@@\n-x\n+z\n*** End of File\n"), "", tool.CodeNoMatch, "line 1, which is not the end"},
		{"addition below its header", "a\nb\nc\n", update("@@ a\n+x\n"), "a\nx\nb\nc\n", "", ""},
		{"addition without one", "a\nb\n", update("@@\n+x\n"), "a\nb\nx\n", "", ""},
		{"order", "a\nb\n", update("@@\n-b\n+B\n@@\n-a\n+A\n"), "", tool.CodeNoMatch, "in order"},
		{"trailing space", "a  \nb\n", update("@@\n a\n-b\n+c\n"), "a  \nc\n", "", "spaces at their ends"},
		{"indentation", "\t\ta\n\t\tb\n", update("@@\n \ta\n-\tb\n+\tc\n"), "\t\ta\n\t\tc\n", "", "another indentation"},
		{"typographic", "say “hi”\n", update("@@\n-say \"hi\"\n+say ho\n"), "say ho\n", "", "typographic"},
		{"near miss", "foo(a, b)\n", update("@@\n-foo(a,b)\n+bar()\n"), "", tool.CodeNoMatch, "First difference, at line 1"},
		{"numbers inside V4A", "a\nb\n", update("@@ -2,1 +2,1 @@ a\n-b\n+c\n"), "a\nc\n", "", ""},
		{"CRLF by line", "a\r\nb\nc\r\n", update("@@\n a\n-b\n+x\n+y\n c\n"), "a\r\nx\ny\nc\r\n", "", ""},
		{"CRLF all", "a\r\nb\r\n", update("@@\n a\n+x\n b\n"), "a\r\nx\r\nb\r\n", "", ""},
		{"patch sent with CRLF", "a\nb\n", strings.ReplaceAll(update("@@\n a\n-b\n+c\n"), "\n", "\r\n"), "a\nc\n", "", ""},
		{"no final newline stays so", "a\nb", update("@@\n a\n-b\n+c\n"), "a\nc", "", ""},
		{"no final newline, appended", "a", update("@@\n a\n+b\n"), "a\nb", "", ""},
		{"final line removed", "a\nb", update("@@\n a\n-b\n"), "a\n", "", ""},
		{"no change", "a\n", update("@@\n a\n"), "", tool.CodeNoChange, ""},
		{"placeholder", "a\n", update("@@\n-a\n+// ... rest of code unchanged ...\n"), "", tool.CodePlaceholder, ""},
		{"context without its space", "a\nb\n", update("@@\na\n-b\n+c\n"), "", tool.CodeParse, "line 4 of the patch"},
		{"cut", "a\n", "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n", "", tool.CodeParse, "was cut"},
		{"fenced", "a\n", "```\n" + update("@@\n-a\n+b\n") + "\n```\n", "b\n", "", ""},
		{"two patches", "a\n", update("@@\n-a\n+b\n") + "\n" + update("@@\n-b\n+c\n"), "", tool.CodeParse, ""},
		{"twice the same file", "a\nb\n", v4a("*** Update File: f\n@@\n-b\n+B\n*** Update File: f\n@@\n-a\n+A\n"), "A\nB\n", "", ""},
		{"already there", "new text here\nb\n", update("@@\n-old text here\n+new text here\n b\n"), "", tool.CodeNoMatch, "already there, at line 1"},

		{"unified", "a\nb\nc\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", "a\nx\nc\n", "", ""},
		{"unified without prefix or numbers", "a\nb\n", "--- f\n+++ f\n@@ ... @@\n-b\n+x\n", "a\nx\n", "", ""},
		{"wrong line numbers", "a\nb\nc\n", "--- a/f\n+++ b/f\n@@ -70,2 +71,9 @@\n-b\n+x\n c\n", "a\nx\nc\n", "", ""},
		{"the number decides between exact places", "x\nq\nx\n", "--- a/f\n+++ b/f\n@@ -3 +3 @@\n-x\n+y\n", "x\nq\ny\n", "", ""},
		{"a wrong number does not", "x\nq\nx\n", "--- a/f\n+++ b/f\n@@ -2 +2 @@\n-x\n+y\n", "", tool.CodeAmbiguous, ""},
		{"an addition by number alone", "a\nb\n", "--- a/f\n+++ b/f\n@@ -1,0 +2 @@\n+x\n", "", tool.CodeConflict, "line number alone"},
		{"unified in an envelope", "a\n", v4a("--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"), "b\n", "", ""},
		{"newline added", "a", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a\n", "", ""},
		{"newline taken", "a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a", "", ""},
		{"no newline, but there is one", "a\n", "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "", tool.CodeConflict, ""},
		{"binary", "a\n", "diff --git a/f b/f\nindex 1..2\nGIT binary patch\nliteral 1\nA\n", "", tool.CodeBinaryFile, ""},
		{"symlink made", "a\n", "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", "", tool.CodeSymlinkRefused, ""},
		{"prose", "a\n", "please change it", "", tool.CodeParse, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := map[string]string{"f": c.file}
			b := newBench(t, before)
			b.readAll(before)
			res := b.call("apply_patch", map[string]any{"patch": c.patch})
			want := map[string]string{"f": c.want}
			if c.code != "" {
				want = before
			}
			if diff := cmp.Diff(want, b.tree()); diff != "" {
				t.Errorf("tree: %s", diff)
			}
			if res.OK != (c.code == "") || c.code != "" && res.Code != c.code || !strings.Contains(res.Text, c.says) {
				t.Errorf("%s, want %s with %q:\n%s", res.Code, c.code, c.says, res.Text)
			}
		})
	}
}

func TestPatchFiles(t *testing.T) {
	tree := map[string]string{"a": "a\n", "b": "b\n", "dir/c": "c\n", "bin": "\x00\x01"}
	cases := []struct {
		name, patch string
		want        map[string]string // what differs; an empty text is a file that is gone
		code        tool.Code
	}{
		{"swap", "diff --git a/a b/b\nrename from a\nrename to b\ndiff --git a/b b/a\nrename from b\nrename to a\n", map[string]string{"a": "b\n", "b": "a\n"}, ""},
		{"swap with changes", "diff --git a/a b/b\nrename from a\nrename to b\n--- a/a\n+++ b/b\n@@ -1 +1 @@\n-a\n+A\ndiff --git a/b b/a\nrename from b\nrename to a\n--- a/b\n+++ b/a\n@@ -1 +1 @@\n-b\n+B\n", map[string]string{"a": "B\n", "b": "A\n"}, ""},
		{"move then change", v4a("*** Update File: a\n*** Move to: n\n*** Update File: n\n@@\n-a\n+x\n"), map[string]string{"a": "", "n": "x\n"}, ""},
		{"change then move", v4a("*** Update File: a\n@@\n-a\n+x\n*** Update File: a\n*** Move to: n/m\n@@\n-x\n+y\n"), map[string]string{"a": "", "n/m": "y\n"}, ""},
		{"move over a deleted one", v4a("*** Update File: a\n*** Move to: b\n@@\n-a\n+x\n*** Delete File: b\n"), map[string]string{"a": "", "b": "x\n"}, ""},
		{"add over a deleted one", v4a("*** Delete File: a\n*** Add File: a\n+new\n"), map[string]string{"a": "new\n"}, ""},
		{"add then change", v4a("*** Add File: n\n+one\n+two\n*** Update File: n\n@@\n-two\n+2\n"), map[string]string{"n": "one\n2\n"}, ""},
		{"directory becomes a file", v4a("*** Delete File: dir/c\n*** Add File: dir\n+x\n"), map[string]string{"dir/c": "", "dir": "x\n"}, ""},
		{"file becomes a directory", v4a("*** Delete File: a\n*** Add File: a/x\n+x\n"), map[string]string{"a": "", "a/x": "x\n"}, ""},
		{"a binary file is moved", v4a("*** Update File: bin\n*** Move to: bin2\n"), map[string]string{"bin": "", "bin2": "\x00\x01"}, ""},
		{"copy", "diff --git a/a b/n\ncopy from a\ncopy to n\n", map[string]string{"n": "a\n"}, ""},
		{"second file fails", v4a("*** Update File: a\n@@\n-a\n+x\n*** Delete File: b\n*** Update File: dir/c\n@@\n-nope\n+x\n"), nil, tool.CodeNoMatch},
		{"deleted twice", v4a("*** Delete File: a\n*** Delete File: a\n"), nil, tool.CodeFileNotFound},
		{"onto an existing file", v4a("*** Update File: a\n*** Move to: b\n"), nil, tool.CodeFileExists},
		{"outside", v4a("*** Add File: ../x\n+x\n"), nil, tool.CodePathOutsideWorkspace},
		{"inside .git", v4a("*** Add File: .git/hooks/x\n+x\n"), nil, tool.CodeProtectedPath},
		{"a file below a file", v4a("*** Update File: b\n@@\n-b\n+x\n*** Add File: a/x\n+x\n"), nil, tool.CodeFileExists},
		{"a directory", v4a("*** Update File: dir\n@@\n-a\n+x\n"), nil, tool.CodeIsDirectory},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, tree)
			b.readAll(tree)
			res := b.call("apply_patch", map[string]any{"patch": c.patch})
			want := make(map[string]string)
			for name, text := range tree {
				want[name] = text
			}
			for name, text := range c.want {
				if want[name] = text; text == "" {
					delete(want, name)
				}
			}
			if diff := cmp.Diff(want, b.tree()); diff != "" {
				t.Errorf("tree: %s", diff)
			}
			if res.OK != (c.code == "") || c.code != "" && res.Code != c.code {
				t.Errorf("%s: %s", res.Code, res.Text)
			}
		})
	}
}

// FuzzPatch checks that whatever the patch, a hunk changes only lines that it
// names, and a refusal leaves nothing behind.
func FuzzPatch(f *testing.F) {
	f.Add("a\nb\nc\n", update("@@\n a\n-b\n+x\n"))
	f.Add("a\r\nb", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\r\n+x\n b\n\\ No newline at end of file\n")
	f.Add("", "diff --git \"a/\\303\\274\" \"b/\\303\\274\"\nnew file mode 100755\n")
	f.Add("x\n\n\n", "*** Begin Patch\n*** Update File: f\n@@ x\n+y\n\n*** End of File\n*** End Patch\n")
	f.Fuzz(func(t *testing.T, body, text string) {
		patch, err := edit.ParsePatch(text)
		if err != nil {
			if _, ok := errors.AsType[*edit.RefusalError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for _, file := range patch.Files {
			done, err := edit.ApplyHunks(t.Context(), "f", body, file.Hunks, patch.Unified)
			if err != nil {
				if _, ok := errors.AsType[*edit.RefusalError](err); !ok || done.Body != "" {
					t.Fatalf("%T: %v, %q", err, err, done.Body)
				}
				continue
			}
			checkOutside(t, body, done.Body, done.Changes)
		}
	})
}
