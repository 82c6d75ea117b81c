package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/window"
)

// opening is what a compacted transcript begins with: the task, and what the
// platform knows of the work so far. Facts come from records, the summary is
// the model's own. Whole adds the difference and what the checks printed, for
// a transcript of which nothing else is left.
func (r *run) opening(ctx context.Context, whole bool) []model.Message {
	var b strings.Builder
	b.WriteString("Platform notice: the transcript was too long and what came here is left out. These are the platform's records.\n")
	r.writePeople(&b)
	r.writePlan(&b)
	r.writeChecks(&b, whole)
	r.writeFiles(ctx, &b, whole)
	if r.summary != "" {
		b.WriteString("\nYour notes so far:\n" + r.summary + "\n")
	}
	b.WriteString("\nRead again what you need to see, then go on with the next step.")
	return []model.Message{r.first, model.Text(model.RoleUser, b.String())}
}

// The most that parts of an opening may take of the window.
const (
	peopleShare = 0.15
	checksShare = 0.10
)

// writePeople repeats what people wrote while the run worked: word for word,
// unless it is more than there is room for.
func (r *run) writePeople(b *strings.Builder) {
	room := r.window.Bytes(peopleShare) / max(len(r.people), 1)
	for _, text := range r.people {
		text, _ = tool.Cut(text, room, 0.7)
		b.WriteString("\n" + text + "\n")
	}
}

func (r *run) writePlan(b *strings.Builder) {
	if len(r.plan.Items) == 0 {
		return
	}
	b.WriteString("\nYour plan:\n" + r.plan.Text())
}

// checkTail is how much of a red check's output is kept, in bytes.
const checkTail = 6_000

func (r *run) writeChecks(b *strings.Builder, whole bool) {
	checks := r.checks()
	room := r.window.Bytes(checksShare) / max(len(checks), 1)
	for _, c := range checks {
		p, ran := r.proofs[identify(c)]
		switch {
		case !ran:
			fmt.Fprintf(b, "\n%s: not run yet", c.Name)
		case p.Tree != r.tree:
			fmt.Fprintf(b, "\n%s: %s, but files have changed since", c.Name, p.how())
		default:
			fmt.Fprintf(b, "\n%s: %s", c.Name, p.how())
		}
		if whole && ran && !p.green() && p.Output != "" {
			text, _ := tool.Cut(p.Output, room, 0)
			b.WriteString("\n" + quote("output of "+c.Name, "", text))
		}
	}
	b.WriteString("\n")
}

// writeFiles shows the difference, or names its files.
func (r *run) writeFiles(ctx context.Context, b *strings.Builder, whole bool) {
	if r.agent.cfg.Differ == nil {
		return
	}
	diff, err := r.agent.cfg.Differ.Diff(ctx, nil)
	switch {
	case err != nil:
		b.WriteString("\nThe difference so far cannot be shown: " + tool.Clean(err.Error()) + "\n")
	case strings.TrimSpace(diff) == "":
		b.WriteString("\nNothing is changed so far.\n")
	case whole:
		shown, _ := tool.Cut(tool.Clean(diff), r.window.Bytes(window.PinnedShare), 0.6)
		b.WriteString("\nThe difference so far:\n" + shown + "\n")
	default:
		b.WriteString("\nFiles changed so far:\n")
		for _, f := range changedFiles(diff) {
			b.WriteString("- " + f + "\n")
		}
	}
}

// changedFiles are the names in a difference with git's headers.
func changedFiles(diff string) []string {
	var out []string
	for line := range strings.Lines(diff) {
		if rest, ok := strings.CutPrefix(line, "diff --git "); ok {
			_, name, _ := strings.Cut(strings.TrimSpace(rest), " b/")
			out = append(out, name)
		}
	}
	return out
}
