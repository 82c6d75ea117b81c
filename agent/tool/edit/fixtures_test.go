package edit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/edit"
	"github.com/greenwright/greenwright/agent/tool/edit/edittest"
	"github.com/greenwright/greenwright/agent/tool/files"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// TestSharedCases runs the acceptance data where it is at hand; the cases that
// matter are also in the tables of this package.
func TestSharedCases(t *testing.T) {
	dir := os.Getenv("GREENWRIGHT_FIXTURES")
	if dir == "" {
		dir = "../../../../shared/fixtures"
	}
	cases, err := edittest.Load(filepath.Join(dir, "edit"))
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Skipf("SKIPPED: the shared edit cases are not in %s; set GREENWRIGHT_FIXTURES", dir)
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			if why := c.Argued(); why != "" {
				t.Logf("argued: %s", why)
			}
			if err := runCase(t, c); err != nil {
				t.Error(err)
			}
		})
	}
	t.Logf("%d cases", len(cases))
}

func runCase(t *testing.T, c edittest.Case) error {
	if c.IsText() {
		return c.JudgeText(edit.ParseTextEdits(c.Text()))
	}
	name, args, err := c.Call()
	if err != nil {
		return err
	}
	b := newBench(t, c.Tree())
	b.readAll(c.Tree())
	start := time.Now()
	res := b.registry.Run(t.Context(), tool.Call{Name: name, Args: args})
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	if err := c.Judge(res.OK, res.Code, b.tree()); err != nil {
		return fmt.Errorf("%w\n%s", err, res.Text)
	}
	return nil
}

// bench is a workspace on disk with the tools of this package and read_file.
type bench struct {
	t        *testing.T
	dir      string
	ws       *workspace.Workspace
	registry *tool.Registry
}

func newBench(t *testing.T, tree map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	for name, text := range tree {
		b.put(name, text)
	}
	ws, err := workspace.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	b.ws = ws
	b.registry, err = tool.NewRegistry(edit.NewEdit(ws), edit.NewWrite(ws), edit.NewPatch(ws), edit.NewMove(ws), edit.NewDelete(ws), files.NewRead(ws))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) put(name, text string) {
	b.t.Helper()
	full := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) readAll(tree map[string]string) {
	for name, text := range tree {
		b.ws.Reads().Show(name, decoded(b.t, text), 0, strings.Count(text, "\n")+1)
	}
}

func decoded(t *testing.T, data string) string {
	t.Helper()
	text, err := workspace.Decode([]byte(data))
	if err != nil {
		return data
	}
	return text.Body
}

func (b *bench) call(name string, args any) tool.Result {
	b.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.registry.Run(context.Background(), tool.Call{Name: name, Args: raw})
}

func (b *bench) tree() map[string]string {
	b.t.Helper()
	tree := make(map[string]string)
	err := filepath.WalkDir(b.dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(p)
		rel, _ := filepath.Rel(b.dir, p)
		tree[rel] = string(data)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return tree
}
