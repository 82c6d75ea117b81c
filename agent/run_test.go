package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/tool/plan"
)

func TestFixReviewAndSubmit(t *testing.T) {
	var review string
	m := modeltest.New(
		modeltest.Do(call("update_plan", obj{"items": []obj{{"text": "fix it", "status": "in_progress"}}}), readMain()),
		modeltest.Do(fixMain(), runCheck()),
		modeltest.Do(submit()),
		func(r modeltest.Request) modeltest.Reply {
			review = r.LastResults()[0]
			return modeltest.Reply{Calls: []modeltest.Call{submit()}}
		},
	)
	r := newRig(t, m)
	out := r.run(change())
	clean(t, m)
	if out.State != agent.StateFinished || out.Summary != "it was broken" || out.Replies["t1"] != "done" || out.Steps != 4 || out.ToolCalls != 6 {
		t.Errorf("outcome %+v", out)
	}
	if diff := cmp.Diff([]agent.PlanItem{{Text: "fix it", Status: plan.InProgress}}, out.Plan); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(review, "diff --git") || !strings.Contains(review, "Not submitted yet") || strings.Contains(review, "findings") {
		t.Errorf("review: %s", review)
	}
	if !strings.Contains(r.read("main.go"), "fixed") {
		t.Error("the file was not changed")
	}
	if out.Usage.Input != 4_000 {
		t.Errorf("usage %+v", out.Usage)
	}
}

