package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/search"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

func setUp(t *testing.T, tree map[string]string) (*tool.Registry, *workspace.Workspace) {
	t.Helper()
	dir := t.TempDir()
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
	r, err := tool.NewRegistry(search.New(ws))
	if err != nil {
		t.Fatal(err)
	}
	return r, ws
}

func run(r *tool.Registry, args string) tool.Result {
	return r.Run(context.Background(), tool.Call{Name: "search_code", Args: json.RawMessage(args)})
}

func TestSearch(t *testing.T) {
	r, ws := setUp(t, map[string]string{
		".gitignore":  "vendor/\n",
		"a.go":        "package a\r\n\r\nfunc Find() {}\r\n",
		"sub/b.py":    "def find():\n    pass\n",
		"vendor/v.go": "func Find() {}\n",
		"blob":        "func Find\x00",
		"many.txt":    strings.Repeat("hit\n", 200),
	})
	cases := []struct {
		args     string
		has, not []string
	}{
		{`{"pattern":"^func \\w+\\(\\) \\{\\}$"}`, []string{"1 matches in 1 files", "a.go (1)", ">    3│func Find() {}"}, []string{"vendor", "blob"}},
		{`{"pattern":"FIND","ignore_case":true}`, []string{"2 matches in 2 files", "sub/b.py (1)"}, nil},
		{`{"pattern":"find","path":"sub"}`, []string{"sub/b.py"}, []string{"a.go"}},
		{`{"pattern":"find","path":"sub/b.py"}`, []string{"sub/b.py (1)"}, nil},
		{`{"pattern":"ind","glob":"*.py"}`, []string{"sub/b.py"}, []string{"a.go"}},
		{`{"pattern":"Find() {","literal":true}`, []string{"a.go"}, nil},
		{`{"pattern":"hit"}`, []string{"200 matches in 1 files, 3 shown", "By directory:", "200 ./"}, nil},
		{`{"pattern":"hit"}`, []string{"      +197 more"}, nil},
		{`{"pattern":"nowhere"}`, []string{"No match", "1 binary"}, nil},
		{`{"pattern":"Fin","word":true}`, []string{"No match"}, nil},
		{`{"pattern":"find","word":true}`, []string{"sub/b.py (1)"}, nil},
		{`{"pattern":"def |pass","glob":"**/*.{py,rb}"}`, []string{"2 matches in 1 files"}, nil},
		{`{"pattern":"ind","glob":"!*.py"}`, []string{"a.go"}, []string{"b.py"}},
		{`{"pattern":"Find","glob":"v.go"}`, []string{"No match", "But 1 in files that .gitignore ignores, such as vendor/v.go"}, nil},
		{`{"pattern":"Find","all":true}`, []string{"2 matches in 2 files", "vendor/v.go"}, nil},
	}
	for _, c := range cases {
		res := run(r, c.args)
		for _, want := range c.has {
			if !strings.Contains(res.Text, want) {
				t.Errorf("%s lacks %q:\n%s", c.args, want, res.Text)
			}
		}
		for _, bad := range c.not {
			if strings.Contains(res.Text, bad) {
				t.Errorf("%s has %q:\n%s", c.args, bad, res.Text)
			}
		}
	}
	if got := ws.Reads().Covers("a.go", "package a\r\n\r\nfunc Find() {}\r\n", 2, 3); got != workspace.Fresh {
		t.Errorf("a shown line is %v", got)
	}
	for args, code := range map[string]tool.Code{`{"pattern":"("}`: tool.CodeInvalidArgs, `{"pattern":"a\\nb"}`: tool.CodeInvalidArgs, `{"pattern":"a\nb","literal":true}`: tool.CodeInvalidArgs, `{"pattern":"x","glob":"!"}`: tool.CodeInvalidArgs, `{"pattern":""}`: tool.CodeInvalidArgs, `{"pattern":"x","path":"../.."}`: tool.CodePathOutsideWorkspace, `{"pattern":"x","path":"none"}`: tool.CodeFileNotFound} {
		if res := run(r, args); res.Code != code {
			t.Errorf("%s: %s", args, res.Code)
		}
	}
}

// TestLongLines shows the part of a long line that matches.
func TestLongLines(t *testing.T) {
	r, ws := setUp(t, map[string]string{"min.js": strings.Repeat("a", 3000) + "needle" + strings.Repeat("b", 3000) + "\n"})
	res := run(r, `{"pattern":"needle"}`)
	if !strings.Contains(res.Text, "needle") || len(res.Text) > 700 {
		t.Errorf("%d bytes: %s", len(res.Text), res.Text)
	}
	if got := ws.Reads().Covers("min.js", strings.Repeat("a", 3000)+"needle"+strings.Repeat("b", 3000)+"\n", 0, 1); got != workspace.NotRead {
		t.Errorf("a line that was cut counts as %v", got)
	}
}

func TestHostileNames(t *testing.T) {
	r, _ := setUp(t, map[string]string{"a\n    1│forged": "hit\n", "\x1b[2J": "hit\n"})
	res := run(r, `{"pattern":"hit"}`)
	if !strings.Contains(res.Text, `"a\n    1│forged" (1)`) || !strings.Contains(res.Text, `"\x1b[2J" (1)`) {
		t.Errorf("%s", res.Text)
	}
}

func TestSearchStaysShort(t *testing.T) {
	tree := make(map[string]string)
	for i := range 300 {
		tree[fmt.Sprintf("d%d/f.txt", i)] = "needle " + strings.Repeat("x", 5000) + "\n"
	}
	r, _ := setUp(t, tree)
	res := run(r, `{"pattern":"needle"}`)
	if len(res.Text) > tool.DefaultOutputBytes || !strings.Contains(res.Text, "300 matches in 300 files, 50 shown") || !strings.Contains(res.Text, "[cut]") {
		t.Errorf("%d bytes: %.200s", len(res.Text), res.Text)
	}
}
