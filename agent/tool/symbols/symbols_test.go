package symbols_test

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
	"github.com/greenwright/greenwright/agent/tool/symbols"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

func setUp(t *testing.T, tree map[string]string) (*tool.Registry, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range tree {
		write(t, filepath.Join(dir, name), text)
	}
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	repo := symbols.NewRepository(ws, nil)
	r, err := tool.NewRegistry(symbols.NewOutline(repo), symbols.NewFind(repo))
	if err != nil {
		t.Fatal(err)
	}
	return r, dir
}

func write(t *testing.T, full, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(r *tool.Registry, name, args string) tool.Result {
	return r.Run(context.Background(), tool.Call{Name: name, Args: json.RawMessage(args)})
}

func small() map[string]string {
	return map[string]string{
		".gitignore":   "out/\n",
		"conf/load.go": "package conf\n\n// Load reads.\nfunc Load() {}\n\ntype Config struct{}\n\nfunc (c *Config) Load() { Load() }\n",
		"main.go":      "package main\n\nfunc main() {\n\tconf.Load()\n\tconf.Load()\n}\n",
		"web/app.ts":   "export class App {\n  load(): void {\n  }\n}\n",
		"out/gen.go":   "package out\n\nfunc Load() {}\n",
		"notes.txt":    "Load\n",
		"a\nb.go":      "package x\n\nfunc Hidden() {}\n",
	}
}

func TestOutline(t *testing.T) {
	r, _ := setUp(t, small())
	cases := []struct{ args, want string }{
		{`{"path":"conf/load.go"}`, "conf/load.go, 8 lines, 3 symbols\n     4-4     │func Load()\n     6-6     │type Config struct\n     8-8     │  func (c *Config) Load()\n"},
		{`{"path":"web"}`, "web, 1 file\nweb/app.ts\n     1│class App\n"},
		{`{"path":"notes.txt"}`, "notes.txt, 1 lines: files like it have no outline; read it with read_file."},
		{`{"path":"/workspace/conf"}`, "conf, 1 file\nconf/load.go\n     4│func Load()\n     6│type Config struct\n"},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, run(r, "outline", c.args).Text); diff != "" {
			t.Errorf("%s: %s", c.args, diff)
		}
	}
	whole := run(r, "outline", `{}`).Text
	if !strings.Contains(whole, "\"a\\nb.go\"\n     3│func Hidden()") || strings.Contains(whole, "gen.go") {
		t.Errorf("%s", whole)
	}
	if res := run(r, "outline", `{"path":"none"}`); res.Code != tool.CodeFileNotFound {
		t.Errorf("%s", res.Text)
	}
}

// TestOutlineOfBigTrees goes down from declarations to names, counts, folders.
func TestOutlineOfBigTrees(t *testing.T) {
	for _, c := range []struct {
		files, functions int
		want             string
	}{
		{50, 40, "d0/f0.go: F0, F1"}, {300, 60, "d0/f0.go (60 symbols)"}, {2000, 2, "d1/ (20 files, 40 symbols)"},
	} {
		tree := make(map[string]string)
		for i := range c.files {
			var b strings.Builder
			b.WriteString("package a\n")
			for k := range c.functions {
				fmt.Fprintf(&b, "func F%d(argument string, another int) error { return nil }\n", k)
			}
			tree[fmt.Sprintf("d%d/f%d.go", i%100, i)] = b.String()
		}
		r, _ := setUp(t, tree)
		res := run(r, "outline", `{}`)
		if len(res.Text) > 14_100 || !strings.Contains(res.Text, c.want) {
			t.Errorf("%d files: %d bytes, lacks %q:\n%.300s", c.files, len(res.Text), c.want, res.Text)
		}
	}
}

func TestFindSymbol(t *testing.T) {
	r, dir := setUp(t, small())
	cases := []struct{ args, want string }{
		{`{"name":"Load"}`, "2 declarations of Load\nconf/load.go:4-4 function\n      func Load()\nconf/load.go:8-8 method in Config\n      func (c *Config) Load()\n3 other mentions in 2 files\n     2 main.go\n     1 conf/load.go"},
		{`{"name":"Config.Load"}`, "1 declaration of Config.Load\nconf/load.go:8-8 method in Config\n      func (c *Config) Load()\n3 other mentions in 2 files\n     2 main.go\n     1 conf/load.go"},
		{`{"name":"conf.Load","kind":"function"}`, "1 declaration of conf.Load\nconf/load.go:4-4 function\n      func Load()\n3 other mentions in 2 files\n     2 main.go\n     1 conf/load.go"},
		{`{"name":"Load","path":"main.go"}`, "Nothing is declared by the name Load in main.go.\nWithout that, 2 declarations:\nconf/load.go:4-4 function"},
		{`{"name":"App::load"}`, "1 declaration of App::load\nweb/app.ts:2-3 method in App\n      load(): void\nNo other mention in code."},
		{`{"name":"Nope.Load"}`, "2 declarations of Nope.Load (none in Nope: these are others)"},
		{`{"name":"Confg"}`, "Nothing is declared by the name Confg.\nNo other mention in code.\nNearest names: Config"},
	}
	for _, c := range cases {
		if got := run(r, "find_symbol", c.args).Text; !strings.HasPrefix(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.args, got, c.want)
		}
	}
	if res := run(r, "find_symbol", `{"name":"Load","kind":"thing"}`); res.Code != tool.CodeInvalidArgs {
		t.Errorf("an unknown kind: %s", res.Text)
	}
	write(t, filepath.Join(dir, "main.go"), "package main\n\nfunc Fresh() {}\n")
	if got := run(r, "find_symbol", `{"name":"Fresh"}`).Text; !strings.HasPrefix(got, "1 declaration of Fresh\nmain.go:3-3") {
		t.Errorf("an edit is not seen: %s", got)
	}
}
