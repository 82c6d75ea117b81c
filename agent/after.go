package agent

import (
	"context"
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
	exitCode int
	tree     string
	output   string // its end, when it failed
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
		clear(r.used)
		r.phase.enter(PhaseEdit)
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

// refreshTree names the work tree. Without a hasher, or when it fails, the
// number of edits seen stands for it.
func (r *run) refreshTree(ctx context.Context, edited bool) {
	if edited {
		r.edits++
	}
	r.tree = fmt.Sprintf("edit-%d", r.edits)
	if r.agent.cfg.Tree == nil || ctx.Err() != nil {
		return
	}
	name, err := r.agent.cfg.Tree.TreeHash(ctx)
	if err != nil {
		r.agent.cfg.Log.Warn("work tree could not be named", "run_id", r.task.ID, "error", err)
		return
	}
	r.tree = name
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
	if ran.Execution.Cause != tool.CauseExited || ran.Infrastructure != "" {
		return
	}
	for _, c := range r.checks() {
		if !sameCommand(c.Command, ran.Command.Script) || strings.Trim(c.Dir, "/") != ran.Command.Dir {
			continue
		}
		p := proof{exitCode: ran.Execution.ExitCode, tree: r.tree}
		r.phase.enter(PhaseVerify)
		if p.exitCode == 0 {
			r.stuck.Passed(c.Name)
		} else {
			p.output, _ = tool.Cut(tool.Clean(string(slices.Concat(ran.Execution.Head, ran.Execution.Tail))), checkTail, 0)
			if r.stuck.Failed(c.Name, p.output, r.tree) && r.edits > 0 {
				r.lookAgain(c, p)
			}
		}
		r.proofs[c.Name] = p
	}
}

// lookAgain tells with the evidence that editing on does not help.
func (r *run) lookAgain(c model.Check, p proof) {
	r.phase.back()
	r.notices = append(r.notices, fmt.Sprintf("%s has failed in the same way after %d different changes, so the cause is "+
		"not where you are changing things. Its output:\n%s\nLook for the cause again (who writes the value that is wrong? "+
		"does the code that you changed run at all?), then write a new plan with update_plan. Changes are refused until then.",
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
