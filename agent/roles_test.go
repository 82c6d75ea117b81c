package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/tool"
)

// TestRoles: a planner has the steps before the first change, a reviewer looks
// at the difference once for each review.
func TestRoles(t *testing.T) {
	var review string
	planner := modeltest.New(modeltest.Do(readMain()), modeltest.Do(aPlan()), modeltest.Do(fixMain()))
	editor := modeltest.New(modeltest.Do(runCheck()), modeltest.Do(submit()), func(r modeltest.Request) modeltest.Reply {
		review = r.LastResults()[0]
		return modeltest.Reply{Calls: []modeltest.Call{submit()}}
	})
	reviewer := modeltest.New(modeltest.Say("main.go:3 the greeting is not a word"))
	r := newRig(t, editor)
	r.cfg.Roles = agent.Roles{Plan: planner, Review: reviewer}
	out := r.run(change())
	clean(t, planner)
	clean(t, editor)
	clean(t, reviewer)
	if out.State != agent.StateFinished || !strings.Contains(review, "a second reader says: main.go:3 the greeting is not a word") {
		t.Errorf("state %s, review %s", out.State, review)
	}
	asked := reviewer.Requests()[0]
	if !strings.Contains(asked.Messages[0].Plain(), "diff --git") || len(asked.Tools) > 0 {
		t.Errorf("the reviewer was asked %q with %v", asked.Messages[0].Plain(), asked.Tools)
	}
	if out.Usage.Input != 7_000 { // each request counts
		t.Errorf("usage %+v", out.Usage)
	}
	var roles []agent.Role
	for _, e := range r.entries {
		if e.Kind == agent.EntryRequest {
			roles = append(roles, e.Request.Role)
		}
	}
	want := []agent.Role{agent.RolePlan, agent.RolePlan, agent.RolePlan, agent.RoleEdit, agent.RoleEdit, agent.RoleReview, agent.RoleEdit}
	if diff := cmp.Diff(want, roles); diff != "" {
		t.Error(diff)
	}
}

// TestReviewerIsAdvice: what it cannot say holds nothing up.
func TestReviewerIsAdvice(t *testing.T) {
	for _, step := range []modeltest.Step{modeltest.Say("Nothing."), modeltest.FailStatus(500, "down", 0)} {
		m := modeltest.New(modeltest.Do(readMain(), fixMain(), runCheck()), modeltest.Do(submit()), func(r modeltest.Request) modeltest.Reply {
			if strings.Contains(r.LastResults()[0], "second reader") {
				t.Error("a finding of nothing")
			}
			return modeltest.Reply{Calls: []modeltest.Call{submit()}}
		})
		r := newRig(t, m)
		r.cfg.Roles.Review = modeltest.New(step)
		if out := r.run(change()); out.State != agent.StateFinished {
			t.Errorf("state %s: %s", out.State, out.Reason)
		}
		clean(t, m)
	}
}

// keeper counts snapshots.
type keeper struct {
	labels []string
	err    error
}

func (k *keeper) Take(_ context.Context, label string) (string, error) {
	k.labels = append(k.labels, label)
	return label, k.err
}

// TestSnapshots: the state at the beginning, after each step that changed the
// files, and before a command within a step.
func TestSnapshots(t *testing.T) {
	m := modeltest.New(modeltest.Do(readMain()), modeltest.Do(fixMain(), runCheck()), modeltest.Do(runCheck()),
		modeltest.Do(call("write_file", obj{"path": "b.go", "content": "package b\n"})), modeltest.Do(submit()), modeltest.Do(submit()))
	r, k := newRig(t, m), &keeper{}
	r.cfg.Snapshots = k
	r.run(change())
	clean(t, m)
	if diff := cmp.Diff([]string{"after step 0", "after step 2", "after step 4"}, k.labels); diff != "" {
		t.Error(diff)
	}
	k = &keeper{err: errors.New("disk full")}
	m = modeltest.New(modeltest.Do(readMain(), fixMain()), modeltest.Do(submit()), modeltest.Do(submit()))
	r = newRig(t, m)
	r.cfg.Snapshots = k
	if out := r.run(change()); out.State != agent.StateFinished {
		t.Errorf("state %s: %s", out.State, out.Reason)
	}
	var noted bool
	for _, e := range r.entries {
		noted = noted || strings.Contains(e.Notice, "disk full")
	}
	if !noted {
		t.Error("that nothing could be kept is not in the journal")
	}
}

// rare offers a tool by a line.
type rare struct{ tool.Tool }

func (r rare) Spec() tool.Spec {
	s := r.Tool.Spec()
	s.Rare = true
	return s
}

// TestRareToolsAreCalledThroughOne: their effect, guard and record are those
// of the tool that is meant.
func TestRareToolsAreCalledThroughOne(t *testing.T) {
	use := func(name string, args any) modeltest.Call { return call("use_tool", obj{"tool": name, "args": args}) }
	var results []string
	m := modeltest.New(
		modeltest.Do(readMain()),
		modeltest.Do(use("edit_file", obj{"path": "main.go", "old_string": "broken", "new_string": "fixed"}), use("edit_fiel", obj{})),
		func(r modeltest.Request) modeltest.Reply {
			results = r.LastResults()
			return modeltest.Reply{Calls: []modeltest.Call{submit()}}
		}, modeltest.Do(submit()))
	r := newRig(t, m)
	for i, tl := range r.cfg.Tools {
		if name := tl.Spec().Name; name == "edit_file" || name == "list_files" {
			r.cfg.Tools[i] = rare{tl}
		}
	}
	out := r.run(change())
	clean(t, m)
	if out.State != agent.StateFinished || !strings.Contains(r.read("main.go"), "fixed") {
		t.Errorf("state %s", out.State)
	}
	if len(results) != 2 || !strings.HasPrefix(results[1], "UNKNOWN_TOOL") || !strings.Contains(results[1], "edit_file") {
		t.Errorf("results %q", results)
	}
	offered := m.Requests()[0].Tools
	if offered[len(offered)-1] != "use_tool" || slices.Contains(offered, "edit_file") || !slices.Contains(offered, "read_file") {
		t.Errorf("offered %v", offered)
	}
	for _, e := range r.entries {
		if e.Kind == agent.EntryIntended && e.Call.Call.Name == "use_tool" {
			t.Error("the journal does not say which tool ran")
		}
	}
}
