package edit_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/edit"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// BenchmarkEdit is one call of each tool on an ordinary Go file, with its
// checks and its write, and of edit_file on one of the largest size.
func BenchmarkEdit(b *testing.B) {
	ordinary := "package f\n\n" + strings.Repeat("func f() int {\n\treturn 1\n}\n\n", 150) + "const x0 = 1\n"
	largest := strings.Repeat("    x = compute(y)\n", (workspace.MaxFileBytes-100)/19) + "const x0 = 1\n"
	step := func(format string) func(i int) string {
		return func(i int) string { return fmt.Sprintf(format, i, i+1) }
	}
	for _, c := range []struct {
		name, path, body, tool string
		args                   func(i int) string
	}{
		{"edit_file", "f.go", ordinary, "edit_file", step(`{"path":"f.go","old_string":"const x%d","new_string":"const x%d"}`)},
		{"apply_patch", "f.go", ordinary, "apply_patch", step(`{"patch":"*** Begin Patch\n*** Update File: f.go\n@@\n-const x%d = 1\n+const x%d = 1\n*** End Patch"}`)},
		{"edit_file of 10 MB", "f.txt", largest, "edit_file", step(`{"path":"f.txt","old_string":"const x%d","new_string":"const x%d"}`)},
		{"apply_patch of 10 MB", "f.txt", largest, "apply_patch", step(`{"patch":"*** Begin Patch\n*** Update File: f.txt\n@@\n-const x%d = 1\n+const x%d = 1\n*** End Patch"}`)},
	} {
		b.Run(c.name, func(b *testing.B) {
			dir := b.TempDir()
			ws, err := workspace.Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			defer ws.Close()
			if _, err := ws.Commit(b.Context(), []workspace.FileChange{{Path: workspace.Path{Name: c.path, Real: c.path}, Content: []byte(c.body)}}); err != nil {
				b.Fatal(err)
			}
			ws.Reads().Show(c.path, c.body, 0, strings.Count(c.body, "\n"))
			registry, err := tool.NewRegistry(edit.NewEdit(ws), edit.NewPatch(ws))
			if err != nil {
				b.Fatal(err)
			}
			i := 0
			for b.Loop() {
				if res := registry.Run(b.Context(), tool.Call{Name: c.tool, Args: []byte(c.args(i))}); !res.OK {
					b.Fatal(res.Text)
				}
				i++
			}
		})
	}
}
