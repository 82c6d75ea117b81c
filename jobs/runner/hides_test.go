package runner_test

import (
	"strings"
	"testing"

	"github.com/greenwright/greenwright/jobs/runner"
)

// TestWhatCannotBeShown: people are not asked about what does not look like what
// it is.
func TestWhatCannotBeShown(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"plain":       {"make deploy\n\techo \"größe: 1\"", ""},
		"off the box": {"true" + strings.Repeat(" ", 3_000) + "; evil", "a line of more than 300"},
		"too long":    {strings.Repeat("true\n", 10_000), "too long"},
		"bidi":        {"echo \u202e live", "U+202E"},
		"isolate":     {"echo \u2066x", "U+2066"},
		"zero width":  {"r\u200bm x", "U+200B"},
		"escape":      {"echo \x1b[8m", "U+001B"},
		"return":      {"evil\rtrue", "U+000D"},
		"separator":   {"true\u2028evil", "U+2028"},
		"no break":    {"rm\u00a0x", "U+00A0"},
		"no text":     {"echo \xff", "U+FFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runner.Hides(c.text)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("hides %q, want %q", got, c.want)
			}
		})
	}
}
