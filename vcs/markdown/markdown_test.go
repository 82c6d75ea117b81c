package markdown_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/greenwright/greenwright/vcs/markdown"
)

func TestFences(t *testing.T) {
	cases := map[string]struct {
		text   string
		inside []bool // by line
	}{
		"none":                  {"a\nb", []bool{false, false}},
		"backquotes":            {"a\n```go\nb\n```\nc", []bool{false, true, true, true, false}},
		"longer end":            {"```\na\n`````  \nb", []bool{true, true, true, false}},
		"shorter is no end":     {"````\n```\nb\n````\nc", []bool{true, true, true, true, false}},
		"other kind is no end":  {"~~~\n```\n~~~\nc", []bool{true, true, true, false}},
		"text is no end":        {"```\n``` x\n```\nc", []bool{true, true, true, false}},
		"indented by three":     {"   ```\na\n  ```\nb", []bool{true, true, true, false}},
		"by four is no fence":   {"    ```\na", []bool{false, false}},
		"by four is no end":     {"```\n    ```\nb", []bool{true, true, true}},
		"two are no fence":      {"``\na", []bool{false, false}},
		"inline code":           {"``` x ```\na", []bool{false, false}},
		"tildes with backquote": {"~~~ a`b\nc", []bool{true, true}},
		"carriage returns":      {"```\r\na\r\n```\r\nb", []bool{true, true, true, false}},
	}
	for name, c := range cases {
		var (
			f   markdown.Fences
			got []bool
		)
		for line := range strings.Lines(c.text) {
			got = append(got, f.Inside(line))
		}
		if !slices.Equal(got, c.inside) {
			t.Errorf("%s: %v, want %v", name, got, c.inside)
		}
	}
}

func TestCutToNothing(t *testing.T) {
	for _, limit := range []int{-5, 0, 1, 10} {
		if got := markdown.Cut("```\n"+strings.Repeat("x", 100), limit, "*cut*"); len(got) > max(limit, 0) {
			t.Errorf("limit %d: %q", limit, got)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("```\na\n\n<details>\nb\xff🐛", 20, 3)
	f.Add("~~~~ x\n\n", 60, 40)
	f.Fuzz(func(t *testing.T, part string, limit, times int) {
		if limit < 0 || limit > 10_000 || times < 0 || times > 1000 || len(part)*times > 1<<18 {
			return
		}
		whole := strings.Repeat(part, times)
		got := markdown.Cut(whole, limit, "*cut*")
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > limit {
			t.Errorf("%d characters of %d: %.80q", utf8.RuneCountInString(got), limit, got)
		}
		var fences markdown.Fences
		last := false
		for line := range strings.Lines(got) {
			last = fences.Inside(line)
		}
		if strings.HasSuffix(got, "\n\n*cut*") && last {
			t.Errorf("the notice stands in a fence: %.80q", got)
		}
		if title := markdown.CutTitle(whole, max(limit, 2)); strings.ContainsAny(title, "\r\n") || utf8.RuneCountInString(title) > max(limit, 2) {
			t.Errorf("title %.80q", title)
		}
	})
}
