package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/agent/tool/symbols"
)

const (
	// leadFiles is how many files are named as where to look first.
	leadFiles = 10
	// leadMapBytes is the map's budget, about 2,000 tokens.
	leadMapBytes = 7_000
	// leadTime bounds the search: without leads a model looks for itself.
	leadTime = 5 * time.Second
	// mostAsked is how much of the task's text is looked through for names.
	mostAsked = 64 << 10
)

// leads says where to look first: files that the words of the task point to,
// and a map of what the repository declares. Empty when nothing was found.
func (s *session) leads(ctx context.Context, repo *symbols.Repository, feedback string) string {
	ctx, cancel := context.WithTimeout(ctx, leadTime)
	defer cancel()
	index, err := repo.Index(ctx)
	if err != nil {
		s.log.Warn("no leads", "error", err)
		return ""
	}
	task := s.asked(feedback)
	var b strings.Builder
	for i, c := range outline.Seed(task, index, s.coChanged(ctx)) {
		if i == leadFiles {
			break
		}
		fmt.Fprintf(&b, "%s (%s)\n", outline.Quote(c.Path), strings.Join(c.Why, "; "))
	}
	if m := outline.Map(task, index, leadMapBytes); m != "" {
		b.WriteString("\nWhat the repository declares, the nearest to the task first:\n" + m)
	}
	return b.String()
}

// asked is the text of the task with what is quoted.
func (s *session) asked(feedback string) string {
	text := s.instruction()
	for _, c := range s.context {
		text += "\n" + c.Text
	}
	text += "\n" + feedback
	return text[:min(len(text), mostAsked)]
}
