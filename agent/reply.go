package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/edit"
)

// take acts on a reply: its calls are run, a reply without one is answered.
func (r *run) take(ctx context.Context, reply model.Response) error {
	r.liftEdits(&reply)
	calls := reply.Message.Calls()
	if reply.StopReason == model.StopRefusal {
		r.out.Summary = reply.Message.Plain()
		r.end(StateRefused, "the model declined: "+reply.StopDetail)
		return nil
	}
	if len(reply.Message.Parts) > 0 {
		r.window.Append(r.fitting(reply.Message))
	}
	if len(reply.Message.Parts) > 0 {
		r.empty = 0
	}
	switch {
	case len(calls) > 0:
		r.nudges = 0
		return r.answerCalls(ctx, reply, calls)
	case reply.StopReason == model.StopRepetition:
		return r.nudge(ctx, reply.Message.Plain(), "Your reply repeated itself and was stopped. Do not write it again: go on by calling a tool.")
	case reply.StopReason == model.StopPause:
		return nil
	case reply.StopReason == model.StopMaxTokens:
		return r.countCut(ctx, true, true)
	}
	if len(reply.Message.Parts) == 0 {
		if r.empty++; r.empty <= maxEmpty {
			return nil // asked again as it is
		}
	}
	return r.nudge(ctx, reply.Message.Plain(), "You called no tool, so nothing happened. Go on with the task by "+
		"calling one, or call `finish` if the work is done or cannot be done.")
}

// answerCalls runs the calls and appends one result for each, in order.
func (r *run) answerCalls(ctx context.Context, reply model.Response, calls []model.ToolCall) error {
	results, err := r.runCalls(ctx, r.agent.unwrap(calls))
	if err != nil {
		return err
	}
	if text := r.phase.stepped(r.task.Kind); text != "" {
		r.notices = append(r.notices, text)
	}
	answers := make([]model.ToolResult, len(calls))
	for i, res := range results {
		answers[i] = model.ToolResult{CallID: calls[i].ID, Text: notOurs(res.Text), Error: !res.OK}
	}
	r.line = r.statusLine()
	answers[len(answers)-1].Text += r.line
	r.window.Append(model.Results(answers...))
	if err := r.snapshot(ctx); err != nil {
		return err
	}
	if r.out.State != "" {
		return r.sayPending(ctx) // recorded, though nobody answers any more
	}
	if err := r.countCut(ctx, reply.StopReason == model.StopMaxTokens || anyCut(calls), false); err != nil {
		return err
	}
	r.countFormat(results)
	return r.sayPending(ctx)
}

// keptOfCut is what stays of the arguments of a call that was cut, in bytes:
// enough for the model to know which it was.
const keptOfCut = 1_000

// fitting is a reply as it joins the transcript: no text, and nothing of a call
// that will never run, takes more than one item may.
func (r *run) fitting(m model.Message) model.Message {
	m.Parts = slices.Clone(m.Parts)
	for i, p := range m.Parts {
		switch {
		case p.Kind == model.PartText:
			m.Parts[i].Text, _ = tool.Cut(p.Text, r.window.ItemBytes(), 0.5)
		case p.Call != nil && p.Call.Cut && len(p.Call.Arguments) > keptOfCut:
			short := *p.Call
			short.Arguments = []byte(strings.ToValidUTF8(string(p.Call.Arguments[:keptOfCut]), ""))
			m.Parts[i].Call = &short
		}
	}
	return m
}

// liftEdits makes calls of the edits that a model without working tool calls
// wrote into its text.
func (r *run) liftEdits(reply *model.Response) {
	if !r.agent.cfg.TextEdits || reply.StopReason != model.StopEnd || len(reply.Message.Calls()) > 0 {
		return
	}
	edits, err := edit.ParseTextEdits(reply.Message.Plain())
	if err != nil {
		return // the reply is answered as one without a call
	}
	var lifted model.Message
	for _, e := range edits {
		name, args := e.Call()
		lifted.Parts = append(lifted.Parts, model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{Name: name, Arguments: args}})
	}
	r.ids.Fix(&lifted)
	reply.Message.Parts = append(reply.Message.Parts, lifted.Parts...)
}

// unwrap gives the calls that are meant by those of the model.
func (a *Agent) unwrap(calls []model.ToolCall) []model.ToolCall {
	out := slices.Clone(calls)
	for i, c := range calls {
		meant := a.registry.Unwrap(tool.Call{Name: c.Name, Args: c.Arguments, Cut: c.Cut})
		out[i].Name, out[i].Arguments = meant.Name, meant.Args
	}
	return out
}

func anyCut(calls []model.ToolCall) bool {
	for _, c := range calls {
		if c.Cut {
			return true
		}
	}
	return false
}

// countCut counts replies in a row that the output limit ended.
func (r *run) countCut(ctx context.Context, cut, say bool) error {
	if !cut {
		r.cuts = 0
		return nil
	}
	r.cuts++
	if r.cuts >= maxCuts {
		r.end(StateOutputLimit, fmt.Sprintf("%d replies in a row ran into the output limit", r.cuts))
		return nil
	}
	if r.cuts == 1 && !say {
		return nil // the call's result has said it
	}
	return r.say(ctx, SaidNudge, model.Text(model.RoleUser, "Your reply was cut at the output limit. "+
		"Split what you want to do into several smaller calls, and write less between them."))
}

// nudge answers a reply without a call, then gives up.
func (r *run) nudge(ctx context.Context, text, answer string) error {
	if r.nudges >= maxNudges {
		r.out.Summary = text
		if r.task.Kind == KindAnswer && text != "" {
			r.out.Answer = text
			r.end(StateAnswered, "answered in text")
			return nil
		}
		r.end(StateStalled, fmt.Sprintf("%d replies in a row without a tool call", r.nudges+1))
		return nil
	}
	r.nudges++
	return r.say(ctx, SaidNudge, model.Text(model.RoleUser, answer))
}
