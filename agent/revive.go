package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/tool/plan"
)

// restoreCells takes the state from cells. What is not there stays as a new
// run has it.
func (r *run) restoreCells(cells map[string]string) error {
	var faults []error
	get := func(text string, v any) {
		if err := json.Unmarshal([]byte(text), v); err != nil {
			faults = append(faults, err)
		}
	}
	stuck := make(map[string]string)
	for name, text := range cells {
		switch kind, rest, many := strings.Cut(name, "/"); {
		case many && kind+"/" == cellStuck:
			stuck[rest] = text
		case many && kind+"/" == cellProof:
			var p Proof
			get(text, &p)
			r.proofs[rest] = p
		case many && kind+"/" == cellSyntax:
			var fault string
			get(text, &fault)
			r.syntax[rest] = fault
		case many && kind+"/" == cellBack:
			r.sentBack[rest] = true
		case name == cellSummary:
			get(text, &r.summary)
		case name == cellPlan:
			var p plan.Plan
			get(text, &p)
			r.plan, r.out.Plan = p, p.Items
		case name == cellUsed:
			var used []string
			get(text, &used)
			for _, u := range used {
				r.used[u] = true
			}
		}
	}
	r.stuck.Restore(stuck)
	r.restoreEnd(cells[cellEnd], get)
	r.restoreRun(cells[cellRun], get)
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("decoding the state of the run: %w", err)
	}
	return nil
}

func (r *run) restoreEnd(text string, get func(string, any)) {
	if text == "" {
		return
	}
	var e endCell
	get(text, &e)
	r.out.State, r.out.Reason, r.out.Summary, r.out.Answer = e.State, e.Reason, e.Summary, e.Answer
	r.out.Unverified, r.out.Question = e.Unverified, e.Question
	if e.Replies != nil {
		r.out.Replies = e.Replies
	}
}

func (r *run) restoreRun(text string, get func(string, any)) {
	var c runCell
	get(text, &c)
	r.phase = phases{now: c.Phase, steps: c.PhaseSteps, held: c.Held}
	r.out.Steps, r.out.ToolCalls, r.out.Compactions, r.out.Usage, r.out.CostMicroUSD = c.Steps, c.ToolCalls, c.Compactions, c.Usage, c.CostMicroUSD
	r.tree, r.kept, r.writes, r.edits, r.compactAgain = c.Tree, c.Kept, c.Writes, c.Edits, c.CompactAgain
	r.nudges, r.formatErrors, r.cuts, r.empty = c.Nudges, c.FormatErrors, c.Cuts, c.Empty
	r.reviewed, r.reviews, r.refusals, r.checkRuns = c.Reviewed, c.Reviews, c.Refusals, c.CheckRuns
	r.wrapUpSaid, r.status, r.figures = c.WrapUpSaid, c.Status, c.Window
}
