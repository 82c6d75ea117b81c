package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/stuck"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/finish"
	"github.com/greenwright/greenwright/agent/tool/plan"
	"github.com/greenwright/greenwright/agent/tool/shell"
)

// proof is the last run of a verifying command and the tree it left.
type proof struct {
	exitCode int
	tree     string
}

// after does what follows from a result: the tree is named anew, plan, proofs
// and submission are taken, repeats are counted.
func (r *run) after(ctx context.Context, c model.ToolCall, res *tool.Result, before string) error {
	effect := r.effect(c)
	if effect == tool.EffectWrite || effect == tool.EffectExec {
		r.refreshTree(ctx, len(res.Effects) > 0)
	}
	switch data := res.Data.(type) {
	case plan.List:
		r.out.Plan = data
	case shell.Run:
		r.prove(data)
	case finish.Submission:
		return r.submit(ctx, data, res)
	}
	if res.Code == tool.CodeApprovalNeeded {
		r.end(StateAwaitingApproval, res.Message)
	}
	if r.stuck.After(c.Name, c.Arguments, before, res.Text) == stuck.Nudge {
		r.stuckNotes = append(r.stuckNotes, fmt.Sprintf("You have called %s %d times with the same arguments and got the "+
			"same result, with no change to the files in between. It will not be different the next time: do something else.",
			c.Name, stuck.NudgeAt))
	}
	return nil
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

// prove notes that a verifying command ran on the files as they are now.
func (r *run) prove(ran shell.Run) {
	if ran.Execution.Cause != tool.CauseExited {
		return
	}
	for _, c := range r.task.Checks {
		if sameCommand(c.Command, ran.Command.Script) && strings.Trim(c.Dir, "/") == ran.Command.Dir {
			r.proofs[c.Name] = proof{exitCode: ran.Execution.ExitCode, tree: r.tree}
		}
	}
}

// sameCommand compares scripts but for spacing.
func sameCommand(a, b string) bool {
	return strings.Join(strings.Fields(a), " ") == strings.Join(strings.Fields(b), " ")
}

// denyRepeat blocks a call that was seen to change nothing too often.
func (r *run) denyRepeat(c model.ToolCall) *tool.Result {
	if c.Name == finish.Name {
		return nil
	}
	verdict := r.stuck.Before(c.Name, c.Arguments, r.tree)
	if verdict == stuck.Go {
		return nil
	}
	res := tool.Failf(tool.CodeLoopBlocked, "not run: the same call gave the same result %d times and no file has changed since", stuck.BlockAt-1)
	res.Text = fmt.Sprintf("%s: %s", res.Code, res.Message)
	if verdict == stuck.End {
		r.end(StateLooped, fmt.Sprintf("%s was called again and again without effect", c.Name))
	}
	return &res
}

// sayPending says what came up while the calls of this step ran: it may stand
// only after their results.
func (r *run) sayPending(ctx context.Context) error {
	pending := r.late
	for _, n := range r.stuckNotes {
		pending = append(pending, "Platform notice: "+n)
	}
	r.late, r.stuckNotes = nil, nil
	for _, text := range pending {
		if err := r.say(ctx, model.Text(model.RoleUser, text)); err != nil {
			return err
		}
	}
	return nil
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
