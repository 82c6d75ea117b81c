package agent

import (
	"fmt"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
)

// reopen settles a call that was intended and has no result: it is to be run,
// or it has the result that is returned.
func (r *run) reopen(c model.ToolCall, past taped) *tool.Result {
	if past.suspended {
		return nil
	}
	switch r.effect(c) {
	case tool.EffectWrite:
		return r.settleWrite(past)
	case tool.EffectExec:
		res := r.uncertain(c, past)
		return &res
	case tool.EffectRead, tool.EffectState:
	}
	return nil
}

// settleWrite compares the files with those before the call, and with those
// behind it if they were kept.
func (r *run) settleWrite(past taped) *tool.Result {
	before := past.intended.Tree
	if r.found == "" || r.found == before {
		return nil
	}
	var res tool.Result
	if past.after != nil && past.after.Tree == r.found {
		res = tool.OKText("This was done; its report is lost with the worker that did it. Read the file before you change it again.")
	} else {
		res = tool.Failf(tool.CodeConflict, "not run: the worker was lost, and the files are neither as they were before this call nor as it would leave them. Look at them first")
		res.Text = fmt.Sprintf("%s: %s", res.Code, res.Message)
	}
	r.tree = r.found
	return &res
}

// uncertain is the result of a command of which nobody knows how far it came.
func (r *run) uncertain(c model.ToolCall, past taped) tool.Result {
	files := "The files are as they were before it."
	switch {
	case r.found == "" || r.found == past.intended.Tree:
	case past.after != nil && past.after.Tree == r.found:
		files = "The files are as it left them."
	default:
		files = "The files are not as they were before it."
	}
	res := tool.Failf(tool.CodeUncertain, "the worker was lost while %s ran. %s What it did outside of the workspace is gone or unknown, "+
		"and nothing says how far it came. Look before you run it again", c.Name, files)
	res.Text = fmt.Sprintf("%s: %s", res.Code, res.Message)
	return res
}
