package agent_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
)

const finishArgs = `{"summary":"it was broken","replies":[{"id":"t1","text":"done"}]}`

// longStory is a run with edits, commands, a plan, long reads, a compaction
// with a summary, messages of people before a step and at a submission, and a
// submission in two steps.
func longStory(t *testing.T) *world {
	t.Helper()
	base := map[string]string{"main.go": "package main\n\nfunc main() { println(\"broken\") }\n"}
	for i := range 6 {
		base[fmt.Sprintf("f%d.txt", i)] = strings.Repeat(fmt.Sprintf("a line of file %d, long enough to fill a window\n", i), 400)
	}
	read := func(n int) model.ToolCall {
		return toolCall(fmt.Sprintf("read%d", n), "read_file", fmt.Sprintf(`{"path":"f%d.txt","limit":400}`, n))
	}
	task := change()
	task.Limits = agent.Limits{ContextTokens: 64_000, Steps: 1000, ToolCalls: 1000}
	w := newWorld(t, base, task,
		do(toolCall("p1", "update_plan", `{"items":[{"text":"mend it","status":"pending"}],"files":["main.go"]}`), toolCall("r1", "read_file", `{"path": "main.go"}`)),
		step{text: "I write " + strings.Repeat("at length ", 5_000), calls: []model.ToolCall{
			toolCall("e1", "edit_file", `{ "path": "main.go", "old_string": "\"broken\"", "new_string": "\"a < b && c\"" }`),
			toolCall("w1", "write_file", `{"path":"notes.txt","content":"first\nsecond\n"}`)}},
		do(toolCall("x1", "run_command", `{"command":"gen && true"}`)),
		do(read(0), read(1), read(2)),
		do(read(3), read(4), read(5)),
		step{text: "hm"},
		do(toolCall("x2", "run_command", `{"command":"check"}`)),
		do(toolCall("r2", "read_file", `{"path":"main.go"}`), toolCall("e2", "edit_file", `{"path":"main.go","old_string":"a < b && c","new_string":"fixed"}`)),
		do(toolCall("d1", "use_tool", `{"tool":"git_diff","args":{}}`), toolCall("d2", "delete_file", `{"path":"none.txt"}`), toolCall("x3", "run_command", `{"command":"late"}`)),
		do(toolCall("n1", "finish", finishArgs)),
		do(toolCall("n2", "finish", finishArgs)),
		do(toolCall("n3", "finish", finishArgs)),
	)
	w.mail[3] = []agent.Message{{ID: "m1", Author: "maintainer", Text: "keep the old name"}}
	w.mail[11] = []agent.Message{{ID: "m2", Author: "maintainer", Text: "and say so"}, {ID: "m3", Author: "maintainer", Text: "please"}}
	return w
}

// compare holds a run that was cut against one that was not.
func compare(t *testing.T, whole, cut *world, want, got agent.Outcome) {
	t.Helper()
	ignore := cmpopts.IgnoreFields(agent.Outcome{}, "Steps", "ToolCalls", "Usage")
	if diff := cmp.Diff(want, got, ignore); diff != "" {
		t.Errorf("outcome: %s", diff)
	}
	if diff := cmp.Diff(whole.files(), cut.files()); diff != "" {
		t.Errorf("files: %s", diff)
	}
	for i := range len(whole.script) {
		if whole.requests[i] != cut.requests[i] {
			t.Errorf("request %d differs: %s", i, cmp.Diff(whole.requests[i], cut.requests[i]))
		}
	}
	finished := make(map[string]int)
	heard := make(map[string]int)
	for _, e := range cut.entries() {
		if e.Kind == agent.EntryFinished {
			finished[e.Call.Call.ID]++
		}
		if e.From != nil {
			heard[e.From.ID]++
		}
	}
	for id, n := range finished {
		if n != 1 {
			t.Errorf("call %s has %d results", id, n)
		}
	}
	if diff := cmp.Diff(map[string]int{"m1": 1, "m2": 1, "m3": 1}, heard); diff != "" {
		t.Errorf("messages heard: %s", diff)
	}
	if len(cut.taken) != 3 {
		t.Errorf("taken: %v", cut.taken)
	}
}

