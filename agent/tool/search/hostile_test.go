package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/search"
)

// hangGuard is far above what a search may take on a slow machine.
const hangGuard = 20 * time.Second

// TestHostilePatterns are cheap to write and dear to run.
func TestHostilePatterns(t *testing.T) {
	r, _ := setUp(t, map[string]string{"long.txt": strings.Repeat("x", 1_900_000) + "\n"})
	cases := []struct {
		pattern string
		code    tool.Code
	}{
		{strings.Repeat(".{0,1000}", 100) + "y$", tool.CodeInvalidArgs},
		{"(.{0,999}){1}.{0,999}y", tool.CodeInvalidArgs},
		{".{0,999}y", tool.CodeOK},
		{"(x?){700}y", tool.CodeOK},
		{`\b(?:[a-w]|x)*y\b`, tool.CodeOK},
	}
	for _, c := range cases {
		raw, err := json.Marshal(map[string]any{"pattern": c.pattern})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		done := make(chan tool.Result, 1)
		go func() { done <- run(r, string(raw)) }()
		select {
		case res := <-done:
			t.Logf("%.30q took %v: %.200s", c.pattern, time.Since(start), res.Text)
			if res.Code != c.code {
				t.Errorf("%.30q: %s, want %s", c.pattern, res.Text, c.code)
			}
			if c.code == tool.CodeInvalidArgs && !strings.Contains(res.Text, "repetition") {
				t.Errorf("%.30q is not told what to do: %s", c.pattern, res.Text)
			}
		case <-time.After(hangGuard):
			t.Fatalf("%.30q hangs", c.pattern)
		}
	}
}

// TestLongLinesAreSearchedInPart says so, and makes no end of line where there
// is none; a simple pattern is searched to the end.
func TestLongLinesAreSearchedInPart(t *testing.T) {
	r, _ := setUp(t, map[string]string{"long.txt": "head" + strings.Repeat("x", 1_900_000) + "tail\n"})
	cases := []struct {
		pattern string
		matches int
		long    int
	}{
		{"tail$", 1, 0},
		{"head.{0,900}x", 1, 1},
		{".{900}tail", 0, 1},
		{strings.Repeat("x", 500) + "tail", 1, 0},
		{"x{900}$", 0, 1},
	}
	for _, c := range cases {
		res := run(r, fmt.Sprintf(`{"pattern":%q}`, c.pattern))
		found, ok := res.Data.(search.Found)
		if !ok || found.Matches != c.matches || found.Long != c.long {
			t.Errorf("%q: %+v, want %d matches, %d long: %s", c.pattern, found, c.matches, c.long, res.Text)
		}
		if said := strings.Contains(res.Text, "beginning"); said != (c.long > 0) {
			t.Errorf("%q: %s", c.pattern, res.Text)
		}
	}
}

// TestSearchStopsWithItsContext in the middle of a file.
func TestSearchStopsWithItsContext(t *testing.T) {
	tree := make(map[string]string)
	for i := range 10 {
		tree[fmt.Sprintf("%d.txt", i)] = strings.Repeat(strings.Repeat("x", 16_000)+"\n", 120)
	}
	_, ws := setUp(t, tree)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	start := time.Now()
	res := search.New(ws).Call(ctx, json.RawMessage(`{"pattern":".{0,999}y"}`)) // not through a registry, which would not wait
	took := time.Since(start)
	found, ok := res.Data.(search.Found)
	if !ok || !found.Incomplete || took > hangGuard/2 {
		t.Errorf("took %v: %s", took, res.Text)
	}
}
