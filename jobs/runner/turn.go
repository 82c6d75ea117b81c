package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
)

// let gives one model its turn.
func (s *session) let(ctx context.Context, w worker, checks []model.Check, feedback string) (agent.Outcome, error) {
	if err := s.openWork(ctx); err != nil {
		return agent.Outcome{}, err
	}
	entries, begun := s.past.entries, s.past.model != nil
	s.past.entries, s.past.model = nil, nil
	if len(entries) > 0 { // the agent itself counts what its turn has used
		s.used = s.used.Sub(s.past.turn)
	}
	if !begun {
		if err := s.records.Append(ctx, journal.TypeModel, w.chosen()); err != nil {
			return agent.Outcome{}, err
		}
	}
	s.status.change(func(st *progress.Status) { st.Model = w.name })
	kit, err := s.tools(ctx, w.choice, checks)
	if err != nil {
		return agent.Outcome{}, err
	}
	defer kit.close()
	a, err := agent.New(agent.Config{
		Model: s.purse(w.model, w.choice), Roles: s.purses(w), Tools: kit.tools, Memory: kit.memory, Recorder: s, Inbox: s.ctl.Inbox, Tree: s.work.side, Differ: s.work.side, Snapshots: s.snapshotter(), TextEdits: w.choice.TextEdits,
		Yield: s.ctl.Yield, Shared: s.shared, Now: s.cfg.Now, Log: s.log,
	})
	if err != nil {
		return agent.Outcome{}, fmt.Errorf("making the agent: %w", err)
	}
	s.spent = s.spent || w.name != Mechanic
	task := s.task(checks, feedback)
	task.Limits = s.limits(w)
	if w.name != Mechanic {
		task.Leads = s.leads(ctx, s.index, feedback)
	}
	outcome, err := s.runAgent(ctx, a, task, entries)
	if ctx.Err() != nil {
		return outcome, context.Cause(ctx)
	}
	if stays := s.staysOpen(outcome, err); stays != nil {
		return outcome, stays
	}
	record := journal.AgentEnded{
		Model: w.name, State: string(outcome.State), Reason: outcome.Reason, Claim: claim(outcome), Answer: outcome.Answer, Question: outcome.Question,
		Replies: outcome.Replies, CostMicroUSD: outcome.CostMicroUSD,
	}
	if recErr := s.records.Append(ctx, journal.TypeOutcome, record); recErr != nil {
		return outcome, recErr
	}
	return outcome, s.modelFailed(w, err)
}

// runAgent lets the agent begin, or go on where another worker was.
func (s *session) runAgent(ctx context.Context, a *agent.Agent, task agent.Task, entries []agent.Entry) (agent.Outcome, error) {
	run := a.Run
	if len(entries) > 0 {
		run = func(ctx context.Context, task agent.Task) (agent.Outcome, error) { return a.Resume(ctx, task, entries) }
	}
	outcome, err := run(ctx, task)
	s.spend(outcome)
	return outcome, err
}

// staysOpen is the error of a turn that has not ended: its worker drains, or it
// waits for a service or for a person. Its journal is then gone on with.
func (s *session) staysOpen(o agent.Outcome, err error) error {
	switch {
	case o.State == agent.StateYielded, errors.Is(err, jobs.ErrUnavailable), errors.Is(err, jobs.ErrLeaseLost):
		return err
	case o.State == agent.StateAwaitingApproval && s.awaited != nil:
		return ErrSuspended
	case err != nil && s.ctl.Resumable && s.waitForModel(err) != nil:
		return err
	}
	return nil
}

// claim is a language model's own account; the mechanic's is what it ran.
func claim(o agent.Outcome) string {
	if o.Unverified != "" {
		return o.Summary + "\n\nNot run: " + o.Unverified
	}
	return o.Summary
}

// modelFailed turns an error of the model's service into an end.
func (s *session) modelFailed(w worker, err error) error {
	if _, ok := asModelError(err); !ok {
		return err
	}
	return &ending{
		state: jobs.Failed, err: err, cause: fmt.Sprintf("the model %s could not be used (%s)", w.name, modelFault(err)),
		advice: "the operator: check the key, the model's name and its base URL with `greenwright doctor`; or ask again later.",
	}
}
