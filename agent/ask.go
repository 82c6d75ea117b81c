package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/agent/model"
)

// ask sends the transcript and returns the reply, recorded and counted. When
// the request does not fit it is compacted, and once more harder.
func (r *run) ask(ctx context.Context, noCalls bool) (model.Response, error) {
	req := r.request(noCalls)
	if r.window.Full(r.window.Estimate(req)) {
		if err := r.compact(ctx, false); err != nil {
			return model.Response{}, err
		}
	}
	reply, err := r.send(ctx, noCalls)
	if !errors.Is(err, model.ErrOverflow) {
		return reply, err
	}
	if err := r.compact(ctx, true); err != nil {
		return model.Response{}, err
	}
	return r.send(ctx, noCalls)
}

func (r *run) request(noCalls bool) model.Request {
	return model.Request{
		System:          r.system,
		Messages:        r.messages,
		Tools:           r.agent.specs,
		NoCalls:         noCalls,
		MaxOutputTokens: r.limits.MaxOutputTokens,
		Task:            &model.TaskFacts{Checks: r.task.Checks},
	}
}

func (r *run) send(ctx context.Context, noCalls bool) (model.Response, error) {
	req := r.request(noCalls)
	estimated := r.window.Estimate(req)
	err := r.record(ctx, Entry{Kind: EntryRequest, Request: &RequestRecord{
		Model: r.agent.cfg.Model.Name(), Messages: len(req.Messages), EstimatedTokens: estimated,
		MaxOutputTokens: req.MaxOutputTokens, NoCalls: noCalls,
	}})
	if err != nil {
		return model.Response{}, err
	}
	reply, err := r.agent.cfg.Model.Complete(ctx, req)
	if err != nil {
		return model.Response{}, fmt.Errorf("asking the model: %w", err)
	}
	r.ids.fix(&reply.Message)
	r.out.Usage = r.out.Usage.Add(reply.Usage)
	r.window.Observe(estimated, reply.Usage.InputTotal())
	return reply, r.record(ctx, Entry{Kind: EntryReply, Reply: &reply})
}

// compact shortens what the model sees. A compaction that frees too little is
// an overflow only when the request could not be sent without it.
func (r *run) compact(ctx context.Context, hard bool) error {
	messages, report := r.window.Compact(r.messages, hard)
	if !report.Enough() && (hard || report.Before > r.window.Usable()) {
		if !hard {
			return r.compact(ctx, true)
		}
		return &model.Error{Class: model.ClassOverflow, Message: "compaction freed too little"}
	}
	if report.After == report.Before {
		return nil
	}
	r.messages = messages
	for _, c := range report.Dropped {
		r.agent.registry.Forget(c.Name, c.Arguments)
	}
	return r.note(ctx, fmt.Sprintf("compacted the transcript from about %d to %d tokens (%d results shortened)",
		report.Before, report.After, len(report.Dropped)))
}
