package files_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/files"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

func lay(t *testing.T, tree map[string]string) (*tool.Registry, *workspace.Workspace) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range tree {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	r, err := tool.NewRegistry(files.NewRead(ws), files.NewList(ws), files.NewFind(ws))
	if err != nil {
		t.Fatal(err)
	}
	return r, ws
}

const source = `package a

// Load reads it.
// It may fail.
func Load() error {
	return nil
}

type A struct{}

func (A) Close() {
}

type B struct{}

func (B) Close() {
}
`

func TestReadSymbol(t *testing.T) {
	r, ws := lay(t, map[string]string{"a.go": source, "b.py": "@wrap\ndef f():\r\n    pass\n\nx = 1\n", "c.txt": "x\n"})
	cases := []struct{ args, want string }{
		{`{"path":"a.go","symbol":"Load"}`, "a.go, lines 3-7 of 17\n    3│// Load reads it.\n    4│// It may fail.\n    5│func Load() error {\n    6│\treturn nil\n    7│}\n"},
		{`{"path":"a.go","symbol":"load()"}`, "a.go, lines 3-7 of 17\n    3│// Load reads it.\n    4│// It may fail.\n    5│func Load() error {\n    6│\treturn nil\n    7│}\n"},
		{`{"path":"a.go","symbol":"B.Close"}`, "a.go, lines 16-17 of 17\n   16│func (B) Close() {\n   17│}\n"},
		{`{"path":"a.go","symbol":"Load","limit":1}`, "a.go, lines 3-3 of 17\n    3│// Load reads it.\n"},
		{`{"path":"b.py","symbol":"f"}`, "b.py, lines 1-3 of 5, 1 lines end in CRLF\n    1│@wrap\n    2│def f():\n    3│    pass\n"},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, run(r, "read_file", c.args).Text); diff != "" {
			t.Errorf("%s: %s", c.args, diff)
		}
	}
	for args, want := range map[string]string{
		`{"path":"a.go","symbol":"Close"}`:           "AMBIGUOUS: a.go declares Close 2 times",
		`{"path":"a.go","symbol":"Lood"}`:            "NO_MATCH: a.go declares no Lood\nTry: Load",
		`{"path":"c.txt","symbol":"x"}`:              "NO_MATCH: files like c.txt have no outline",
		`{"path":"a.go","symbol":"Load","offset":2}`: "INVALID_ARGS",
	} {
		if res := run(r, "read_file", args); res.OK || !strings.HasPrefix(res.Text, want) {
			t.Errorf("%s: %s", args, res.Text)
		}
	}
	if res := run(r, "read_file", `{"path":"a.go","symbol":"Close"}`); !strings.Contains(res.Text, "    11│  func (A) Close()") {
		t.Errorf("the list is missing: %s", res.Text)
	}
	if got := ws.Reads().Covers("a.go", source, 2, 7); got != workspace.Fresh {
		t.Errorf("a symbol that was shown is %v", got)
	}
}

// TestForgetSymbol takes back the lines that the call showed, and no others.
func TestForgetSymbol(t *testing.T) {
	r, ws := lay(t, map[string]string{"a.go": source})
	run(r, "read_file", `{"path":"a.go","symbol":"Load"}`)
	run(r, "read_file", `{"path":"a.go","symbol":"B.Close"}`)
	r.Forget("read_file", json.RawMessage(`{"path":"a.go","symbol":"Load"}`))
	if got := ws.Reads().Covers("a.go", source, 2, 7); got != workspace.NotRead {
		t.Errorf("what left the view is %v", got)
	}
	if got := ws.Reads().Covers("a.go", source, 15, 17); got != workspace.Fresh {
		t.Errorf("what stayed in view is %v", got)
	}
}

func TestFindFiles(t *testing.T) {
	tree := map[string]string{
		".gitignore": "out/\n", "src/a.ts": "", "src/x/b.tsx": "", "src/c.js": "", "out/gen.ts": "", "Makefile": "", "evil\nname.ts": "",
	}
	for i := range 250 {
		tree[filepath.Join("many", string(rune('a'+i%5)), "f"+strings.Repeat("x", i)+".md")] = ""
	}
	r, _ := lay(t, tree)
	cases := []struct{ args, want string }{
		{`{"pattern":"**/*.{ts,tsx}"}`, "3 files\n\"evil\\nname.ts\"\nsrc/a.ts\nsrc/x/b.tsx"},
		{`{"pattern":"*.ts","path":"src"}`, "1 file\nsrc/a.ts"},
		{`{"pattern":"src/*.ts","path":"src"}`, "1 file\nsrc/a.ts"},
		{`{"pattern":"/workspace/src/*.js"}`, "1 file\nsrc/c.js"},
		{`{"pattern":"gen.ts"}`, "No file matches \"gen.ts\". But 1 that .gitignore ignores do, such as out/gen.ts: set all to see them."},
		{`{"pattern":"gen.ts","all":true}`, "1 file\nout/gen.ts"},
		{`{"pattern":"makefile"}`, "No file matches \"makefile\".\nNearest names: Makefile"},
	}
	for _, c := range cases {
		if got := run(r, "find_files", c.args).Text; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	many := run(r, "find_files", `{"pattern":"*.md"}`)
	if !strings.HasPrefix(many.Text, "250 files, 200 shown\n") || !strings.Contains(many.Text, "By folder:\n    50 many/a/") {
		t.Errorf("%.100s … %s", many.Text, many.Text[len(many.Text)-200:])
	}
	for args, code := range map[string]tool.Code{`{"pattern":""}`: tool.CodeInvalidArgs, `{"pattern":"*","path":"../.."}`: tool.CodePathOutsideWorkspace, `{"pattern":"*","path":"none"}`: tool.CodeFileNotFound} {
		if res := r.Run(context.Background(), tool.Call{Name: "find_files", Args: json.RawMessage(args)}); res.Code != code {
			t.Errorf("%s: %s", args, res.Code)
		}
	}
}
