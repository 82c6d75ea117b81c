package history

import (
	"context"
	_ "embed"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/greenwright/greenwright/agent/tool"
)

//go:embed git_blame.md
var blameDescription string

const (
	// maxBlameLines bounds one answer; read_file shows a page of that order.
	maxBlameLines = 400
	// maxBlameLine is how many bytes of a line are shown.
	maxBlameLine = 200
	maxAuthor    = 40
)

type blameArgs struct {
	Path string `json:"path" jsonschema:"file, relative to the workspace"`
	From int    `json:"from,omitempty" jsonschema:"first line; default 1"`
	To   int    `json:"to,omitempty" jsonschema:"last line, included; default the end"`
}

// NewBlame makes the git_blame tool over h.
func NewBlame(h tool.Historian) tool.Tool {
	return tool.Typed(tool.Spec{
		Name: "git_blame", Description: blameDescription, Schema: tool.SchemaFor[blameArgs](func(s *jsonschema.Schema) {
			least := 1.0
			s.Properties["from"].Minimum, s.Properties["to"].Minimum = &least, &least
		}),
		Tier: tool.TierRead, Effect: tool.EffectRead, Timeout: historyTimeout,
	}, func(ctx context.Context, a blameArgs) tool.Result {
		if a.To != 0 && a.To < a.From {
			return tool.Failf(tool.CodeInvalidArgs, "to (%d) is before from (%d)", a.To, a.From)
		}
		lines, err := h.Blame(ctx, cleanPath(a.Path), max(a.From, 1), a.To)
		why, failed := cut(err, "blame")
		if failed != nil {
			return *failed
		}
		return tool.OKText(showBlame(lines, why))
	})
}

func showBlame(lines []tool.BlameLine, why string) string {
	if len(lines) == 0 {
		return "The file is empty."
	}
	var b strings.Builder
	shown := lines[:min(len(lines), maxBlameLines)]
	for _, l := range shown {
		text := strings.ReplaceAll(tool.Clean(l.Text), "\n", " ")
		fmt.Fprintf(&b, "%d\t%s %s %s\t%s\n", l.Line, short(l.Commit), l.Date.Format(dayFormat), begin(oneLine(l.Author), maxAuthor), begin(text, maxBlameLine))
	}
	if n := len(lines) - len(shown); n > 0 {
		fmt.Fprintf(&b, "(%d more lines: ask with from %d)\n", n, shown[len(shown)-1].Line+1)
	}
	if why != "" {
		fmt.Fprintf(&b, "(older lines may be put down to too new a commit: %s)\n", why)
	}
	return b.String()
}

// begin is the start of s, of about n bytes, cut between runes.
func begin(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// cleanPath takes "./a/" for "a", and the workspace itself for everything.
func cleanPath(p string) string {
	if p == "" {
		return ""
	}
	if p = path.Clean(p); p == "." {
		return ""
	}
	return p
}
