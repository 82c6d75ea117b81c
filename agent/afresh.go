package agent

import (
	"context"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/window"
)

// afresh makes a run of which only those records are taken that every version
// has; its transcript begins with what the platform knows. Calls that are open
// get a result in the records.
func (a *Agent) afresh(ctx context.Context, task Task, p *past, entries []Entry) (*run, error) {
	r := a.resumed(ctx, task, p)
	r.moved, r.afresh, r.arrived, r.begun = true, true, true, true
	r.out.Steps, r.out.ToolCalls, r.out.Usage, r.out.CostMicroUSD = p.steps, p.toolCalls, p.usage, p.cost
	r.phase.now, r.people, r.plan, r.out.Plan = p.phase, p.words, p.plan, p.plan.Items
	if r.phase.now == "" {
		r.phase.now = PhaseLocate
	}
	for _, id := range p.everHeard {
		r.heard[id] = true
	}
	for id := range p.calls {
		r.ids.Know(id)
	}
	r.restoreMemory(nil) // what was shown is in view no more
	r.refreshTree(ctx, false)
	if last, ok := LastSnapshot(entries); ok {
		r.kept, r.misplaced = last.Tree, r.found != "" && last.Tree != r.found
	}
	for _, c := range p.order {
		if err := r.closeOpen(ctx, c, p.calls[c.Call.ID]); err != nil {
			return r, err
		}
	}
	r.first = taskMessage(r.task, r.window.Bytes(window.FixedShare))
	r.window.Restore(r.opening(ctx, true), window.Figures{})
	r.counted, r.rewritten = 0, -1
	return r, nil
}

// closeOpen records a result for a call that has none.
func (r *run) closeOpen(ctx context.Context, c *CallRecord, past *taped) error {
	if !past.open() {
		return nil
	}
	res := tool.Failf(tool.CodeNotRun, "not run: the worker was lost, and the run begins anew with what it has done")
	if c.Effect == tool.EffectExec {
		res = r.uncertain(c.Call, *past)
	}
	return r.recordCall(ctx, c.Call, EntryFinished, &res)
}
