package search_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/search"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// query is one search in both notations.
type query struct {
	Pattern    string `json:"pattern"`
	Glob       string `json:"glob,omitempty"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Literal    bool   `json:"literal,omitempty"`
	Word       bool   `json:"word,omitempty"`
}

func queries() []query {
	return []query{
		{Pattern: "TODO"},
		{Pattern: `func \(`},
		{Pattern: `^import`},
		{Pattern: `\berr\b.*nil`},
		{Pattern: `error$`},
		{Pattern: "context", Word: true},
		{Pattern: "CONTEXT", IgnoreCase: true, Word: true},
		{Pattern: "-x", Word: true},
		{Pattern: "if err != nil {", Literal: true},
		{Pattern: "[a-z]+_test", Glob: "*.go"},
		{Pattern: "the", Glob: "**/*.{md,txt}"},
		{Pattern: "return", Glob: "!*_test.go"},
		{Pattern: "^$", Glob: "*.md"},
		{Pattern: "é|ü|ß", IgnoreCase: true},
		{Pattern: `\x{2500}|→`},
		{Pattern: "x{3,}|y+?z"},
	}
}

// TestAgainstRipgrep wants the same files and the same number of lines as
// ripgrep finds, in real trees.
func TestAgainstRipgrep(t *testing.T) {
	if _, err := exec.LookPath("rg"); err != nil {
		t.Skip("SKIPPED: ripgrep is not installed, so nothing was compared")
	}
	roots := []string{"../../.."}
	if out, err := exec.Command("go", "env", "GOMODCACHE").Output(); err == nil {
		cache := strings.TrimSpace(string(out))
		for _, pattern := range []string{"github.com/google/go-cmp@*", "github.com/bluekeyes/go-gitdiff@*", "github.com/spf13/cobra@*"} {
			found, _ := filepath.Glob(filepath.Join(cache, pattern))
			roots = append(roots, found...)
		}
	}
	compared, lines := 0, 0
	for _, root := range roots {
		ws, err := workspace.Open(root)
		if err != nil {
			continue
		}
		r, err := tool.NewRegistry(search.New(ws))
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queries() {
			want := ripgrep(t, root, q)
			got, ok := ours(t, r, q)
			if !ok {
				continue // more files than the answer lists
			}
			compared++
			for _, n := range want {
				lines += n
			}
			if !cmp.Equal(want, got) { // someone may be at work in the tree
				want = ripgrep(t, root, q)
				got, _ = ours(t, r, q)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s %+v (- ripgrep, + ours):\n%s", root, q, diff)
			}
		}
		ws.Close()
	}
	t.Logf("%d searches in %d trees, %d matching lines, compared with ripgrep", compared, len(roots), lines)
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

func ours(t *testing.T, r *tool.Registry, q query) (map[string]int, bool) {
	t.Helper()
	raw, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	res := run(r, string(raw))
	found, ok := res.Data.(search.Found)
	if !ok {
		t.Fatalf("%+v: %s", q, res.Text)
	}
	counts := make(map[string]int)
	for _, f := range found.Files {
		counts[f.Path] = f.Hits
	}
	return counts, len(found.Files) < 1000
}

func ripgrep(t *testing.T, root string, q query) map[string]int {
	t.Helper()
	args := []string{
		"--no-config", "--hidden", "--no-ignore-global", "--no-ignore-exclude", "--no-ignore-dot", "--no-ignore-parent", "--no-require-git",
		"--crlf", "--max-filesize", fmt.Sprint(2 << 20), "--count", "--null", "--glob", "!.git",
	}
	if q.Glob != "" {
		args = append(args, "--glob", q.Glob)
	}
	for flag, on := range map[string]bool{"-i": q.IgnoreCase, "-F": q.Literal, "-w": q.Word} {
		if on {
			args = append(args, flag)
		}
	}
	cmd := exec.Command("rg", append(args, "-e", q.Pattern, ".")...)
	cmd.Dir = root
	out, err := cmd.Output()
	if exit := new(exec.ExitError); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("rg %v: %v", args, err)
	}
	counts := make(map[string]int)
	for line := range strings.Lines(string(out)) {
		name, n, _ := strings.Cut(strings.TrimSpace(line), "\x00")
		name = strings.TrimPrefix(name, "./")
		if counts[name], err = strconv.Atoi(n); err != nil {
			t.Fatal(err)
		}
		if binary(t, filepath.Join(root, name)) {
			delete(counts, name) // ripgrep counts what it saw before the first NUL
		}
	}
	return counts
}

func binary(t *testing.T, path string) bool {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	utf16 := len(data) > 1 && (data[0] == 0xff && data[1] == 0xfe || data[0] == 0xfe && data[1] == 0xff)
	return slices.Contains(data, 0) && !utf16
}
