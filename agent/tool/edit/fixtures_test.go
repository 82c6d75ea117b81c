package edit_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/edit"
	"github.com/greenwright/greenwright/agent/tool/files"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

type content struct {
	Text string `json:"text"`
	B64  []byte `json:"b64"`
}

func (c content) bytes() string {
	if c.B64 != nil {
		return string(c.B64)
	}
	return c.Text
}

type expectation struct {
	Status     string             `json:"status"`
	ErrorClass string             `json:"error_class"`
	Files      map[string]content `json:"files"`
}

type fixture struct {
	ID         string               `json:"id"`
	Tool       string               `json:"tool"`
	Files      map[string]content   `json:"files"`
	Args       map[string]any       `json:"args"`
	Expect     expectation          `json:"expect"`
	ExpectOurs *expectation         `json:"expect_ours"`
	Alt        []map[string]content `json:"expect_alt_files"`
	Tier       string               `json:"tier"`
	Note       string               `json:"note"`
	Generate   *struct {
		File string `json:"file"`
		Line struct {
			Char  string `json:"char"`
			Times int    `json:"times"`
		} `json:"line"`
		Lines     int `json:"lines"`
		OldString struct {
			Char   string `json:"char"`
			Times  int    `json:"times"`
			Suffix string `json:"suffix"`
		} `json:"old_string"`
	} `json:"generate"`
}

// TestSharedFixtures runs the edit_file cases of the acceptance data where it
// is at hand; the cases that matter are also in the tables of this package.
func TestSharedFixtures(t *testing.T) {
	dir := os.Getenv("GREENWRIGHT_FIXTURES")
	if dir == "" {
		dir = "../../../../shared/fixtures"
	}
	names, err := filepath.Glob(filepath.Join(dir, "edit", "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Skipf("no edit fixtures in %s", dir)
	}
	for _, name := range names {
		for _, f := range load(t, name) {
			if f.Tool == "edit_file" {
				t.Run(f.ID, func(t *testing.T) { runFixture(t, f) })
			}
		}
	}
}

func load(t *testing.T, name string) []fixture {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []fixture
	scan := bufio.NewScanner(file)
	scan.Buffer(nil, 16<<20)
	for scan.Scan() {
		var f fixture
		if err := json.Unmarshal(scan.Bytes(), &f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, f)
	}
	return all
}

func runFixture(t *testing.T, f fixture) {
	if g := f.Generate; g != nil {
		line := strings.Repeat(g.Line.Char, g.Line.Times)
		f.Files = map[string]content{g.File: {Text: strings.TrimSuffix(strings.Repeat(line+"\n", g.Lines), "\n")}}
		f.Args["old_string"] = strings.Repeat(g.OldString.Char, g.OldString.Times) + g.OldString.Suffix
	}
	before := make(map[string]string)
	for name, c := range f.Files {
		before[name] = c.bytes()
	}
	b := newBench(t, before)
	b.readAll(before)
	start := time.Now()
	res := b.call("edit_file", f.Args)
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v", took)
	}
	want := f.Expect
	if f.ExpectOurs != nil {
		want = *f.ExpectOurs
	}
	refusalPasses := f.Tier == "fuzzy" && f.ExpectOurs == nil || strings.Contains(f.Note, "refusing is also acceptable")
	got := b.tree()
	if want.Status == "ok" && !res.OK && refusalPasses {
		compareTrees(t, got, f.Files)
		return
	}
	if res.OK != (want.Status == "ok") {
		t.Fatalf("ok = %v, want %s\n%s", res.OK, want.Status, res.Text)
	}
	if !res.OK {
		if want.ErrorClass != "" && !slices.Contains(strings.Split(want.ErrorClass, "|"), string(res.Code)) {
			t.Errorf("code = %s, want %s", res.Code, want.ErrorClass)
		}
		compareTrees(t, got, f.Files)
		return
	}
	for _, alt := range f.Alt {
		if cmp.Equal(flat(alt), got) {
			return
		}
	}
	compareTrees(t, got, want.Files)
}

func compareTrees(t *testing.T, got map[string]string, want map[string]content) {
	t.Helper()
	if diff := cmp.Diff(flat(want), got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func flat(in map[string]content) map[string]string {
	out := make(map[string]string, len(in))
	for name, c := range in {
		out[name] = c.bytes()
	}
	return out
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
	b.registry, err = tool.NewRegistry(edit.NewEdit(ws), edit.NewWrite(ws), files.NewRead(ws))
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
