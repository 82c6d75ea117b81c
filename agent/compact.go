package agent

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/window"
)

//go:embed summary.md
var summaryPrompt string

// growth is how much of the window must be filled anew before a compaction
// that freed too little is tried again: without it every request would pay for
// one (opencode 37871: 104 compactions in an hour).
const growth = 0.05

// due says that the transcript should be compacted before it is sent.
func (r *run) due() bool { return r.window.Full() && r.window.Tokens() > r.compactAgain }

// compact makes the transcript shorter, by the cheapest steps that reach the
// target. Hard goes to the last step at once. That a request which cannot be
// sent could not be made shorter is an overflow.
func (r *run) compact(ctx context.Context, hard bool) error {
	steps := []window.Step{window.StepSuperseded, window.StepShorten, window.StepSummary, window.StepReset}
	if hard {
		steps = steps[len(steps)-1:]
	}
	before := r.window.Tokens()
	for _, step := range steps {
		if err := r.reduce(ctx, step, hard); err != nil {
			return err
		}
		if r.enough(step) {
			break
		}
	}
	if !hard && !r.window.Fits() {
		if err := r.reduce(ctx, window.StepReset, true); err != nil {
			return err
		}
	}
	after := r.window.Tokens()
	r.compactAgain = 0
	if freed := before - after; freed*10 < before || freed <= 0 || r.window.Full() {
		r.compactAgain = after + int(float64(r.window.Usable())*growth)
		if !r.window.Fits() {
			return &model.Error{Class: model.ClassOverflow, Message: "compaction freed too little"}
		}
	}
	return nil
}

// enough says that no further step is needed after one. Cheap steps aim for
// the target; a summary costs a request and a reset loses much, so they are
// done only when there would be little room without.
func (r *run) enough(after window.Step) bool {
	switch after {
	case window.StepShorten:
		return r.window.Roomy()
	case window.StepSummary:
		return !r.window.Full()
	case window.StepSuperseded, window.StepReset:
	}
	return r.window.Reached()
}

// reduce does one step and says so in the journal.
func (r *run) reduce(ctx context.Context, step window.Step, hard bool) error {
	var report window.Report
	switch step {
	case window.StepSuperseded, window.StepShorten:
		report = r.window.Reduce(step)
	case window.StepSummary:
		tail := r.window.Tail()
		text := r.summarise(ctx, tail)
		if text == "" {
			return ctx.Err()
		}
		r.summary = text
		report = r.window.Rebuild(step, r.opening(ctx, false), tail)
	case window.StepReset:
		head, from := r.opening(ctx, true), r.window.Reply()
		if hard { // not even the last results fit
			head, from = append(head, r.unheard()...), len(r.window.Messages())
		}
		report = r.window.Rebuild(step, head, from)
	}
	if report.After == report.Before {
		return nil
	}
	for _, c := range report.Dropped {
		r.agent.registry.Forget(c.Name, c.Arguments)
	}
	r.stuck.Reset()
	r.out.Compactions++
	return r.note(ctx, fmt.Sprintf("compacted the transcript (%s) from about %d to %d tokens, %d results shortened or left out",
		step, report.Before, report.After, len(report.Dropped)))
}

// unheard are the platform's and people's words after the last reply.
func (r *run) unheard() []model.Message {
	all := r.window.Messages()
	var out []model.Message
	for _, m := range all[min(r.window.Reply(), len(all)):] {
		if m.Role == model.RoleUser {
			out = append(out, m)
		}
	}
	return out
}

// summarise lets a model write down what the messages before the index came
// to. An empty text means that it could not: the hard reset needs no model.
func (r *run) summarise(ctx context.Context, tail int) string {
	most := r.window.Bytes(window.SummaryShare)
	text := r.window.Render(tail, r.window.Bytes(1)/2)
	if text == "" {
		return ""
	}
	if r.summary != "" {
		text = "The summary of what came before:\n" + r.summary + "\n\n" + text
	}
	req := model.Request{
		System:          []string{summaryPrompt},
		Messages:        []model.Message{model.Text(model.RoleUser, text)},
		MaxOutputTokens: min(r.limits.MaxOutputTokens, max(int(float64(most)/model.BytesPerToken), minSummaryTokens)),
	}
	reply, err := r.send(ctx, RoleSummarise, req)
	if err != nil {
		r.agent.cfg.Log.Warn("the transcript could not be summarised", "run_id", r.task.ID, "error", err)
		return ""
	}
	if len(reply.Message.Calls()) > 0 { // a model that does not summarise
		return ""
	}
	short, _ := tool.Cut(tool.Clean(strings.TrimSpace(reply.Message.Plain())), most, 0.5)
	return short
}

// minSummaryTokens is what a summary may have even in a tiny window.
const minSummaryTokens = 500
