package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/stuck"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/shell"
)

// checks are the task's verifying commands and the one that the plan names.
func (r *run) checks() []model.Check {
	checks := r.task.Checks
	for _, c := range checks {
		if sameCommand(c.Command, r.plan.Check) {
			return checks
		}
	}
	if r.plan.Check == "" {
		return checks
	}
	return append(checks[:len(checks):len(checks)], model.Check{Name: "the plan's check, " + r.plan.Check, Command: r.plan.Check})
}

// prove notes that a verifying command ran on the files as they are now.
func (r *run) prove(ran shell.Run) {
	for _, c := range r.checks() {
		if c.Unable != "" || !sameCommand(c.Command, ran.Command.Script) || strings.Trim(c.Dir, "/") != ran.Command.Dir {
			continue
		}
		p := Proof{Check: identify(c), Cause: ran.Execution.Cause, ExitCode: ran.Execution.ExitCode, Tree: r.tree}
		if !p.green() {
			p.Output, _ = tool.Cut(tool.Clean(string(slices.Concat(ran.Execution.Head, ran.Execution.Tail))), checkTail, 0)
		}
		r.proofsOfCall = append(r.proofsOfCall, p)
		r.proved(p)
	}
}

// proved takes a proof. The same failure whatever is changed sends the run back
// to look for the cause.
func (r *run) proved(p Proof) {
	if r.edits > 0 && r.phase.now != PhaseLocate {
		r.phase.enter(PhaseVerify)
	}
	if p.green() {
		r.stuck.Passed(p.Check)
	} else {
		r.countFailure(p)
	}
	r.proofs[p.Check] = p
}

// countFailure counts failures by the edits before them. Once for each check:
// one that is red for another reason must not stop the work again and again.
func (r *run) countFailure(p Proof) {
	if r.edits == 0 || p.Cause != tool.CauseExited || r.sentBack[p.Check] {
		return
	}
	if !r.stuck.Failed(p.Check, p.Output, fmt.Sprint(r.edits)) {
		return
	}
	r.sentBack[p.Check] = true
	r.phase.back()
	name := r.checkName(p.Check)
	r.notices = append(r.notices, fmt.Sprintf("%s has failed in the same way after %d different changes, so the cause is "+
		"not where you are changing things. Its output:\n%s\nLook for the cause again (who writes the value that is wrong? "+
		"does the code that you changed run at all?), then write a new plan with update_plan: the edit tools are refused "+
		"until then. If this failure is none of your task, say so in the plan.",
		name, stuck.SameFailures, quote("output of "+name, "", p.Output)))
}

// checkName is what people call a check.
func (r *run) checkName(id string) string {
	for _, c := range r.checks() {
		if identify(c) == id {
			return c.Name
		}
	}
	return "a check"
}

// identify tells checks apart: names may repeat.
func identify(c model.Check) string {
	return strings.Trim(c.Dir, "/") + "\x00" + strings.Join(strings.Fields(c.Command), " ")
}

// sameCommand compares scripts but for spacing.
func sameCommand(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}
