package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/ask"
	"github.com/greenwright/greenwright/agent/tool/edit"
	"github.com/greenwright/greenwright/agent/tool/finish"
	"github.com/greenwright/greenwright/agent/tool/plan"
	"github.com/greenwright/greenwright/agent/tool/shell"
)

// after does what follows from a result: the tree is named anew, plan, proofs
// and submission are taken, circles are looked for.
func (r *run) after(ctx context.Context, c model.ToolCall, res *tool.Result, before string) error {
	effect := r.effect(c)
	if effect == tool.EffectWrite || effect == tool.EffectExec {
		r.refreshTree(ctx, len(res.Effects) > 0)
	}
	r.touched(c, before)
	switch data := res.Data.(type) {
	case shell.Run:
		r.prove(data)
	case []shell.Run:
		for _, ran := range data {
			r.prove(ran)
		}
	case finish.Submission:
		return r.submit(ctx, data, res)
	}
	r.heed(*res)
	r.lookForCircles(c, res, before)
	return nil
}

// adopt does what follows from a call that a worker before has run, from its
// record.
func (r *run) adopt(c model.ToolCall, rec *CallRecord, before string) error {
	res := *rec.Result
	res.Data = decodeData(c.Name, res.Data)
	if effect := r.effect(c); (effect == tool.EffectWrite || effect == tool.EffectExec) && len(res.Effects) > 0 {
		r.writes++
	}
	if rec.Verdict != nil {
		r.touched(c, before)
		r.adoptChecks()
		r.tree = rec.Tree
		return r.heedVerdict(*rec.Verdict, res)
	}
	r.tree = rec.Tree
	r.touched(c, before)
	for _, p := range rec.Proved {
		r.proved(p)
	}
	r.heed(res)
	r.lookForCircles(c, &res, before)
	return nil
}

// touched notes that a tool ran, and what it means if the tree has changed.
func (r *run) touched(c model.ToolCall, before string) {
	r.used[c.Name] = true
	if r.tree != before {
		r.changed(c, r.effect(c))
	}
}

// heed takes what a result says besides its text.
func (r *run) heed(res tool.Result) {
	switch data := res.Data.(type) {
	case plan.Plan:
		r.plan, r.out.Plan = data, data.Items
		r.phase.planned()
	case edit.Edited:
		r.noteSyntax(res.Effects, data)
	case ask.Question:
		r.out.Question = data.Text
		r.end(StateAsked, "the agent asks a person")
	}
}

// decodeData gives the Data of a recorded result the type that its tool gives
// it; of tools whose Data nothing follows from it stays as it is. To add a
// tool to whose Data the loop listens: a case here and one in heed.
func decodeData(name string, data any) any {
	switch name {
	case plan.Name:
		return decoded[plan.Plan](data)
	case ask.Name:
		return decoded[ask.Question](data)
	case finish.Name:
		return decoded[finish.Submission](data)
	case "edit_file", "apply_patch", "write_file", "move_file", "delete_file":
		return decoded[edit.Edited](data)
	}
	return data
}

// decoded is generic JSON as a T; what is none stays as it is.
func decoded[T any](data any) any {
	if data == nil {
		return nil
	}
	raw, err := json.Marshal(data)
	if err != nil {
		return data
	}
	var v T
	if json.Unmarshal(raw, &v) != nil {
		return data
	}
	return v
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
