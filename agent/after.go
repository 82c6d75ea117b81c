package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/stuck"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/ask"
	"github.com/greenwright/greenwright/agent/tool/edit"
	"github.com/greenwright/greenwright/agent/tool/finish"
	"github.com/greenwright/greenwright/agent/tool/plan"
	"github.com/greenwright/greenwright/agent/tool/shell"
)

// proof is the last run of a verifying command and the tree it left.
type proof struct {
	cause    tool.Cause
	exitCode int
	tree     string
	output   string // its end, when it was not green
}

func (p proof) green() bool { return p.cause == tool.CauseExited && p.exitCode == 0 }

// how is how it ended, in words.
func (p proof) how() string {
	if p.cause != tool.CauseExited {
		return "ended: " + string(p.cause)
	}
	return fmt.Sprintf("exit code %d", p.exitCode)
}

// identify tells checks apart: names may repeat.
func identify(c model.Check) string {
	return strings.Trim(c.Dir, "/") + "\x00" + strings.Join(strings.Fields(c.Command), " ")
}

// after does what follows from a result: the tree is named anew, plan, proofs
// and submission are taken, circles are looked for.
func (r *run) after(ctx context.Context, c model.ToolCall, res *tool.Result, before string) error {
	effect := r.effect(c)
	if effect == tool.EffectWrite || effect == tool.EffectExec {
		r.refreshTree(ctx, len(res.Effects) > 0)
	}
	r.used[c.Name] = true
	if r.tree != before {
		r.changed(c, effect)
	}
	switch data := res.Data.(type) {
	case plan.Plan:
		r.plan, r.out.Plan = data, data.Items
		r.phase.planned()
	case shell.Run:
		r.prove(data)
	case []shell.Run:
		for _, ran := range data {
			r.prove(ran)
		}
	case edit.Edited:
		r.noteSyntax(res.Effects, data)
	case ask.Question:
		r.out.Question = data.Text
		r.end(StateAsked, "the agent asks a person")
	case finish.Submission:
		return r.submit(ctx, data, res)
	}
	if res.Code == tool.CodeApprovalNeeded {
		r.end(StateAwaitingApproval, res.Message)
	}
	r.lookForCircles(c, res, before)
	return nil
}

// changed is what a changed tree means. What a check leaves behind is no change
// of the agent's.
func (r *run) changed(c model.ToolCall, effect tool.Effect) {
	clear(r.used)
	if r.isCheck(c) {
		return
	}
	r.edits++
	r.phase.enter(PhaseEdit)
	if effect == tool.EffectExec || c.Name == restoreName {
		clear(r.syntax) // it may have mended what an edit broke; the checks will tell
	}
}

// restoreName is the tool that takes files back.
const restoreName = "restore"

// isCheck says that a call runs a verifying command, and no more.
func (r *run) isCheck(c model.ToolCall) bool {
	if c.Name == shell.ChecksName {
		return true
	}
	var args struct {
		Command string `json:"command"`
	}
	if c.Name != shell.Name || json.Unmarshal(c.Arguments, &args) != nil {
		return false
	}
	return slices.ContainsFunc(r.checks(), func(k model.Check) bool { return sameCommand(k.Command, args.Command) })
}

// noteSyntax keeps, for the review, which files an edit left unparsable.
func (r *run) noteSyntax(effects []tool.FileEffect, edited edit.Edited) {
	for _, e := range effects {
		delete(r.syntax, e.Path)
	}
	for _, f := range edited.Syntax {
		if _, known := r.syntax[f.Path]; !known {
			r.syntax[f.Path] = fmt.Sprintf("line %d, column %d: %s", f.Line, f.Column, f.Message)
		}
	}
}

// refreshTree names the work tree. Without a hasher the number of writes stands
// for it; when one fails, the last name does, unless something was written.
func (r *run) refreshTree(ctx context.Context, wrote bool) {
	if wrote || r.tree == "" {
		r.writes++
	}
	if r.agent.cfg.Tree == nil {
		r.tree = fmt.Sprintf("write-%d", r.writes)
		return
	}
	name, err := r.agent.cfg.Tree.TreeHash(ctx)
	if err == nil {
		r.tree = name
		return
	}
	r.agent.cfg.Log.Warn("work tree could not be named", "run_id", r.task.ID, "error", err)
	if wrote || r.tree == "" {
		r.tree = fmt.Sprintf("unnamed-%d", r.writes)
	}
}

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

// prove notes that a verifying command ran on the files as they are now. The
// same failure whatever is changed sends the run back to look for the cause.
func (r *run) prove(ran shell.Run) {
	for _, c := range r.checks() {
		if c.Unable != "" || !sameCommand(c.Command, ran.Command.Script) || strings.Trim(c.Dir, "/") != ran.Command.Dir {
			continue
		}
		id := identify(c)
		p := proof{cause: ran.Execution.Cause, exitCode: ran.Execution.ExitCode, tree: r.tree}
		if r.edits > 0 && r.phase.now != PhaseLocate {
			r.phase.enter(PhaseVerify)
		}
		if p.green() {
			r.stuck.Passed(id)
		} else {
			p.output, _ = tool.Cut(tool.Clean(string(slices.Concat(ran.Execution.Head, ran.Execution.Tail))), checkTail, 0)
			r.countFailure(c, id, p)
		}
		r.proofs[id] = p
	}
}

// countFailure counts failures by the edits before them. Once for each check:
// one that is red for another reason must not stop the work again and again.
func (r *run) countFailure(c model.Check, id string, p proof) {
	if r.edits == 0 || p.cause != tool.CauseExited || r.sentBack[id] {
		return
	}
	if !r.stuck.Failed(id, p.output, fmt.Sprint(r.edits)) {
		return
	}
	r.sentBack[id] = true
	r.phase.back()
	r.notices = append(r.notices, fmt.Sprintf("%s has failed in the same way after %d different changes, so the cause is "+
		"not where you are changing things. Its output:\n%s\nLook for the cause again (who writes the value that is wrong? "+
		"does the code that you changed run at all?), then write a new plan with update_plan: the edit tools are refused "+
		"until then. If this failure is none of your task, say so in the plan.",
		c.Name, stuck.SameFailures, quote("output of "+c.Name, "", p.output)))
}

// sameCommand compares scripts but for spacing.
func sameCommand(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// countFormat counts replies in a row of whose calls none could be read.
func (r *run) countFormat(results []tool.Result) {
	for _, res := range results {
		switch res.Code {
		case tool.CodeInvalidArgs, tool.CodeUnknownTool, tool.CodeTruncatedArgs, tool.CodeNotRun:
		default:
			r.formatErrors = 0
			return
		}
	}
	r.formatErrors++
	if r.formatErrors >= maxFormatErrors {
		r.end(StateFormatErrors, fmt.Sprintf("%d replies in a row held no call that could be read", r.formatErrors))
	}
}
