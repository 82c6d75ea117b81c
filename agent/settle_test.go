package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/tool"
)

// shortStory reads, edits, runs a command and submits.
func shortStory(t *testing.T, more ...step) *world {
	t.Helper()
	return newWorld(t, map[string]string{"main.go": "package main\n\nfunc main() { println(\"broken\") }\n"}, change(),
		append([]step{
			do(toolCall("r1", "read_file", `{"path":"main.go"}`)),
			do(toolCall("e1", "edit_file", `{"path":"main.go","old_string":"broken","new_string":"fixed"}`)),
			do(toolCall("x1", "run_command", `{"command":"gen"}`)),
		}, append(more, do(toolCall("n1", "finish", finishArgs)), do(toolCall("n2", "finish", finishArgs)))...)...)
}

// cutBehind works until an entry of the kind and call is recorded.
func (w *world) cutBehind(kind agent.EntryKind, call string) {
	w.t.Helper()
	whole := *w
	whole.journal, whole.decoded, whole.kept, whole.taken = nil, nil, make(map[string]map[string]string), make(map[string]bool)
	if _, err := whole.work(1 << 30); err != nil {
		w.t.Fatal(err)
	}
	w.retries = 0
	for i, e := range whole.entries() {
		if e.Kind == kind && (call == "" || e.Call != nil && e.Call.Call.ID == call) {
			if _, err := w.work(i + 1); !errors.Is(err, errKilled) {
				w.t.Fatalf("the worker ended with %v", err)
			}
			return
		}
	}
	w.t.Fatalf("there is no %s %s", kind, call)
}

func (w *world) result(id string) tool.Result {
	w.t.Helper()
	for _, e := range w.entries() {
		if e.Kind == agent.EntryFinished && e.Call.Call.ID == id {
			return *e.Call.Result
		}
	}
	w.t.Fatalf("call %s has no result", id)
	return tool.Result{}
}

// TestWriteInStrangeFiles: a write that was under way is not done when the
// files are neither those before it nor those behind it, and is not done again
// when they are those behind it.
func TestWriteInStrangeFiles(t *testing.T) {
	w := shortStory(t)
	w.cutBehind(agent.EntryIntended, "e1")
	w.base = map[string]string{"main.go": "package main // another one, broken\n"}
	w.kept["s1"] = w.base
	if _, err := w.work(1 << 30); err != nil {
		t.Fatal(err)
	}
	if res := w.result("e1"); res.Code != tool.CodeConflict || w.files()["main.go"] != w.base["main.go"] {
		t.Errorf("result %+v, file %q", res, w.files()["main.go"])
	}

	w = shortStory(t)
	w.cutBehind(agent.EntryIntended, "e1")
	after := map[string]string{"main.go": strings.Replace(w.base["main.go"], "broken", "fixed", 1)}
	w.kept["s1"] = after // as if the files had lived on
	tree := treeBehind(t, "e1")
	w.append(t, agent.Entry{Kind: agent.EntrySnapshot, Snapshot: &agent.SnapshotRecord{ID: "s2", Tree: tree}})
	if _, err := w.work(1 << 30); err != nil {
		t.Fatal(err)
	}
	if res := w.result("e1"); !res.OK || !strings.Contains(res.Text, "This was done") || w.files()["main.go"] != after["main.go"] {
		t.Errorf("result %+v, file %q", res, w.files()["main.go"])
	}
}

func (w *world) append(t *testing.T, e agent.Entry) {
	t.Helper()
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	w.journal = append(w.journal, raw)
}

// treeBehind is the name of the files behind a call of the short story.
func treeBehind(t *testing.T, id string) string {
	t.Helper()
	w := shortStory(t)
	if _, err := w.work(1 << 30); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.entries() {
		if e.Kind == agent.EntryFinished && e.Call.Call.ID == id {
			return e.Call.Tree
		}
	}
	t.Fatal("no such call")
	return ""
}

