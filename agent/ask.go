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
	if r.due() {
		if err := r.compact(ctx, false); err != nil {
			return model.Response{}, err
		}
	}
	for try := 0; ; try++ {
		reply, err := r.send(ctx, r.stepRole(), r.request(noCalls))
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
		if err := r.compact(ctx, try > 0); err != nil {
			return model.Response{}, err
		}
	}
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
