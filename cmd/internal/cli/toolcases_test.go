package cli_test

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/edit"
	"github.com/greenwright/greenwright/agent/tool/edit/edittest"
	"github.com/greenwright/greenwright/cmd/internal/cli"
)

// sharedCases is where the edit cases lie beside a checkout, if they do.
const sharedCases = "../../../../shared/fixtures/edit"

// TestEditCasesThroughToolCall runs every shared edit case the way a person
// would: `greenwright tool call`, one process's work each, bytes compared.
func TestEditCasesThroughToolCall(t *testing.T) {
	cases, err := edittest.Load(sharedCases)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Skip("the shared edit cases are not beside this checkout")
	}
	passed, argued := 0, 0
	for _, c := range cases {
		if why := c.Argued(); why != "" {
			argued++
			t.Logf("%s: expected otherwise than there: %s", c.ID, why)
		}
		if err := judge(t, c); err != nil {
			t.Error(err)
			continue
		}
		passed++
	}
	t.Logf("%d of %d cases pass, %d of them by an expectation of ours", passed, len(cases), argued)
}

func judge(t *testing.T, c edittest.Case) error {
	t.Helper()
	if c.IsText() {
		edits, err := edit.ParseTextEdits(c.Text())
		return c.JudgeText(edits, err)
	}
	dir := t.TempDir()
	for name, body := range c.Tree() {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	name, args, err := c.Call()
	if err != nil {
		return err
	}
	var out, errOut bytes.Buffer
	code := cli.Main(t.Context(), "v0.0.0-test", []string{"tool", "call", "--workspace", dir, "--assume-read", name, string(args)}, &out, &errOut)
	var res struct {
		OK   bool      `json:"ok"`
		Code tool.Code `json:"code"`
	}
	if err := json.Unmarshal(out.Bytes(), &res); err != nil {
		t.Fatalf("%s: %v\n%s%s", c.ID, err, out.String(), errOut.String())
	}
	if want := map[bool]int{true: 0, false: 1}[res.OK]; code != want {
		t.Errorf("%s: exit code %d for ok %v", c.ID, code, res.OK)
	}
	return c.Judge(res.OK, res.Code, treeOf(t, dir))
}

func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	tree := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		tree[rel] = string(body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}