// TestFilesThatCouldNotBeBroughtBack are told of.
func TestFilesThatCouldNotBeBroughtBack(t *testing.T) {
	w := shortStory(t)
	w.cutBehind(agent.EntryFinished, "x1")
	for id := range w.kept {
		w.kept[id] = w.base
	}
	if _, err := w.work(1 << 30); err != nil {
		t.Fatal(err)
	}
	for _, e := range w.entries() {
		if e.Said == agent.SaidMoved && strings.Contains(e.Message.Plain(), "could not be brought back") {
			return
		}
	}
	t.Error("nobody was told")
}

// asking is a command that needs an approval.
func asking(approved *bool, ran *int) tool.Tool {
	return tool.Typed(tool.Spec{Name: "deploy", Effect: tool.EffectExec}, func(context.Context, struct{}) tool.Result {
		if !*approved {
			return tool.Failf(tool.CodeApprovalNeeded, "deploying is for people to allow")
		}
		*ran++
		return tool.OKText("deployed")
	})
}

// TestApproval: a call that waits for a person is run when the run goes on, and
// so are those behind it. One that is asked for again waits again.
func TestApproval(t *testing.T) {
	w := shortStory(t, do(toolCall("a1", "deploy", `{}`), toolCall("x2", "run_command", `{"command":"behind"}`)))
	approved, deployed := false, 0
	w.alter = func(c *agent.Config) { c.Tools = append(c.Tools, asking(&approved, &deployed)) }
	for range 2 {
		out, err := w.work(1 << 30)
		if err != nil || out.State != agent.StateAwaitingApproval || out.Reason != "deploying is for people to allow" {
			t.Fatalf("%+v, %v", out, err)
		}
		if v := agent.Fold(w.entries()); v.Ended || v.Suspended == nil || v.Suspended.Call.ID != "a1" {
			t.Errorf("view %+v", v)
		}
		if len(toldUncertain(w.entries())) > 0 || deployed > 0 {
			t.Error("the call that waits was taken for one that ran")
		}
	}
	approved = true
	out, err := w.work(1 << 30)
	if err != nil || out.State != agent.StateFinished || deployed != 1 || out.ToolCalls != 7 {
		t.Errorf("%+v, %v, deployed %d times", out, err, deployed)
	}
	if res := w.result("a1"); res.Text != "deployed" {
		t.Errorf("result %+v", res)
	}
	if res := w.result("x2"); !res.OK {
		t.Errorf("the call behind it: %+v", res)
	}
}

// TestLostWhileAnApprovedCallRan: it is uncertain like any other.
func TestLostWhileAnApprovedCallRan(t *testing.T) {
	w := shortStory(t, do(toolCall("a1", "deploy", `{}`)))
	approved, deployed := false, 0
	w.alter = func(c *agent.Config) { c.Tools = append(c.Tools, asking(&approved, &deployed)) }
	if _, err := w.work(1 << 30); err != nil {
		t.Fatal(err)
	}
	approved = true
	if _, err := w.work(len(w.journal) + 1); !errors.Is(err, errKilled) { // intended again
		t.Fatal(err)
	}
	if _, err := w.work(1 << 30); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a1"}, toldUncertain(w.entries())); diff != "" {
		t.Error(diff)
	}
}

// TestYield: a run that is asked to yield, before each request and each group
// of calls in turn, comes to the same end without a word lost.
func TestYield(t *testing.T) {
	whole := longStory(t)
	want, err := whole.work(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	drain := errors.New("drain")
	w := longStory(t)
	asked, yields := 0, 0
	w.alter = func(c *agent.Config) {
		c.Yield = func() error {
			if asked++; asked%2 == 0 {
				return drain
			}
			return nil
		}
	}
	var got agent.Outcome
	for {
		if got, err = w.work(1 << 30); got.State != agent.StateYielded {
			break
		}
		if yields++; !errors.Is(err, drain) || yields > 100 {
			t.Fatalf("%v after %d", err, yields)
		}
	}
	if err != nil || yields < 10 {
		t.Fatalf("%v after %d yields", err, yields)
	}
	compare(t, whole, w, want, got)
	if told := toldUncertain(w.entries()); told != nil {
		t.Errorf("uncertain: %v", told)
	}
	if got.Steps != want.Steps || got.ToolCalls != want.ToolCalls || got.Usage != want.Usage {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}
