package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

var _ tool.Keeper = (*workspace.Workspace)(nil)

const tenLines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

func openAt(t *testing.T, files map[string]string) *workspace.Workspace {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return ws
}

// TestWhatWasShownOutlivesAWorker: in another workspace with the same files the
// same lines count as shown, in a file that is not the same none do.
func TestWhatWasShownOutlivesAWorker(t *testing.T) {
	files := map[string]string{"a.txt": tenLines, "b/b.txt": tenLines, "bom.txt": "\ufeffx\r\ny\r\n", "empty": "", "c.txt": tenLines}
	old := openAt(t, files)
	old.Reads().Show("a.txt", tenLines, 1, 4)
	old.Reads().Show("a.txt", tenLines, 6, 8)
	old.Reads().Show("b/b.txt", "0\n", 0, 1)
	old.Reads().Edited("b/b.txt", "0\n", tenLines, []workspace.Change{{From: 0, Old: 1, New: 10}})
	old.Reads().Show("bom.txt", "x\r\ny\r\n", 0, 2)
	old.Reads().Show("empty", "", 0, 0)
	old.Reads().Show("c.txt", tenLines, 0, 10)
	kept := old.Keep()
	if diff := cmp.Diff(kept, old.Keep()); diff != "" {
		t.Errorf("the same is kept in another way: %s", diff)
	}

	files["c.txt"] = strings.Replace(tenLines, "5", "five", 1)
	ws := openAt(t, files)
	ws.Reads().Show("stale", "x", 0, 1)
	kept["gone.txt"], kept["../out"], kept["a\x00"], kept["bad.txt"] = kept["a.txt"], kept["a.txt"], kept["a.txt"], "no mark at all"
	ws.Restore(kept)
	for _, c := range []struct {
		path     string
		from, to int
		want     workspace.Coverage
	}{
		{"a.txt", 1, 4, workspace.Fresh}, {"a.txt", 6, 8, workspace.Fresh}, {"a.txt", 3, 7, workspace.NotRead}, {"a.txt", 0, 1, workspace.NotRead},
		{"b/b.txt", 0, 10, workspace.Fresh}, {"c.txt", 0, 1, workspace.NotRead}, {"gone.txt", 1, 4, workspace.NotRead}, {"stale", 0, 1, workspace.NotRead},
	} {
		if got := ws.Reads().Covers(c.path, tenLines, c.from, c.to); got != c.want {
			t.Errorf("%s %d-%d: %v, want %v", c.path, c.from, c.to, got, c.want)
		}
	}
	if !ws.Reads().Whole("bom.txt", "x\r\ny\r\n") || !ws.Reads().Known("empty") {
		t.Error("a file with a byte order mark or without a line is not known")
	}
	delete(kept, "gone.txt")
	delete(kept, "../out")
	delete(kept, "a\x00")
	delete(kept, "bad.txt")
	delete(kept, "c.txt")
	if diff := cmp.Diff(kept, ws.Keep()); diff != "" {
		t.Errorf("kept again: %s", diff)
	}
}

// FuzzRestore: no cell, however it came into a journal, makes lines count as
// shown that are not those of the file, or fails.
func FuzzRestore(f *testing.F) {
	ws, err := workspace.Open(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { ws.Close() })
	f.Add("a.txt", "x 0 0-3,5-9")
	f.Add("a/../b", "x 99999999999999999999 1-2")
	f.Add("", " - ")
	f.Fuzz(func(t *testing.T, path, cell string) {
		ws.Restore(map[string]string{path: cell})
		if len(ws.Keep()) != 0 {
			t.Errorf("%q %q is taken for something", path, cell)
		}
	})
}
