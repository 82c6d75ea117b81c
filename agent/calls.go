package agent

import (
	"context"
	"errors"
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
	ways    []way
	pasts   []taped
	failed  bool // a call failed: what would change anything is not run
}

// way is how a call gets its result.
type way int

const (
	wayAnswer way = iota // it is not run: the result is there
	wayRun               // it is run
	wayRecord            // a worker before has run or answered it
)

// runCalls runs the calls of one reply: neighbouring read-only ones side by
// side, everything else in order. Each call gets a result.
func (r *run) runCalls(ctx context.Context, calls []model.ToolCall) ([]tool.Result, error) {
	calling, cancel := context.WithDeadlineCause(ctx, r.softEnd, errTimeLimit)
	defer cancel()
	b := &batch{
		calls: calls, results: make([]tool.Result, len(calls)), calling: tool.WithRoom(calling, r.room(len(calls))),
		ways: make([]way, len(calls)), pasts: make([]taped, len(calls)),
	}
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
	if err := r.yield(); err != nil {
		return err
	}
	before := r.tree
	for i := from; i < to; i++ {
		if err := r.begin(ctx, b, i); err != nil {
			return err
		}
	}
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i := from; i < to; i++ {
		if b.ways[i] == wayRun {
			group.Go(func() error {
				b.results[i] = r.execute(b.calling, b.calls[i])
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var suspended error
	for i := from; i < to; i++ {
		err := r.settle(ctx, b, i, before)
		if errors.Is(err, errSuspended) {
			suspended = err
		} else if err != nil {
			return err
		}
	}
	return suspended
}

// begin decides how a call gets its result, and records that it is to be run.
func (r *run) begin(ctx context.Context, b *batch, i int) error {
	call, past := b.calls[i], r.tape.call(b.calls[i].ID)
	denied := r.deny(b.calling, b, call)
	b.pasts[i] = past
	switch {
	case past.finished != nil:
		b.ways[i], denied = wayRecord, past.finished.Call.Result
		if denied == nil {
			return fmt.Errorf("a finished call is recorded without its result: %w", errDiverged)
		}
	case past.open():
		denied = r.reopen(call, past)
	}
	if past.intended != nil || denied == nil {
		r.out.ToolCalls++
	}
	if denied != nil {
		b.results[i] = *denied
		return nil
	}
	b.ways[i] = wayRun
	r.live()
	if r.effect(call) == tool.EffectExec { // what it may undo or overwrite is kept first
		if err := r.snapshot(ctx); err != nil {
			return err
		}
	}
	return r.recordCall(ctx, call, EntryIntended, nil)
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

// settle does what follows from a result, keeps the files and records the call
// as finished.
func (r *run) settle(ctx context.Context, b *batch, i int, before string) error {
	call, res := b.calls[i], b.results[i]
	b.failed = b.failed || !res.OK
	switch b.ways[i] {
	case wayRecord:
		rec := *b.pasts[i].finished
		r.segment.take(rec)
		if b.pasts[i].intended == nil || res.Code == tool.CodeUncertain {
			r.tree = rec.Call.Tree
			return nil
		}
		return r.adopt(call, rec.Call, before)
	case wayRun:
		if res.Code == tool.CodeApprovalNeeded {
			return r.suspend(ctx, call, &res)
		}
		if err := r.after(ctx, call, &res, before); err != nil {
			return err
		}
		b.results[i] = res
		b.failed = b.failed || !res.OK
	case wayAnswer:
		if res.OK && r.tree != before {
			r.changed(call, r.effect(call))
		}
	}
	if r.effect(call) != tool.EffectRead {
		if err := r.snapshot(ctx); err != nil {
			return err
		}
	}
	return r.recordCall(ctx, call, EntryFinished, &res)
}

// suspend ends the run until a person has decided about a call. The call stays
// open: who goes on with the run runs it.
func (r *run) suspend(ctx context.Context, c model.ToolCall, res *tool.Result) error {
	r.end(StateAwaitingApproval, res.Message)
	if err := r.recordCall(ctx, c, EntrySuspended, res); err != nil {
		return err
	}
	return errSuspended
}

func (r *run) recordCall(ctx context.Context, c model.ToolCall, kind EntryKind, res *tool.Result) error {
	spec, _ := r.agent.registry.Spec(c.Name)
	rec := &CallRecord{Call: c, Tier: spec.Tier, Effect: spec.Effect, Tree: r.tree, Result: res}
	if kind == EntryFinished {
		rec.Proved, rec.Verdict, rec.Memory = r.proofsOfCall, r.verdict, r.newMemory()
		r.proofsOfCall, r.verdict = nil, nil
	}
	return r.record(ctx, Entry{Kind: kind, Call: rec})
}
