package edit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/tool/edit"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// TestHostileFilesTakeBoundedTime makes the searches meet what is worst for
// them in files of the largest size. The limit of the tools is 2 s; the rest
// allows for a slow machine.
func TestHostileFilesTakeBoundedTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	size := workspace.MaxFileBytes
	thue := thueMorse(size)
	manyLines := strings.Repeat("    x = compute(y)\n", size/19)
	cases := []struct {
		name, body string
		req        edit.Request
	}{
		{"one letter", strings.Repeat("a", size), edit.Request{Old: strings.Repeat("a", size/2) + "b", New: "x"}},
		{"colliding hashes", thue, edit.Request{Old: thue[:1<<16] + "x", New: "y"}},
		{"all places of an indented block", manyLines, edit.Request{Old: "x = compute(y)\nx = compute(y)", New: "x = compute(z)\nx = compute(y)", All: true}},
		{"all places of a long block", manyLines, edit.Request{Old: strings.Repeat("x = compute(y)\n", 900), New: strings.Repeat("y = compute(x)\n", 900), All: true}},
		{"newlines", strings.Repeat("\n", size), edit.Request{Old: "a\n", New: "b\n"}},
		{"long lines", strings.Repeat(strings.Repeat("ab ", 30_000)+"\n", size/90_001), edit.Request{Old: strings.Repeat("ab ", 29_000) + "c\nd", New: "x"}},
		{"not there", manyLines, edit.Request{Old: strings.Repeat("  x = compute(y)\n", 300) + "z", New: "x"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			start := time.Now()
			_, err := edit.Apply(ctx, c.body, c.req)
			took := time.Since(start)
			t.Logf("took %v: %.100v", took, err)
			if took > 4*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
	t.Run("many hunks", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		hunk := edit.Hunk{Headers: []string{"nowhere"}, Lines: []edit.HunkLine{{Op: '-', Text: "q"}}}
		hunks := []edit.Hunk{}
		for range 2_000 {
			h := hunk
			h.Headers, h.Numbered, h.Start = nil, true, len(hunks)+1
			h.Lines = []edit.HunkLine{{Op: '-', Text: "    x = compute(y)"}, {Op: '+', Text: "z"}}
			hunks = append(hunks, h)
		}
		start := time.Now()
		_, err := edit.ApplyHunks(ctx, "", manyLines, hunks, true)
		took := time.Since(start)
		t.Logf("took %v: %.100v", took, err)
		if took > 4*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// thueMorse is a text in which a rolling hash with a fixed base collides.
func thueMorse(size int) string {
	b := make([]byte, size)
	for i := range b {
		n := 0
		for x := i; x > 0; x &= x - 1 {
			n++
		}
		b[i] = 'a' + byte(n%2)
	}
	return string(b)
}