// TestResumeAfterEveryEntry cuts a run behind each of its records. Whoever goes
// on comes to the same end, by the same requests.
func TestResumeAfterEveryEntry(t *testing.T) {
	whole := longStory(t)
	want, err := whole.work(1 << 30)
	if err != nil || want.State != agent.StateFinished || want.Compactions == 0 || whole.steps != len(whole.script) {
		t.Fatalf("undisturbed: %+v after %d steps, %v", want, whole.steps, err)
	}
	all := whole.entries()
	for n := range len(all) + 1 {
		last := "nothing"
		if n > 0 {
			last = name(all[n-1])
		}
		t.Run(fmt.Sprintf("%d %s", n, last), func(t *testing.T) {
			cut := longStory(t)
			if _, err := cut.work(n); n < len(all) && !errors.Is(err, errKilled) {
				t.Fatalf("the worker ended with %v", err)
			}
			open := uncertain(cut.entries())
			got, err := cut.work(1 << 30)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, whole, cut, want, got)
			if diff := cmp.Diff(open, toldUncertain(cut.entries())); diff != "" {
				t.Errorf("uncertain: %s", diff)
			}
			if moved := count(cut.entries(), agent.SaidMoved); moved > 1 {
				t.Errorf("told %d times that another worker goes on", moved)
			}
		})
	}
}

func name(e agent.Entry) string {
	s := string(e.Kind)
	if e.Call != nil {
		s += " " + e.Call.Call.ID
	}
	return s + " " + string(e.Said)
}

// uncertain are the commands that were under way.
func uncertain(entries []agent.Entry) []string {
	open := map[string]bool{}
	for _, e := range entries {
		if e.Kind == agent.EntryIntended && e.Call.Effect == tool.EffectExec {
			open[e.Call.Call.ID] = true
		}
		if e.Kind == agent.EntryFinished {
			delete(open, e.Call.Call.ID)
		}
	}
	return slices.Sorted(maps.Keys(open))
}

func toldUncertain(entries []agent.Entry) []string {
	var out []string
	for _, e := range entries {
		if e.Kind == agent.EntryFinished && e.Call.Result.Code == tool.CodeUncertain {
			out = append(out, e.Call.Call.ID)
		}
	}
	slices.Sort(out)
	return out
}

func count(entries []agent.Entry, said agent.Saying) int {
	n := 0
	for _, e := range entries {
		if e.Said == said {
			n++
		}
	}
	return n
}

// TestResumeAgainAndAgain loses many workers in one run.
func TestResumeAgainAndAgain(t *testing.T) {
	whole := longStory(t)
	want, err := whole.work(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(25) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			cut := longStory(t)
			var got agent.Outcome
			err := errKilled
			for workers := 0; errors.Is(err, errKilled); workers++ {
				if workers > 200 {
					t.Fatal("no end")
				}
				got, err = cut.work(len(cut.journal) + 1 + random.IntN(16))
			}
			if err != nil {
				t.Fatal(err)
			}
			compare(t, whole, cut, want, got)
		})
	}
}

// TestResumeInTrouble cuts a run that goes in circles, answers without calls,
// runs into the output limit and writes calls that cannot be read: the counts
// and the words of the platform are those of the undisturbed run.
func TestResumeInTrouble(t *testing.T) {
	read := func(id string) step { return do(toolCall(id, "read_file", `{"path":"main.go"}`)) }
	cut := model.ToolCall{ID: "cut", Name: "write_file", Arguments: []byte(`{"path":"x`), Cut: true}
	story := func() *world {
		return newWorld(t, map[string]string{"main.go": "package main // broken\n"}, change(),
			step{text: "I think."}, step{}, read("a"), read("b"), read("c"), read("d"), // told of at the third, refused at the fourth
			do(toolCall("f1", "read_file", `{"file":1}`), toolCall("f2", "no_such_tool", `{}`)),
			step{calls: []model.ToolCall{cut}, stop: model.StopMaxTokens}, step{text: "long", stop: model.StopMaxTokens},
			do(toolCall("e1", "edit_file", `{"path":"main.go","old_string":"broken","new_string":"broke"}`)),
			do(toolCall("e2", "edit_file", `{"path":"main.go","old_string":"broke","new_string":"broken"}`), toolCall("p", "use_tool", `{"tool":"list_files","args":{}}`)),
			step{text: "Done."}, step{text: "Done."}, step{text: "Done, I said."})
	}
	whole := story()
	want, err := whole.work(1 << 30)
	if err != nil || want.State != agent.StateStalled || whole.result("d").Code != tool.CodeLoopBlocked || count(whole.entries(), agent.SaidNotice) == 0 {
		t.Fatalf("%+v, %v", want, err)
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
		if diff := cmp.Diff(whole.requests, w.requests); diff != "" {
			t.Errorf("cut after %d: %s", n, diff)
		}
	}
}
