package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/agent/model"
)

// maxOverflows is how often a request that is refused for its length is made
// shorter and sent again: by compaction, then by a hard reset (RUNTIME 3.7).
const maxOverflows = 2

// ask sends the transcript and returns the reply, recorded and counted. It is
// compacted beforehand when it is too long, and again when the server says so.
func (r *run) ask(ctx context.Context, noCalls bool) (model.Response, error) {
	role := r.stepRole()
	r.upcoming()
	if next, open := r.tape.next(); !open || next == RoleSummarise {
		if r.due() {
			if err := r.compactNow(ctx, false, noCalls); err != nil {
				return model.Response{}, err
			}
		}
	}
	switch reply, err := r.replayed(role); {
	case err != nil:
		return model.Response{}, err
	case reply != nil:
		return *reply, nil
	}
	if err := r.sayMoved(ctx); err != nil {
		return model.Response{}, err
	}
	for try := 0; ; try++ {
		reply, err := r.send(ctx, role, r.request(noCalls))
		if err == nil {
			r.window.Sent(reply.Usage.InputTotal())
			return reply, nil
		}
		if !errors.Is(err, model.ErrOverflow) || try == maxOverflows {
			return reply, err
		}
		if e, ok := errors.AsType[*model.Error](err); ok {
			r.window.Refused(e.Limit, e.Asked)
		}
		if err := r.compactNow(ctx, try > 0, noCalls); err != nil {
			return model.Response{}, err
		}
	}
}

// compactNow makes the transcript shorter and records what it is then, so that
// nobody has to do it again.
func (r *run) compactNow(ctx context.Context, hard, noCalls bool) error {
	if err := r.compact(ctx, hard); err != nil || r.window.Rewritten() == r.rewritten {
		return err
	}
	asking := AskingStep
	if noCalls {
		asking = AskingLast
	}
	return r.checkpoint(ctx, asking)
}

// replayed is the reply that is recorded, nil if the request is to be sent. A
// request without one is open, or was refused for its length: what was then
// done about it is done again.
func (r *run) replayed(role Role) (*model.Response, error) {
	for again := true; again; {
		if reply, came := r.tape.reply(role); came {
			r.window.Sent(reply.Usage.InputTotal())
			r.count(role, reply)
			return reply, nil
		}
		before := len(r.tape.seq) // who sent it again may have said first that it is another worker
		r.upcoming()
		again = len(r.tape.seq) < before
	}
	for next, open := r.tape.next(); open && next == RoleSummarise; next, open = r.tape.next() {
		if reply, came := r.tape.reply(RoleSummarise); came {
			r.count(RoleSummarise, reply)
		}
	}
	if !r.tape.dry() {
		return nil, fmt.Errorf("a request is recorded without its reply: %w", errDiverged)
	}
	return nil, nil //nolint:nilnil // no reply is recorded
}

// count takes a reply that is recorded.
func (r *run) count(role Role, reply *model.Response) {
	r.segment.take(Entry{Kind: EntryRequest, Request: &RequestRecord{Role: role}})
	r.segment.take(Entry{Kind: EntryReply, Reply: reply})
	for _, c := range reply.Message.Calls() {
		r.ids.Know(c.ID)
	}
	r.out.Usage = r.out.Usage.Add(reply.Usage)
	r.out.CostMicroUSD += reply.CostMicroUSD
}

func (r *run) request(noCalls bool) model.Request {
	return model.Request{
		System:          r.system,
		Messages:        r.window.Messages(),
		Tools:           r.agent.specs,
		NoCalls:         noCalls,
		MaxOutputTokens: r.limits.MaxOutputTokens,
		Task:            &model.TaskFacts{Checks: r.task.Checks},
	}
}

// send asks the model of a role, with the request and the reply recorded and
// what it used counted.
func (r *run) send(ctx context.Context, role Role, req model.Request) (model.Response, error) {
	if reply, came := r.tape.reply(role); came {
		r.count(role, reply)
		return *reply, nil
	}
	m := r.agent.model(role)
	err := r.record(ctx, Entry{Kind: EntryRequest, Request: &RequestRecord{
		Model: m.Name(), Role: role, Messages: len(req.Messages), EstimatedTokens: r.window.Tokens(),
		MaxOutputTokens: req.MaxOutputTokens, NoCalls: req.NoCalls,
	}})
	if err != nil {
		return model.Response{}, err
	}
	reply, err := m.Complete(ctx, req)
	if err != nil {
		return model.Response{}, fmt.Errorf("asking the model: %w", err)
	}
	r.ids.Fix(&reply.Message)
	r.out.Usage = r.out.Usage.Add(reply.Usage)
	r.out.CostMicroUSD += reply.CostMicroUSD
	return reply, r.record(ctx, Entry{Kind: EntryReply, Reply: &reply})
}
