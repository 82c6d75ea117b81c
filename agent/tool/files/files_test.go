package files_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/files"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

func setUp(t *testing.T) (*tool.Registry, *workspace.Workspace) {
	t.Helper()
	dir := t.TempDir()
	var long strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	tree := map[string]string{
		"a.txt": "one\ntwo\n", "long.txt": long.String(), "crlf.txt": "a\r\nb\rc", "wide.txt": strings.Repeat("w", 5000) + "\nx\n",
		"empty": "", "src/deep/a.go": "package a\n", "src/b.go": "package b\n", "out/x.o": "", ".gitignore": "out/\n", ".git/config": "",
	}
	for name, text := range tree {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
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

func run(r *tool.Registry, name, args string) tool.Result {
	return r.Run(context.Background(), tool.Call{Name: name, Args: json.RawMessage(args)})
}

func TestRead(t *testing.T) {
	r, _ := setUp(t)
	cases := []struct{ args, want string }{
		{`{"path":"a.txt"}`, "a.txt, lines 1-2 of 2\n    1│one\n    2│two\n"},
		{`{"path":"long.txt","offset":999,"limit":1}`, "long.txt, lines 999-999 of 1000\n  999│line 999\n"},
		{`{"path":"crlf.txt"}`, "crlf.txt, lines 1-2 of 2, 1 lines end in CRLF, no newline at the end\n    1│a\n    2│b␍c\n"},
		{`{"path":"empty"}`, "empty, lines 0-0 of 0\n"},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, run(r, "read_file", c.args).Text); diff != "" {
			t.Errorf("%s: %s", c.args, diff)
		}
	}
	whole := run(r, "read_file", `{"path":"long.txt"}`)
	if !strings.Contains(whole.Text, "lines 1-400 of 1000") || whole.Truncated == nil || whole.Truncated.LinesTotal != 1000 {
		t.Errorf("%.100s %+v", whole.Text, whole.Truncated)
	}
	if res := run(r, "read_file", `{"path":"long.txt","offset":2000}`); res.Code != tool.CodeInvalidArgs {
		t.Errorf("beyond the end: %s", res.Text)
	}
	if res := run(r, "read_file", `{"path":"a.go"}`); res.Code != tool.CodeFileNotFound || !strings.Contains(res.Text, "src/deep/a.go") {
		t.Errorf("missing: %s", res.Text)
	}
}

func TestReadIsRememberedAndForgotten(t *testing.T) {
	r, ws := setUp(t)
	run(r, "read_file", `{"path":"a.txt"}`)
	run(r, "read_file", `{"path":"wide.txt"}`)
	if got := ws.Reads().Covers("a.txt", "one\ntwo\n", 0, 2); got != workspace.Fresh {
		t.Errorf("after the read: %v", got)
	}
	wide := strings.Repeat("w", 5000) + "\nx\n"
	if ws.Reads().Covers("wide.txt", wide, 0, 1) != workspace.NotRead || ws.Reads().Covers("wide.txt", wide, 1, 2) != workspace.Fresh {
		t.Error("a line that was cut counts as seen, or one that was not does not")
	}
	r.Forget("read_file", json.RawMessage(`{"path":"a.txt"}`))
	if got := ws.Reads().Covers("a.txt", "one\ntwo\n", 0, 2); got != workspace.NotRead {
		t.Errorf("after it left the view: %v", got)
	}
}

func TestList(t *testing.T) {
	r, _ := setUp(t)
	cases := []struct{ args, want string }{
		{`{"path":"src"}`, "src/b.go\nsrc/deep/a.go"},
		{`{"path":"src","depth":1}`, "src/b.go\nsrc/deep/"},
		{`{"glob":"*.go"}`, "src/b.go\nsrc/deep/a.go"},
		{`{"glob":"src/*.go"}`, "src/b.go"},
		{`{"depth":1}`, ".gitignore\na.txt\ncrlf.txt\nempty\nlong.txt\nsrc/\nwide.txt"},
		{`{"path":"out","all":true}`, "out/x.o"},
		{`{"glob":"*.rs"}`, "No files in . that match."},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, run(r, "list_files", c.args).Text); diff != "" {
			t.Errorf("%s: %s", c.args, diff)
		}
	}
}
