package agent

import (
	"context"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/stuck"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/finish"
)

// denyRepeat blocks a call that was seen to change nothing too often.
func (r *run) denyRepeat(c model.ToolCall) *tool.Result {
	if spec, _ := r.agent.registry.Spec(c.Name); c.Name == finish.Name || spec.Poll {
		return nil
	}
	found := r.stuck.Before(stuck.Call{Name: c.Name, Args: c.Arguments, Tree: r.tree})
	if found.Verdict < stuck.Block {
		return nil
	}
	res := tool.Failf(tool.CodeLoopBlocked, "not run: the same call gave the same result %d times and no file has changed since", stuck.BlockAt-1)
	res.Text = fmt.Sprintf("%s: %s", res.Code, res.Message)
	if found.Verdict == stuck.End {
		r.endLooped(found, c.Name)
	}
	return &res
}

// lookForCircles tells the detector of a call that ran, and acts on what it
// finds.
func (r *run) lookForCircles(c model.ToolCall, res *tool.Result, before string) {
	found := r.stuck.After(stuck.Call{Name: c.Name, Args: c.Arguments, Tree: before},
		stuck.Result{Text: res.Text, Tree: r.tree, Progress: res.Progress, Informs: informs(r.effect(c))})
	switch found.Verdict {
	case stuck.End:
		r.endLooped(found, c.Name)
	case stuck.Nudge:
		r.notices = append(r.notices, r.nudgeText(found, c))
	case stuck.Go, stuck.Block:
	}
}

// informs: what a tool finds out, rather than does, can be news.
func informs(e tool.Effect) bool { return e == tool.EffectRead || e == tool.EffectExec }

func (r *run) endLooped(found stuck.Finding, name string) {
	what := fmt.Sprintf("%s was called again and again without effect", name)
	switch found.Rule {
	case stuck.RuleCycle:
		what = fmt.Sprintf("the same round of calls (%s) was gone through %d times", strings.Join(found.Calls, ", "), found.Times)
	case stuck.RuleUndo:
		what = fmt.Sprintf("the files came back to an earlier state %d times", found.Times)
	case stuck.RuleRepeat:
	}
	r.end(StateLooped, what)
}

// nudgeText quotes the circle and names something that was not tried.
func (r *run) nudgeText(found stuck.Finding, c model.ToolCall) string {
	const most = 200
	args, _ := tool.Cut(tool.Clean(string(c.Arguments)), most, 1)
	text := fmt.Sprintf("You have called %s with %s %d times and got the same result, with no change to the files in "+
		"between. It will not be different the next time.", c.Name, args, found.Times)
	switch found.Rule {
	case stuck.RuleCycle:
		text = fmt.Sprintf("You have gone through the same round of calls %d times: %s. Another round will end the same way.",
			found.Times, strings.Join(found.Calls, ", "))
	case stuck.RuleUndo:
		text = fmt.Sprintf("The files have come back to a state that they were in before, for the %d. time: you change "+
			"something and take it back. Decide for one way.", found.Times)
	case stuck.RuleRepeat:
	}
	return text + r.untried()
}

// untried names a tool that was not used since the files last changed.
func (r *run) untried() string {
	for _, way := range [...][2]string{
		{"run_checks", "run_checks shows what is still wrong"},
		{"find_symbol", "find_symbol finds who defines and uses a name"},
		{"search_code", "search_code finds other places"},
		{"git_log", "git_log shows how the code came to be like this"},
		{"restore", "restore takes the files back to an earlier step"},
		{"update_plan", "update_plan makes you say what you know and what you do not"},
	} {
		if _, there := r.agent.registry.Spec(way[0]); there && !r.used[way[0]] {
			return " Do something else; not tried yet: " + way[1] + "."
		}
	}
	return " Do something else, or call finish and say what stands in the way."
}

// sayPending says what came up while the calls of this step ran: it may stand
// only after their results.
func (r *run) sayPending(ctx context.Context) error {
	late, notices := r.late, r.notices
	if err := r.hearAll(ctx, late); err != nil {
		return err
	}
	r.late, r.notices = nil, nil
	for _, n := range notices {
		if err := r.say(ctx, SaidNotice, model.Text(model.RoleUser, noticeMark+n)); err != nil {
			return err
		}
	}
	return nil
}
