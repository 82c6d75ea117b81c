package agent

import (
	"fmt"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/plan"
)

// Phase is what a run is about at a moment. The runtime sets it from what the
// model does; it is kept in every record.
type Phase string

// The closed set of phases, in their usual order. A run goes back to locate
// when a check fails in the same way whatever is changed.
const (
	PhaseLocate Phase = "locate" // looking for the place
	PhasePlan   Phase = "plan"   // a plan is made, nothing is changed yet
	PhaseEdit   Phase = "edit"   // files were changed since a check last ran
	PhaseVerify Phase = "verify" // a check ran on the files as they are
	PhaseReview Phase = "review" // the difference was shown for review
)

// The limits of phases, in steps (RUNTIME 1.2).
const (
	// LocateSteps is how long a run may only look: then reading is refused
	// until there is a plan or a change.
	LocateSteps = 15
	// PlanSteps is how long it may go on looking with a plan before it is told.
	PlanSteps = 10
)

// phases is the phase of a run and how long it has lasted.
type phases struct {
	now   Phase
	steps int
	// held: nothing may be changed until the plan is made anew.
	held bool
}

func (p *phases) enter(next Phase) {
	if p.now != next {
		p.now, p.steps = next, 0
	}
}

// stepped counts a step and gives what is to be said about it, or "".
func (p *phases) stepped(kind TaskKind) string {
	p.steps++
	switch {
	case kind == KindAnswer:
		return ""
	case p.now == PhaseLocate && p.steps == LocateSteps:
		return fmt.Sprintf("You have looked around for %d steps. Write down what you know and what you will change with "+
			"update_plan, or make the change: until then reading is refused.", LocateSteps)
	case p.now == PhasePlan && p.steps == PlanSteps:
		return fmt.Sprintf("%d steps have passed since your plan and nothing is changed. Begin with its first item.", PlanSteps)
	}
	return ""
}

// planned is what a new plan means.
func (p *phases) planned() {
	p.held = false
	if p.now == PhaseLocate {
		p.enter(PhasePlan)
	}
}

// back sends a run to look again; changes are refused until it has planned.
func (p *phases) back() {
	p.enter(PhaseLocate)
	p.held = true
}

// refuse says why a call does not fit the phase, or nil.
func (p *phases) refuse(name string, effect tool.Effect, kind TaskKind) *tool.Result {
	var res tool.Result
	switch {
	case kind == KindAnswer || name == plan.Name:
		return nil
	case p.held && effect == tool.EffectWrite && name != restoreName:
		res = tool.Failf(tool.CodeLoopBlocked, "not run: the last changes did not help; look for the cause, then write a new plan with update_plan")
	case p.now == PhaseLocate && p.steps >= LocateSteps && effect == tool.EffectRead:
		res = tool.Failf(tool.CodeBudgetExceeded, "not run: %d steps of reading are over; write down what you know with update_plan, or make the change", LocateSteps)
	default:
		return nil
	}
	res.Text = fmt.Sprintf("%s: %s", res.Code, res.Message)
	return &res
}
