package agent

import (
	"context"
	"fmt"

	"github.com/greenwright/greenwright/agent/model"
)

// take acts on a reply: its calls are run, a reply without one is answered.
func (r *run) take(ctx context.Context, reply model.Response) error {
	calls := reply.Message.Calls()
	if reply.StopReason == model.StopRefusal {
		r.out.Summary = reply.Message.Plain()
		r.end(StateRefused, "the model declined: "+reply.StopDetail)
		return nil
	}
	if len(reply.Message.Parts) > 0 {
		r.messages = append(r.messages, reply.Message)
	}
	switch {
	case len(calls) > 0:
		r.nudges = 0
		return r.answerCalls(ctx, reply, calls)
	case reply.StopReason == model.StopPause:
		return nil
	case reply.StopReason == model.StopMaxTokens:
		return r.countCut(ctx, true, true)
	}
	return r.nudge(ctx, reply.Message.Plain())
}

// answerCalls runs the calls and appends one result for each, in order.
func (r *run) answerCalls(ctx context.Context, reply model.Response, calls []model.ToolCall) error {
	results, err := r.runCalls(ctx, calls)
	if err != nil {
		return err
	}
	answers := make([]model.ToolResult, len(calls))
	for i, res := range results {
		answers[i] = model.ToolResult{CallID: calls[i].ID, Text: res.Text, Error: !res.OK}
	}
	r.messages = append(r.messages, model.Results(answers...))
	if r.out.State != "" {
		return nil
	}
	if err := r.countCut(ctx, reply.StopReason == model.StopMaxTokens || anyCut(calls), false); err != nil {
		return err
	}
	r.countFormat(results)
	return r.sayPending(ctx)
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
	return r.say(ctx, model.Text(model.RoleUser, "Your reply was cut at the output limit. "+
		"Split what you want to do into several smaller calls, and write less between them."))
}

// nudge answers a reply without a call, then gives up.
func (r *run) nudge(ctx context.Context, text string) error {
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
	if r.nudges == 1 && text == "" {
		return nil // an empty reply is asked for again as it is, once
	}
	return r.say(ctx, model.Text(model.RoleUser, "You called no tool, so nothing happened. Go on with the task by "+
		"calling one, or call `finish` if the work is done or cannot be done."))
}
