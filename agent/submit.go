package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/finish"
)

// maxReviews is how often a changed difference is shown again: a model that
// edits after every review must not be able to go on for ever.
const maxReviews = 3

// submit takes a submission: an answer at once, a change when the difference
// is the one that was shown before. res is what the model will see.
func (r *run) submit(ctx context.Context, s finish.Submission, res *tool.Result) error {
	if r.task.Kind == KindAnswer {
		return r.accept(ctx, s, res, StateAnswered, "the question was answered")
	}
	diff, err := r.diff(ctx)
	if err != nil {
		return err
	}
	seen := digest(diff)
	if r.reviewed != seen && r.reviews < maxReviews {
		r.reviewed = seen
		r.reviews++
		*res = r.review(diff)
		return nil
	}
	if r.agent.cfg.Differ != nil && strings.TrimSpace(diff) == "" {
		return r.accept(ctx, s, res, StateNoChange, "submitted without a difference")
	}
	return r.accept(ctx, s, res, StateFinished, "submitted")
}

func (r *run) diff(ctx context.Context) (string, error) {
	if r.agent.cfg.Differ == nil {
		return r.tree, nil // stands for the difference: equal trees, equal reviews
	}
	diff, err := r.agent.cfg.Differ.Diff(ctx, nil)
	if err != nil {
		return "", fmt.Errorf("making the difference for review: %w", err)
	}
	return diff, nil
}

// review is the answer to a first finish.
func (r *run) review(diff string) tool.Result {
	shown := diff
	if r.agent.cfg.Differ == nil {
		shown = "(the difference cannot be shown here)"
	}
	findings := finish.Review(shown, r.checkStates())
	var b strings.Builder
	b.WriteString("Not submitted yet. Look at your difference once more")
	if len(findings) > 0 {
		b.WriteString(" and at these findings:\n- " + strings.Join(findings, "\n- ") + "\n")
	} else {
		b.WriteString("; nothing was found to be wrong with it.\n")
	}
	b.WriteString("Put right what needs it, then call finish again to submit. If a finding is as it must be, say so in the summary.\n\n")
	text, _ := tool.Cut(b.String()+shown, r.window.ItemBytes(), 0.6)
	return tool.OKText(tool.Clean(text))
}

func (r *run) checkStates() []finish.CheckState {
	states := make([]finish.CheckState, 0, len(r.task.Checks))
	for _, c := range r.task.Checks {
		p, ran := r.proofs[c.Name]
		states = append(states, finish.CheckState{Name: c.Name, Fresh: ran && p.tree == r.tree, ExitCode: p.exitCode})
	}
	return states
}

// accept ends the run, unless a person wrote in the meantime.
func (r *run) accept(ctx context.Context, s finish.Submission, res *tool.Result, state State, reason string) error {
	if r.agent.cfg.Inbox != nil {
		arrived, err := r.agent.cfg.Inbox.Messages(ctx)
		if err != nil {
			return err
		}
		if len(arrived) > 0 {
			for _, m := range arrived {
				r.late = append(r.late, inboxText(m))
			}
			*res = tool.OKText("Not submitted: new messages arrived, which follow. Take them into account, then call finish again.")
			return nil
		}
	}
	r.out.Summary, r.out.Answer, r.out.Unverified = s.Summary, s.Answer, s.Unverified
	for _, reply := range s.Replies {
		r.out.Replies[reply.ID] = reply.Text
	}
	r.end(state, reason)
	return nil
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
