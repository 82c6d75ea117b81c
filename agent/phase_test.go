package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/tool"
)

func aPlan() modeltest.Call {
	return call("update_plan", obj{"items": []obj{{"text": "fix it", "status": "in_progress"}}})
}

func TestPhasesFollowTheWork(t *testing.T) {
	m := modeltest.New(modeltest.Do(readMain()), modeltest.Do(aPlan()), modeltest.Do(fixMain()), modeltest.Do(runCheck()), modeltest.Do(submit()), modeltest.Do(submit()))
	r := newRig(t, m)
	r.run(change())
	clean(t, m)
	var got []agent.Phase
	for _, e := range r.entries {
		if len(got) == 0 || got[len(got)-1] != e.Phase {
			got = append(got, e.Phase)
		}
	}
	if diff := cmp.Diff([]agent.Phase{agent.PhaseLocate, agent.PhasePlan, agent.PhaseEdit, agent.PhaseVerify, agent.PhaseReview}, got); diff != "" {
		t.Error(diff)
	}
}

// TestLookingAroundHasAnEnd: after LocateSteps reading is refused until there
// is a plan.
func TestLookingAroundHasAnEnd(t *testing.T) {
	var steps []modeltest.Step
	look := func(i int) modeltest.Step { return modeltest.Do(call("list_files", obj{"depth": i + 1})) }
	for i := range agent.LocateSteps {
		steps = append(steps, look(i))
	}
	var told, refused, after string
	steps = append(steps,
		func(r modeltest.Request) modeltest.Reply {
			told = r.Messages[len(r.Messages)-1].Plain()
			return modeltest.Reply{Calls: []modeltest.Call{readMain()}}
		},
		func(r modeltest.Request) modeltest.Reply {
			refused = r.LastResults()[0]
			return modeltest.Reply{Calls: []modeltest.Call{aPlan()}}
		},
		modeltest.Do(readMain()),
		func(r modeltest.Request) modeltest.Reply {
			after = r.LastResults()[0]
			return modeltest.Reply{Calls: []modeltest.Call{submit()}}
		},
		modeltest.Do(submit()))
	m := modeltest.New(steps...)
	newRig(t, m).run(change())
	clean(t, m)
	if !strings.Contains(told, "update_plan") || !strings.HasPrefix(refused, string(tool.CodeBudgetExceeded)) || !strings.HasPrefix(after, "main.go") {
		t.Errorf("told %q, refused %q, after %.40q", told, refused, after)
	}
}

// TestSameFailureSendsBackToLook: three different changes that fail in the
// same way are evidence that the cause is elsewhere.
func TestSameFailureSendsBackToLook(t *testing.T) {
	word := "broken"
	steps := []modeltest.Step{modeltest.Do(readMain())}
	for i := range 3 {
		next := fmt.Sprintf("broken%d", i)
		steps = append(steps, modeltest.Do(call("edit_file", obj{"path": "main.go", "old_string": word, "new_string": next}), runCheck()))
		word = next
	}
	edit := call("edit_file", obj{"path": "main.go", "old_string": word, "new_string": "fixed"})
	var told, refused string
	steps = append(steps,
		func(r modeltest.Request) modeltest.Reply {
			told = r.Messages[len(r.Messages)-1].Plain()
			return modeltest.Reply{Calls: []modeltest.Call{edit}}
		},
		func(r modeltest.Request) modeltest.Reply {
			refused = r.LastResults()[0]
			return modeltest.Reply{Calls: []modeltest.Call{aPlan(), edit, submit()}}
		},
		modeltest.Do(submit()))
	m := modeltest.New(steps...)
	r := newRig(t, m)
	r.sameFailure = true
	out := r.run(change())
	clean(t, m)
	if !strings.Contains(told, "failed in the same way after 3 different changes") || !strings.Contains(told, "main.go:3: FAIL") {
		t.Errorf("told %q", told)
	}
	if !strings.HasPrefix(refused, string(tool.CodeLoopBlocked)) || out.State != agent.StateFinished {
		t.Errorf("refused %q, state %s: %s", refused, out.State, out.Reason)
	}
}
