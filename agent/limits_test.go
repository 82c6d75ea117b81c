package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/tool"
)

func TestStalledAfterTwoNudges(t *testing.T) {
	m := modeltest.New(modeltest.Say("I think"), modeltest.Say("hmm"), modeltest.Say("well"))
	out := newRig(t, m).run(change())
	clean(t, m)
	if out.State != agent.StateStalled || out.Summary != "well" {
		t.Errorf("outcome %+v", out)
	}
}

func TestFormatErrorsEnd(t *testing.T) {
	bad := modeltest.Do(call("read_fil", obj{"path": "x"}), call("read_file", obj{"pth": "x"}))
	m := modeltest.New(bad, bad, bad)
	out := newRig(t, m).run(change())
	clean(t, m)
	if out.State != agent.StateFormatErrors {
		t.Errorf("state %s: %s", out.State, out.Reason)
	}
}

func TestCutCallsNeverRun(t *testing.T) {
	cut := func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Fault: modeltest.FaultMaxTokens, Calls: []modeltest.Call{readMain(), call("write_file", `{}`)}}
	}
	m := modeltest.New(cut, cut, cut)
	r := newRig(t, m)
	out := r.run(change())
	clean(t, m)
	if out.State != agent.StateOutputLimit {
		t.Errorf("state %s", out.State)
	}
	for _, e := range r.entries {
		if e.Kind == agent.EntryFinished && e.Call.Call.Name == "write_file" && e.Call.Result.Code != tool.CodeTruncatedArgs {
			t.Errorf("code %s", e.Call.Result.Code)
		}
	}
}

func TestRepeatIsNudgedBlockedEnded(t *testing.T) {
	var steps []modeltest.Step
	var texts []string
	for range 9 {
		steps = append(steps, func(r modeltest.Request) modeltest.Reply {
			texts = append(texts, strings.Join(r.LastResults(), "")+"|"+r.Messages[len(r.Messages)-1].Plain())
			return modeltest.Reply{Calls: []modeltest.Call{runCheck()}}
		})
	}
	m := modeltest.New(steps...)
	r := newRig(t, m)
	out := r.run(change())
	clean(t, m)
	if out.State != agent.StateLooped || len(r.ran) != 3 {
		t.Errorf("state %s, ran %d times", out.State, len(r.ran))
	}
	if !strings.Contains(texts[3], "Platform notice") || !strings.Contains(texts[4], "LOOP_BLOCKED") {
		t.Errorf("texts %q", texts)
	}
}

func TestRepeatWithEditsBetweenIsLeftAlone(t *testing.T) {
	var steps []modeltest.Step
	steps = append(steps, modeltest.Do(readMain()))
	word := "broken"
	for i := range 5 {
		next := fmt.Sprintf("broken%d", i)
		steps = append(steps, modeltest.Do(call("edit_file", obj{"path": "main.go", "old_string": word, "new_string": next}), runCheck()))
		word = next
	}
	steps = append(steps, modeltest.Do(submit()), modeltest.Do(submit()))
	m := modeltest.New(steps...)
	r := newRig(t, m)
	out := r.run(change())
	clean(t, m)
	if len(r.ran) != 5 || out.State == agent.StateLooped {
		t.Errorf("state %s, ran %d times", out.State, len(r.ran))
	}
}

func TestStepLimitWrapsUpAndWritesUp(t *testing.T) {
	var wrapUp, last int
	look := func(i int) modeltest.Step {
		return func(r modeltest.Request) modeltest.Reply {
			if strings.Contains(r.Messages[len(r.Messages)-1].Plain(), "Start nothing new") {
				wrapUp = i
			}
			return modeltest.Reply{Calls: []modeltest.Call{call("list_files", obj{"depth": i + 1})}}
		}
	}
	var steps []modeltest.Step
	for i := range 5 {
		steps = append(steps, look(i))
	}
	steps = append(steps, func(r modeltest.Request) modeltest.Reply {
		last++
		if !r.NoCalls {
			t.Error("the last step may still call tools")
		}
		return modeltest.Reply{Text: "what is there"}
	})
	m := modeltest.New(steps...)
	task := change()
	task.Limits.Steps = 5
	out := newRig(t, m).run(task)
	clean(t, m)
	if out.State != agent.StateStepLimit || out.Summary != "what is there" || last != 1 || wrapUp != 4 {
		t.Errorf("outcome %+v, wrap-up before step %d", out, wrapUp)
	}
}

func TestToolCallLimit(t *testing.T) {
	m := modeltest.New(modeltest.Do(readMain(), call("list_files", obj{}), call("list_files", obj{"depth": 1})), modeltest.Say("over"))
	task := change()
	task.Limits.ToolCalls = 2
	r := newRig(t, m)
	out := r.run(task)
	clean(t, m)
	if out.State != agent.StateCallLimit || out.ToolCalls != 2 {
		t.Errorf("outcome %+v", out)
	}
}

func TestCostLimit(t *testing.T) {
	m := modeltest.New(modeltest.Do(readMain()), modeltest.Say("over"))
	task := change()
	task.Limits.CostMicroUSD = 3_000
	priced := model.WithPrice(m, model.Tariff{Price: model.Price{Input: 3_000_000, Output: 15_000_000}})
	out := newRig(t, priced).run(task)
	if out.State != agent.StateOutOfBudget || out.CostMicroUSD != 2*(3_000+750) {
		t.Errorf("outcome %+v", out)
	}
}

// TestEmptyReplies: asked again twice as it is, then told, then ended.
func TestEmptyReplies(t *testing.T) {
	var lengths []int
	empty := func(r modeltest.Request) modeltest.Reply {
		lengths = append(lengths, len(r.Messages))
		return modeltest.Reply{}
	}
	m := modeltest.New(empty, empty, empty, empty, empty)
	out := newRig(t, m).run(change())
	clean(t, m)
	if diff := cmp.Diff([]int{1, 1, 1, 2, 3}, lengths); diff != "" || out.State != agent.StateStalled {
		t.Errorf("state %s, transcript lengths %s", out.State, diff)
	}
}
