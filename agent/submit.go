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

const (
	// maxReviews is how often a changed difference is shown again: a model
	// that edits after every review must not be able to go on for ever.
	maxReviews = 3
	// maxRefusals is how often a submission is refused because a check has
	// not run since the last edit. After that it is taken: the platform runs
	// the checks itself, and says what the model did not.
	maxRefusals = 2
	// shownOutput is how much of a red check's output a finding has, in bytes.
	shownOutput = 1_500
)

// submit takes a submission: an answer at once, a change when the difference
// is the one that was shown before. res is what the model will see.
func (r *run) submit(ctx context.Context, s finish.Submission, res *tool.Result) error {
	if r.task.Kind == KindAnswer {
		return r.accept(ctx, s, res, StateAnswered, "the question was answered")
	}
	if r.live() {
		r.refreshTree(ctx, false) // what lives on beside the commands may have written
	}
	diff, err := r.diff(ctx)
	if err != nil {
		return err
	}
	if strings.TrimSpace(diff) != "" && s.Unverified == "" {
		if err := r.runMissing(ctx); err != nil {
			return err
		}
	}
	seen := digest(diff)
	if r.reviewed != seen && r.reviews < maxReviews {
		*res = r.review(ctx, diff)
		r.shown(seen)
		r.verdict = &Verdict{Kind: VerdictReview, Digest: seen}
		return nil
	}
	if r.agent.cfg.Differ != nil && strings.TrimSpace(diff) == "" {
		return r.accept(ctx, s, res, StateNoChange, "submitted without a difference")
	}
	if lacks := r.lacks(diff); lacks != "" && s.Unverified == "" && r.refusals < maxRefusals {
		r.refusals++
		r.verdict = &Verdict{Kind: VerdictRefused}
		*res = tool.OKText("Not submitted: " + lacks + ". Put it right, or give the reason why it must be so in `unverified`.")
		return nil
	}
	return r.accept(ctx, s, res, StateFinished, "submitted")
}

// shown notes that a difference was shown for review.
func (r *run) shown(digest string) {
	r.reviewed = digest
	r.reviews++
	r.phase.enter(PhaseReview)
}

// heedVerdict takes a verdict from its record.
func (r *run) heedVerdict(v Verdict, res tool.Result) error {
	switch v.Kind {
	case VerdictReview:
		r.shown(v.Digest)
	case VerdictRefused:
		r.refusals++
	case VerdictHeld:
		r.hold(v.Held)
	case VerdictAccepted:
		s, ok := res.Data.(finish.Submission)
		if !ok {
			return fmt.Errorf("an accepted submission is not recorded: %w", errDiverged)
		}
		r.finish(s, v.State, v.Reason)
	}
	return nil
}

// hold keeps messages until the results of this step are shown.
func (r *run) hold(messages []Message) {
	r.late = append(r.late, messages...)
	for _, m := range messages {
		r.heard[m.ID] = true
	}
}

// lacks is what a submission is refused for without a reason: checks that have
// not run on the files as they are, and what cannot be meant.
func (r *run) lacks(diff string) string {
	var out []string
	if missing := r.unproved(); len(missing) > 0 {
		out = append(out, "not run since the last edit: "+strings.Join(missing, ", "))
	}
	return strings.Join(append(out, finish.Broken(finish.Facts{Diff: diff, Syntax: r.syntax})...), "; ")
}

// unproved names the checks that have not run on the files as they are.
func (r *run) unproved() []string {
	var names []string
	for _, c := range r.checkStates() {
		if !c.Fresh && c.Unable == "" {
			names = append(names, c.Name)
		}
	}
	return names
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
func (r *run) review(ctx context.Context, diff string) tool.Result {
	shown := diff
	if r.agent.cfg.Differ == nil {
		shown = "(the difference cannot be shown here)"
	}
	findings := finish.Review(finish.Facts{Diff: shown, Checks: r.checkStates(), Planned: r.plan.Files, Syntax: r.syntax})
	if second := r.secondLook(ctx, diff); second != "" {
		findings = append(findings, "a second reader says: "+second)
	}
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
	checks := r.checks()
	states := make([]finish.CheckState, 0, len(checks))
	for _, c := range checks {
		p, ran := r.proofs[identify(c)]
		state := finish.CheckState{Name: c.Name, Fresh: ran && p.Tree == r.tree, Unable: c.Unable}
		if !p.green() {
			state.Red = p.how()
			state.Output, _ = tool.Cut(p.Output, shownOutput, 0)
		}
		states = append(states, state)
	}
	return states
}

// accept ends the run, unless a person wrote in the meantime.
func (r *run) accept(ctx context.Context, s finish.Submission, res *tool.Result, state State, reason string) error {
	arrived, err := r.arrivals(ctx)
	if err != nil {
		return err
	}
	if len(arrived) > 0 {
		r.hold(arrived)
		r.verdict = &Verdict{Kind: VerdictHeld, Held: arrived}
		*res = tool.OKText("Not submitted: new messages arrived, which follow. Take them into account, then call finish again.")
		return nil
	}
	r.finish(s, state, reason)
	r.verdict = &Verdict{Kind: VerdictAccepted, State: state, Reason: reason}
	return nil
}

// finish takes what was submitted.
func (r *run) finish(s finish.Submission, state State, reason string) {
	r.out.Summary, r.out.Answer, r.out.Unverified = s.Summary, s.Answer, s.Unverified
	for _, reply := range s.Replies {
		r.out.Replies[reply.ID] = reply.Text
	}
	r.end(state, reason)
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
