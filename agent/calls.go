package agent

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/window"
)

// maxParallel is how many read-only calls of one reply run at once (RUNTIME 1.1).
const maxParallel = 8

// batch is one pass over the calls of a reply.
type batch struct {
	calling context.Context //nolint:containedctx // ends with the wall clock; what follows from a result does not
	calls   []model.ToolCall
	results []tool.Result
	failed  bool // a call failed: what would change anything is not run
}

// runCalls runs the calls of one reply: neighbouring read-only ones side by
// side, everything else in order. Each call gets a result.
func (r *run) runCalls(ctx context.Context, calls []model.ToolCall) ([]tool.Result, error) {
	calling, cancel := context.WithDeadlineCause(ctx, r.softEnd, errTimeLimit)
	defer cancel()
	b := &batch{calls: calls, results: make([]tool.Result, len(calls)), calling: tool.WithRoom(calling, r.room(len(calls)))}
	for from := 0; from < len(calls); {
		to := from + 1
		for r.effect(calls[from]) == tool.EffectRead && to < len(calls) && r.effect(calls[to]) == tool.EffectRead {
			to++
		}
		if err := r.runGroup(ctx, b, from, to); err != nil {
			return nil, err
		}
		from = to
	}
	return b.results, nil
}

// effect of a call that names no tool is a state change: it runs alone.
func (r *run) effect(c model.ToolCall) tool.Effect {
	if spec, ok := r.agent.registry.Spec(c.Name); ok {
		return spec.Effect
	}
	return tool.EffectState
}

// runGroup runs calls from..to: recorded as intended in order, run, recorded
// as finished in order.
func (r *run) runGroup(ctx context.Context, b *batch, from, to int) error {
	before := r.tree
	runs := make([]bool, to)
	for i := from; i < to; i++ {
		if denied := r.deny(b.calling, b, b.calls[i]); denied != nil {
			b.results[i] = *denied
			continue
		}
		runs[i] = true
		if r.effect(b.calls[i]) == tool.EffectExec { // what it may undo or overwrite is kept first
			if err := r.snapshot(ctx); err != nil {
				return err
			}
		}
		r.out.ToolCalls++
		if err := r.recordCall(ctx, b.calls[i], EntryIntended, nil); err != nil {
			return err
		}
	}
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i := from; i < to; i++ {
		if runs[i] {
			group.Go(func() error {
				b.results[i] = r.execute(b.calling, b.calls[i])
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i := from; i < to; i++ {
		if err := r.settle(ctx, b, i, runs[i], before); err != nil {
			return err
		}
	}
	return nil
}

// room is how many bytes each of n results of a reply may have: together they
// must fit, or they would be left out again before the model has seen them.
func (r *run) room(n int) int {
	return min(r.window.ItemBytes(), r.window.Bytes(window.ReplyShare)/max(n, 1))
}

// execute runs one call.
func (r *run) execute(ctx context.Context, c model.ToolCall) tool.Result {
	return r.agent.registry.Run(ctx, tool.Call{Name: c.Name, Args: c.Arguments, Cut: c.Cut})
}

// deny says why a call is not to run at all, or nil.
func (r *run) deny(ctx context.Context, b *batch, c model.ToolCall) *tool.Result {
	var res tool.Result
	switch {
	case r.out.State != "":
		res = tool.Failf(tool.CodeNotRun, "not run: the run has ended")
	case ctx.Err() != nil:
		res = tool.Failf(tool.CodeNotRun, "not run: the run is being stopped")
	case b.failed && r.effect(c) != tool.EffectRead:
		res = tool.Failf(tool.CodeNotRun, "not run: an earlier call failed")
	case r.out.ToolCalls >= r.limits.ToolCalls:
		res = tool.Failf(tool.CodeBudgetExceeded, "not run: the limit of %d tool calls is used up", r.limits.ToolCalls)
	default:
		if out := r.phase.refuse(c.Name, r.effect(c), r.task.Kind); out != nil {
			return out
		}
		return r.denyRepeat(c)
	}
	res.Text = fmt.Sprintf("%s: %s", res.Code, res.Message)
	return &res
}

// settle does what follows from a result and records the call as finished.
func (r *run) settle(ctx context.Context, b *batch, i int, ran bool, before string) error {
	call, res := b.calls[i], b.results[i]
	if ran {
		if err := r.after(ctx, call, &res, before); err != nil {
			return err
		}
		b.results[i] = res
	}
	b.failed = b.failed || !res.OK
	return r.recordCall(ctx, call, EntryFinished, &res)
}

func (r *run) recordCall(ctx context.Context, c model.ToolCall, kind EntryKind, res *tool.Result) error {
	spec, _ := r.agent.registry.Spec(c.Name)
	return r.record(ctx, Entry{Kind: kind, Call: &CallRecord{
		Call: c, Tier: spec.Tier, Effect: spec.Effect, Tree: r.tree, Result: res,
	}})
}
