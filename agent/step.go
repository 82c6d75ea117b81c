package agent

import (
	"context"
	"errors"

	"github.com/greenwright/greenwright/agent/model"
)

// step is one request and what it asks for.
func (r *run) step(ctx context.Context) error {
	if err := r.yield(); err != nil {
		return err
	}
	asking := r.asking
	r.asking = AskingNothing
	switch asking {
	case AskingStep:
		return r.askAndTake(ctx)
	case AskingLast:
		return r.askLast(ctx, r.spent())
	case AskingNothing:
	}
	if err := r.takeInbox(ctx); err != nil {
		return err
	}
	switch used := r.spent(); r.toSay(used) {
	case SaidLast:
		return r.lastStep(ctx, used)
	case SaidWrapUp:
		r.wrapUpSaid = true
		if err := r.say(ctx, SaidWrapUp, model.Text(model.RoleUser, wrapUpText(used))); err != nil {
			return err
		}
	default:
	}
	r.out.Steps++
	return r.askAndTake(ctx)
}

// toSay is which word on limits is due: as recorded, or as is spent.
func (r *run) toSay(used spending) Saying {
	if !r.live() {
		if h := r.upcoming(); h != nil && h.Kind == EntryMessage {
			return h.Said
		}
		return ""
	}
	switch {
	case used.share >= 1:
		return SaidLast
	case used.share >= wrapUpShare && !r.wrapUpSaid:
		return SaidWrapUp
	}
	return ""
}

func (r *run) askAndTake(ctx context.Context) error {
	reply, err := r.ask(ctx, false)
	if err != nil {
		return err
	}
	return r.take(ctx, reply)
}

// lastStep lets the model write up without tools, then ends the run with what
// is there.
func (r *run) lastStep(ctx context.Context, used spending) error {
	if err := r.say(ctx, SaidLast, model.Text(model.RoleUser, lastStepText(used))); err != nil {
		return err
	}
	r.out.Steps++
	return r.askLast(ctx, used)
}

func (r *run) askLast(ctx context.Context, used spending) error {
	reply, err := r.ask(ctx, true)
	_, refused := errors.AsType[*model.Error](err)
	_, overBudget := errors.AsType[*BudgetError](err)
	if err != nil && !refused && !overBudget {
		return err // the journal, or the clock
	}
	if err == nil {
		r.out.Summary = reply.Message.Plain()
		if r.task.Kind == KindAnswer {
			r.out.Answer = r.out.Summary
		}
	}
	r.end(used.state, used.reason)
	return nil
}
