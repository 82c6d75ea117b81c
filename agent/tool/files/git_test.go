package files_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/files"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// TestListsWhatGitLists compares list_files with git ls-files in a tree whose
// .gitignore files take back, nest and overlap.
func TestListsWhatGitLists(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: git is not installed, so nothing was compared")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		".gitignore": "*.log\n!keep.log\n/build/\nnode_modules\n**/gen/*\n!**/gen/.gitkeep\ndoc/**/*.pdf\ntmp*/\n", "a.log": "", "keep.log": "",
		"build/x": "", "src/build/x": "", "node_modules/a/b.js": "", "web/node_modules/c.js": "", "src/gen/a.go": "", "src/gen/.gitkeep": "",
		"doc/a.pdf": "", "doc/x/y/a.pdf": "", "doc/a.md": "", "tmp1/x": "", "tmpfile": "", "src/.gitignore": "!*.log\n/local\n*.o\n",
		"src/b.log": "", "src/local": "", "src/deep/local": "", "src/deep/.gitignore": "!x.o\n", "src/deep/x.o": "", "src/deep/y.o": "",
		"sp ace/a b": "", "[x]/y": "", "é/ü": "",
	} {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) []byte {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+dir)
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("SKIPPED: git %v: %v", args, err)
		}
		return out
	}
	git("init", "-q")
	want := strings.Split(strings.Trim(string(git("ls-files", "--others", "--exclude-standard", "-z")), "\x00"), "\x00")
	slices.Sort(want)
	ws, err := workspace.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	r, err := tool.NewRegistry(files.NewList(ws), files.NewFind(ws))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(run(r, "list_files", `{}`).Text, "\n")
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("list_files (- git, + ours):\n%s", diff)
	}
	found := strings.Split(run(r, "find_files", `{"pattern":"**"}`).Text, "\n")[1:]
	slices.Sort(found)
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("find_files (- git, + ours):\n%s", diff)
	}
}
