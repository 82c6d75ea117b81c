package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/tool"
)

// rewrite changes the checkpoints of a journal as another version of the
// program would write them.
func (w *world) rewrite(change func(checkpoint map[string]json.RawMessage)) {
	w.t.Helper()
	for i, raw := range w.journal {
		var e map[string]json.RawMessage
		if err := json.Unmarshal(raw, &e); err != nil {
			w.t.Fatal(err)
		}
		if e["checkpoint"] == nil {
			continue
		}
		var c map[string]json.RawMessage
		if err := json.Unmarshal(e["checkpoint"], &c); err != nil {
			w.t.Fatal(err)
		}
		change(c)
		var err1, err2 error
		e["checkpoint"], err1 = json.Marshal(c)
		w.journal[i], err2 = json.Marshal(e)
		if err := errors.Join(err1, err2); err != nil {
			w.t.Fatal(err)
		}
	}
	w.decoded = nil
}

// TestUnknownFieldsAreLeftAlone: a checkpoint of this version may hold more.
func TestUnknownFieldsAreLeftAlone(t *testing.T) {
	whole := longStory(t)
	want, err := whole.work(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	w := longStory(t)
	if _, err := w.work(40); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	w.rewrite(func(c map[string]json.RawMessage) {
		c["mood"] = json.RawMessage(`"good"`)
		c["cells"] = json.RawMessage(strings.TrimSuffix(string(c["cells"]), "}") + `,"weather":{"sun":true},"memory/unknown/x":"y"}`)
	})
	got, err := w.work(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, whole, w, want, got)
}

// TestNewerVersion: from checkpoints that cannot be read nobody goes on. The
// transcript begins anew, with the task, what people said, the plan and the
// files as they were kept, and every open call gets a result.
func TestNewerVersion(t *testing.T) {
	for _, call := range []string{"x1", "x2", "e2", "n1"} {
		w := longStory(t)
		delete(w.mail, 11)
		w.cutBehind(agent.EntryIntended, call)
		w.rewrite(func(c map[string]json.RawMessage) {
			c["version"] = fmt.Append(nil, agent.CheckpointVersion+1)
			c["cells"] = json.RawMessage(`["not", "a", "map"]`)
			delete(c, "messages")
		})
		before := agent.Fold(w.entries())
		finish := do(toolCall("z1", "finish", finishArgs))
		again := do(toolCall("z2", "finish", finishArgs))
		w.script = append(w.script[:w.replies():w.replies()],
			do(toolCall("z0", "edit_file", `{"path":"main.go","old_string":"package","new_string":"packag"}`)), finish, again)
		out, err := w.work(1 << 30)
		if err != nil || out.State != agent.StateFinished && out.State != agent.StateNoChange {
			t.Fatalf("%s: %+v, %v", call, out, err)
		}
		if out.Steps <= before.Steps || out.ToolCalls <= before.ToolCalls || len(out.Plan) != 1 {
			t.Errorf("%s: %+v after %+v", call, out, before)
		}
		if open := unanswered(w.entries()); len(open) > 0 {
			t.Errorf("%s: open are %v", call, open)
		}
		first := w.requests[len(w.script)-3]
		for _, part := range []string{"make the check pass", "keep the old name", "mend it"} {
			if !strings.Contains(first, part) && (call != "x1" || part != "keep the old name") {
				t.Errorf("%s: the transcript lacks %q: %s", call, part, first)
			}
		}
		if res := w.result("z0"); res.Code != tool.CodeNotRead {
			t.Errorf("%s: what is not in view counts as read: %+v", call, res)
		}
		if w.cut(t) { // its own checkpoints can be gone on from
			t.Errorf("%s: the new checkpoints cannot be read", call)
		}
	}
}

// cut says whether a resume of an ended run does anything.
func (w *world) cut(t *testing.T) bool {
	t.Helper()
	n := len(w.journal)
	w.script = nil
	if _, err := w.work(1 << 30); err != nil {
		t.Error(err)
	}
	return len(w.journal) != n
}

func unanswered(entries []agent.Entry) []string {
	open := map[string]bool{}
	for _, e := range entries {
		if e.Kind == agent.EntryIntended {
			open[e.Call.Call.ID] = true
		}
		if e.Kind == agent.EntryFinished {
			delete(open, e.Call.Call.ID)
		}
	}
	var out []string
	for id := range open {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// TestRecordsThatDoNotFollow: a journal that another program has written on
// does not keep the run from going on.
func TestRecordsThatDoNotFollow(t *testing.T) {
	w := shortStory(t)
	w.cutBehind(agent.EntryFinished, "e1")
	message := model.Text(model.RoleUser, "from nowhere")
	w.append(t, agent.Entry{Kind: agent.EntryMessage, Said: agent.SaidWrapUp, Message: &message})
	w.append(t, agent.Entry{Kind: agent.EntryMessage, Said: agent.SaidLast, Message: &message})
	out, err := w.work(1 << 30)
	if err != nil || out.State != agent.StateFinished {
		t.Errorf("%+v, %v", out, err)
	}
	if !strings.Contains(w.files()["main.go"], "fixed") {
		t.Error("what was done is gone")
	}
}

// TestResumeWithTextEditsAndRoles cuts a run whose edits come in text and whose
// difference a second reader looks at.
func TestResumeWithTextEditsAndRoles(t *testing.T) {
	reviews := 0
	story := func() *world {
		w := newWorld(t, map[string]string{"main.go": "package main\n\nfunc main() { println(\"broken\") }\n"}, change(),
			do(toolCall("r1", "read_file", `{"path":"main.go"}`)),
			step{text: "main.go\n```go\n<<<<<<< SEARCH\nfunc main() { println(\"broken\") }\n=======\nfunc main() { println(\"fixed\") }\n>>>>>>> REPLACE\n```\n"},
			do(toolCall("", "read_file", `{"path":"main.go"}`), toolCall("", "list_files", `{}`)),
			do(toolCall("n1", "finish", finishArgs)), do(toolCall("n2", "finish", finishArgs)))
		w.alter = func(c *agent.Config) {
			c.TextEdits = true
			c.Roles.Review = modeltest.New(func(modeltest.Request) modeltest.Reply { reviews++; return modeltest.Reply{Text: "main.go:3 no word"} })
		}
		return w
	}
	whole := story()
	want, err := whole.work(1 << 30)
	if err != nil || want.State != agent.StateFinished || !strings.Contains(whole.files()["main.go"], "fixed") {
		t.Fatalf("%+v, %v, %q", want, err, whole.files()["main.go"])
	}
	for n := range whole.journal {
		w := story()
		if _, err := w.work(n); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		got, err := w.work(1 << 30)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("cut after %d: %v %s", n, err, diff)
		}
		for i := range w.script {
			if diff := cmp.Diff(whole.requests[i], w.requests[i]); diff != "" {
				t.Errorf("cut after %d: request %d: %s", n, i, diff)
			}
		}
	}
	if reviews == 0 {
		t.Error("nobody looked")
	}
}

// TestLastSnapshot: a state behind a call that never finished is not gone on
// from.
func TestLastSnapshot(t *testing.T) {
	snap := func(id, tree string) agent.Entry {
		return agent.Entry{Kind: agent.EntrySnapshot, Snapshot: &agent.SnapshotRecord{ID: id, Tree: tree}}
	}
	callEntry := func(kind agent.EntryKind, id string, effect tool.Effect, tree string) agent.Entry {
		return agent.Entry{Kind: kind, Call: &agent.CallRecord{Call: model.ToolCall{ID: id}, Effect: effect, Tree: tree}}
	}
	in, out := agent.EntryIntended, agent.EntryFinished
	for _, c := range []struct {
		name    string
		entries []agent.Entry
		want    string
	}{
		{"none", nil, ""},
		{"the first", []agent.Entry{snap("s1", "a")}, "s1"},
		{"under way", []agent.Entry{snap("s1", "a"), callEntry(in, "w", tool.EffectWrite, "a"), snap("s2", "b")}, "s1"},
		{"finished", []agent.Entry{snap("s1", "a"), callEntry(in, "w", tool.EffectWrite, "a"), snap("s2", "b"), callEntry(out, "w", tool.EffectWrite, "b")}, "s2"},
		{"uncertain", []agent.Entry{snap("s1", "a"), callEntry(in, "x", tool.EffectExec, "a"), snap("s2", "b"), callEntry(out, "x", tool.EffectExec, "a")}, "s1"},
		{"run again", []agent.Entry{snap("s1", "a"), callEntry(in, "w", tool.EffectWrite, "a"), snap("s2", "b"), callEntry(in, "w", tool.EffectWrite, "a"), callEntry(out, "w", tool.EffectWrite, "b")}, "s1"},
		{"behind a read", []agent.Entry{snap("s1", "a"), callEntry(in, "r", tool.EffectRead, "a"), snap("s2", "b")}, "s2"},
		{"suspended", []agent.Entry{snap("s1", "a"), callEntry(in, "x", tool.EffectExec, "a"), callEntry(agent.EntrySuspended, "x", tool.EffectExec, "a"), snap("s2", "b")}, "s2"},
		{"a check within a submission", []agent.Entry{snap("s1", "a"), callEntry(in, "n", tool.EffectState, "a"), callEntry(in, "p", tool.EffectExec, "a"),
			snap("s2", "b"), callEntry(out, "p", tool.EffectExec, "b")}, "s2"},
	} {
		got, ok := agent.LastSnapshot(c.entries)
		if got.ID != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, want %q", c.name, got.ID, c.want)
		}
	}
}

// TestCheckpointsStaySmall: over a long run they are a small part of the
// journal, and each is about as large as the first ones.
func TestCheckpointsStaySmall(t *testing.T) {
	const steps = 400
	base := map[string]string{}
	for i := range 40 {
		base[fmt.Sprintf("f%d.go", i)] = strings.Repeat(fmt.Sprintf("// a line of file %d\n", i), 100)
	}
	task := change()
	task.Limits = agent.Limits{Steps: 2 * steps, ToolCalls: 2 * steps, ContextTokens: 128_000}
	w := newWorld(t, base, task)
	for i := range steps {
		f := i / 3 % 40
		switch i % 3 {
		case 0:
			w.script = append(w.script, do(toolCall(fmt.Sprintf("toolu_%024d", i), "read_file", fmt.Sprintf(`{"path":"f%d.go","offset":%d,"limit":40}`, f, i%50+1))))
		case 1:
			w.script = append(w.script, do(toolCall(fmt.Sprintf("toolu_%024d", i), "write_file", fmt.Sprintf(`{"path":"new%d.txt","content":"text %d\n"}`, f, i))))
		default:
			w.script = append(w.script, do(toolCall(fmt.Sprintf("toolu_%024d", i), "run_command", fmt.Sprintf(`{"command":"look %d"}`, i))))
		}
	}
	w.script = append(w.script, do(toolCall("n1", "ask_person", `{"question":"so?"}`)))
	if out, err := w.work(1 << 30); err != nil || out.State != agent.StateAsked {
		t.Fatalf("%+v, %v", out, err)
	}
	total, all, largest, compacted := 0, 0, 0, 0
	for i, e := range w.entries() {
		all += len(w.journal[i])
		switch {
		case e.Checkpoint == nil:
		case len(e.Checkpoint.Messages) > 0:
			compacted += len(w.journal[i])
		default:
			total += len(w.journal[i])
			largest = max(largest, len(w.journal[i]))
		}
	}
	t.Logf("%d bytes of checkpoints for each of %d steps, the largest %d; %d bytes of journal for each step; %d bytes in checkpoints of compactions", total/steps, steps, largest, all/steps, compacted)
	if total/steps > 1_500 || largest > 6_000 {
		t.Errorf("%d bytes for each step, the largest %d", total/steps, largest)
	}
}