func TestJournalComesFirst(t *testing.T) {
	m := modeltest.New(modeltest.Do(readMain(), call("list_files", obj{})), modeltest.Do(fixMain()), modeltest.Do(submit()), modeltest.Do(submit()))
	r := newRig(t, m)
	r.run(change())
	var got []string
	for _, e := range r.entries {
		line := string(e.Kind)
		if e.Call != nil {
			line += " " + e.Call.Call.Name
		}
		if e.Step <= 2 {
			got = append(got, line)
		}
	}
	want := []string{"message", "checkpoint", "request", "reply", "intended read_file", "intended list_files", "finished read_file", "finished list_files", "checkpoint",
		"request", "reply", "intended edit_file", "finished edit_file", "checkpoint"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, e := range r.entries {
		if e.Call != nil && e.Call.Call.Name == "edit_file" && e.Kind == agent.EntryFinished {
			if e.Call.Tree == "" || len(e.Call.Result.Effects) != 1 || e.Call.Result.Effects[0].Before == e.Call.Result.Effects[0].After {
				t.Errorf("edit record %+v", e.Call)
			}
		}
		if _, err := json.Marshal(e); err != nil {
			t.Errorf("entry %s: %v", e.Kind, err)
		}
	}
}

func TestJournalFailureStopsBeforeTheCall(t *testing.T) {
	m := modeltest.New(modeltest.Do(readMain()), modeltest.Do(fixMain()))
	r := newRig(t, m)
	r.failAt = agent.EntryIntended
	a, err := agent.New(r.cfg)
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.Run(context.Background(), change())
	if out.State != agent.StateFailed || err == nil || !strings.Contains(err.Error(), "journal is down") {
		t.Errorf("outcome %+v, error %v", out, err)
	}
	if strings.Contains(r.read("main.go"), "fixed") {
		t.Error("a call ran that was not recorded")
	}
}

func TestReviewFindings(t *testing.T) {
	var first, second string
	m := modeltest.New(
		modeltest.Do(submit()),
		func(r modeltest.Request) modeltest.Reply {
			first = r.LastResults()[0]
			return modeltest.Reply{Calls: []modeltest.Call{readMain(), runCheck(), fixMain(), submit()}}
		},
		func(r modeltest.Request) modeltest.Reply {
			second = r.LastResults()[3]
			return modeltest.Reply{Calls: []modeltest.Call{submit()}}
		},
	)
	r := newRig(t, m)
	out := r.run(change())
	clean(t, m)
	if !strings.Contains(first, "nothing is changed") {
		t.Errorf("first review: %s", first)
	}
	if !strings.Contains(second, "nothing was found to be wrong") || len(r.ran) != 2 { // the platform ran what was missing
		t.Errorf("ran %v, second review: %s", r.ran, second)
	}
	if out.State != agent.StateFinished {
		t.Errorf("state %s", out.State)
	}
}

func TestNoChange(t *testing.T) {
	m := modeltest.New(modeltest.Do(submit()), modeltest.Do(submit()))
	if out := newRig(t, m).run(change()); out.State != agent.StateNoChange {
		t.Errorf("state %s", out.State)
	}
}

func TestAnswer(t *testing.T) {
	m := modeltest.New(modeltest.Do(readMain()), modeltest.Do(call("finish", obj{"summary": "read it", "answer": "It prints."})))
	out := newRig(t, m).run(agent.Task{Kind: agent.KindAnswer, Instruction: "what does it do?"})
	if out.State != agent.StateAnswered || out.Answer != "It prints." {
		t.Errorf("outcome %+v", out)
	}
}

func TestFailedCallStopsLaterEffects(t *testing.T) {
	var results []string
	m := modeltest.New(
		modeltest.Do(call("edit_file", obj{"path": "none.go", "old_string": "a", "new_string": "b"}), runCheck(), readMain(), submit()),
		func(r modeltest.Request) modeltest.Reply {
			results = r.LastResults()
			return modeltest.Reply{Calls: []modeltest.Call{submit()}}
		},
		modeltest.Do(submit()),
	)
	r := newRig(t, m)
	r.run(change())
	clean(t, m)
	if len(results) != 4 {
		t.Fatalf("results %q", results)
	}
	for i, want := range []string{"FILE_NOT_FOUND", "NOT_RUN: not run: an earlier call failed", "main.go, lines", "NOT_RUN"} {
		if !strings.HasPrefix(results[i], want) {
			t.Errorf("result %d = %q, want %s", i, results[i], want)
		}
	}
	if len(r.ran) != 0 {
		t.Errorf("ran %v", r.ran)
	}
}

// TestUnprovedIsRefused: a check that only the model can run (its plan's) must
// run after the last edit, or the model must say why it cannot.
func TestUnprovedIsRefused(t *testing.T) {
	planned := call("update_plan", obj{"items": []obj{}, "check": "make e2e"})
	var refused string
	m := modeltest.New(
		modeltest.Do(planned, readMain(), fixMain()),
		modeltest.Do(submit()),
		modeltest.Do(submit()),
		func(r modeltest.Request) modeltest.Reply {
			refused = r.LastResults()[0]
			return modeltest.Reply{Calls: []modeltest.Call{call("finish", obj{"summary": "done", "unverified": "make e2e needs a browser"})}}
		},
	)
	out := newRig(t, m).run(change())
	clean(t, m)
	if !strings.Contains(refused, "not run since the last edit: the plan's check, make e2e") {
		t.Errorf("answer: %s", refused)
	}
	if out.State != agent.StateFinished || out.Unverified != "make e2e needs a browser" {
		t.Errorf("outcome %+v", out)
	}
}

// TestUnprovedIsTakenInTheEnd: a model that will not run its check does not
// keep the run for ever.
func TestUnprovedIsTakenInTheEnd(t *testing.T) {
	planned := call("update_plan", obj{"items": []obj{}, "check": "make e2e"})
	m := modeltest.New(modeltest.Do(planned, readMain(), fixMain()), modeltest.Do(submit()), modeltest.Do(submit()), modeltest.Do(submit()), modeltest.Do(submit()))
	out := newRig(t, m).run(change())
	clean(t, m)
	if out.State != agent.StateFinished {
		t.Errorf("state %s", out.State)
	}
}

func TestAskingAPersonEndsTheRun(t *testing.T) {
	m := modeltest.New(modeltest.Do(readMain()), modeltest.Do(call("ask_person", obj{"question": "Tabs or spaces?"})))
	out := newRig(t, m).run(change())
	clean(t, m)
	if out.State != agent.StateAsked || out.Question != "Tabs or spaces?" {
		t.Errorf("outcome %+v", out)
	}
}
