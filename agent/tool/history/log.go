package history

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/greenwright/greenwright/agent/tool"
)

//go:embed git_log.md
var logDescription string

const (
	// historyTimeout leaves room for bringing older history into the mirror
	// before the ten seconds that the question itself may take.
	historyTimeout = 90 * time.Second
	defaultCommits = 10
	maxCommits     = 50
	// maxBody is how many lines of a message's body are shown.
	maxBody = 12
	// abbreviated is how much of a commit's name is shown: git's own choice
	// for repositories of up to some hundred thousand objects is less.
	abbreviated = 12
	dayFormat   = "2006-01-02"
)

// CutError is an error beside an answer that is not the whole one. A
// [tool.Historian] returns it with what it found.
type CutError struct{ Why string }

// Error implements error.
func (e *CutError) Error() string { return e.Why }

// RefusedError is a question that has no answer: lines that a file does not
// have, a binary file, one that is too large. A [tool.Historian] returns it.
type RefusedError struct{ Why string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Why }

type logArgs struct {
	Path  string `json:"path,omitempty" jsonschema:"file or directory relative to the workspace; default all"`
	Text  string `json:"text,omitempty" jsonschema:"text in the message, ignoring case; default any"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many commits; default 10, at most 50"`
}

// NewLog makes the git_log tool over h.
func NewLog(h tool.Historian) tool.Tool {
	return tool.Typed(tool.Spec{
		Name: "git_log", Description: logDescription, Schema: tool.SchemaFor[logArgs](func(s *jsonschema.Schema) {
			least, most := 1.0, float64(maxCommits)
			s.Properties["limit"].Minimum, s.Properties["limit"].Maximum = &least, &most
		}),
		Tier: tool.TierRead, Effect: tool.EffectRead, Timeout: historyTimeout,
	}, func(ctx context.Context, a logArgs) tool.Result {
		q := tool.LogQuery{Path: cleanPath(a.Path), Text: a.Text, Limit: a.Limit}
		if q.Limit == 0 {
			q.Limit = defaultCommits
		}
		commits, err := h.Log(ctx, q)
		why, failed := cut(err, "log")
		if failed != nil {
			return *failed
		}
		return tool.OKText(showLog(commits, q, why))
	})
}

// cut tells an answer that is not whole from none.
func cut(err error, what string) (why string, failed *tool.Result) {
	var c *CutError
	switch {
	case err == nil:
		return "", nil
	case errors.As(err, &c):
		return c.Why, nil
	}
	res := tool.Failf(tool.CodeInternal, "the %s could not be read: %v", what, err)
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		res = tool.Failf(tool.CodeInvalidArgs, "%s", refused.Why)
	case errors.Is(err, tool.ErrNoSuchPath):
		res = tool.Failf(tool.CodeFileNotFound, "%v", err)
	case errors.Is(err, context.DeadlineExceeded):
		res = tool.Failf(tool.CodeTimeout, "the %s took too long", what)
	}
	return "", &res
}

func showLog(commits []tool.Commit, q tool.LogQuery, why string) string {
	var b strings.Builder
	for _, c := range commits {
		writeCommit(&b, c)
	}
	switch {
	case why != "":
		fmt.Fprintf(&b, "(%d shown; there may be more: %s)\n", len(commits), why)
	case len(commits) == 0:
		b.WriteString("No commit matches.\n")
	case len(commits) == q.Limit:
		b.WriteString("(there may be more: raise limit, or narrow by path or text)\n")
	}
	return b.String()
}

func writeCommit(b *strings.Builder, c tool.Commit) {
	subject, body, _ := strings.Cut(strings.TrimSpace(tool.Clean(c.Message)), "\n")
	fmt.Fprintf(b, "%s %s %s: %s\n", short(c.ID), c.Date.Format(dayFormat), oneLine(c.Author), subject)
	lines := strings.Split(strings.TrimSpace(body), "\n")
	for i, l := range lines {
		if i == maxBody {
			fmt.Fprintf(b, "    (%d more lines)\n", len(lines)-i)
			break
		}
		if l != "" {
			fmt.Fprintf(b, "    %s\n", l)
		}
	}
	if len(c.Files) == 0 {
		return
	}
	names := make([]string, len(c.Files))
	for i, f := range c.Files {
		names[i] = oneLine(f)
	}
	fmt.Fprintf(b, "  files: %s", strings.Join(names, ", "))
	if c.More > 0 {
		fmt.Fprintf(b, " and %d more", c.More)
	}
	b.WriteByte('\n')
}

func short(id string) string { return id[:min(len(id), abbreviated)] }

// oneLine makes untrusted text fit into a line.
func oneLine(s string) string { return strings.Join(strings.Fields(tool.Clean(s)), " ") }
