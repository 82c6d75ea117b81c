package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/toolbox"
)

// TestManyReadsInOneReply: the results of one reply fit together, so that the
// model sees them before any compaction.
func TestManyReadsInOneReply(t *testing.T) {
	for _, window := range []int{32_000, 128_000} {
		r := newRig(t, nil)
		var calls []modeltest.Call
		for i := range 8 {
			name := fmt.Sprintf("f%d.txt", i)
			r.put(name, strings.Repeat(fmt.Sprintf("a line of file %d that is long enough\n", i), 3000))
			calls = append(calls, call("read_file", obj{"path": name, "limit": 2000}))
		}
		var seen string
		script := modeltest.New(modeltest.Do(calls...), func(q modeltest.Request) modeltest.Reply {
			seen = strings.Join(q.LastResults(), "\n")
			return modeltest.Reply{Text: "the answer"}
		}, modeltest.Say("the answer"), modeltest.Say("the answer"))
		r.cfg.Model = script
		out := r.run(agent.Task{Kind: agent.KindAnswer, Instruction: "read", Limits: agent.Limits{ContextTokens: window}})
		for i := range 8 {
			if !strings.Contains(seen, fmt.Sprintf("a line of file %d", i)) {
				t.Errorf("window %d: file %d was not seen", window, i)
			}
		}
		if out.Compactions > 0 || len(seen) > window*2 {
			t.Errorf("window %d: %d compactions, %d bytes of results", window, out.Compactions, len(seen))
		}
	}
}

// TestLinesThatWereCutAreNotRead: what did not fit was not shown.
func TestLinesThatWereCutAreNotRead(t *testing.T) {
	var refused string
	m := modeltest.New(
		modeltest.Do(call("read_file", obj{"path": "big.txt", "limit": 2000})),
		modeltest.Do(call("edit_file", obj{"path": "big.txt", "old_string": "line 1900 of", "new_string": "line x of"})),
		func(q modeltest.Request) modeltest.Reply {
			refused = q.LastResults()[0]
			return modeltest.Reply{Calls: []modeltest.Call{submit()}}
		}, modeltest.Do(submit()))
	r := newRig(t, m)
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "line %d of a file that is longer than a small window takes\n", i)
	}
	r.put("big.txt", b.String())
	task := change()
	task.Limits.ContextTokens = 32_000
	r.run(task)
	if !strings.HasPrefix(refused, string(tool.CodeNotRead)) {
		t.Errorf("the edit: %.200s", refused)
	}
}

// quiet is a tool that is asked about something that moves by itself.
func quiet() tool.Tool {
	return tool.Typed(tool.Spec{Name: "look_at_it", Effect: tool.EffectState, Poll: true},
		func(context.Context, struct{}) tool.Result { return tool.OKText("still running, no output") })
}

// TestWaitingIsNoCircle: asking again about what runs is told of, never refused.
func TestWaitingIsNoCircle(t *testing.T) {
	steps := make([]modeltest.Step, 0, 14)
	for range 12 {
		steps = append(steps, modeltest.Do(call("look_at_it", obj{})))
	}
	m := modeltest.New(append(steps, modeltest.Do(submit()), modeltest.Do(submit()))...)
	r := newRig(t, m)
	r.cfg.Tools = append(r.cfg.Tools, quiet())
	out := r.run(change())
	clean(t, m)
	if out.State != agent.StateNoChange {
		t.Errorf("state %s: %s", out.State, out.Reason)
	}
}

// TestChecksOfTheSameName: two jobs may have a step "Test"; a red one does not
// hide behind a green one.
func TestChecksOfTheSameName(t *testing.T) {
	var review string
	m := modeltest.New(modeltest.Do(readMain(), fixMain()), modeltest.Do(submit()), func(q modeltest.Request) modeltest.Reply {
		review = q.LastResults()[0]
		return modeltest.Reply{Calls: []modeltest.Call{submit()}}
	})
	r := newRig(t, m)
	task := change()
	task.Checks = []model.Check{{Name: "Test", Command: "fail a"}, {Name: "Test", Command: "check"}}
	r.cfg.Tools = toolbox.New(toolbox.Parts{Workspace: r.ws, Executor: r, Differ: r, Checks: task.Checks})
	r.run(task)
	if !strings.Contains(review, `"Test" still fails, exit code 1`) || !strings.Contains(review, "it is wrong") {
		t.Errorf("review: %s", review)
	}
	if len(r.ran) != 2 {
		t.Errorf("ran %v", r.ran)
	}
}

// TestHungCheckIsRunOnce: it ran, and how it ended is told; running it again on
// the same files would only take the rest of the time.
func TestHungCheckIsRunOnce(t *testing.T) {
	var review string
	m := modeltest.New(modeltest.Do(readMain(), fixMain()), modeltest.Do(call("run_command", obj{"command": "hang"})), modeltest.Do(submit()), func(q modeltest.Request) modeltest.Reply {
		review = q.LastResults()[0]
		return modeltest.Reply{Calls: []modeltest.Call{submit()}}
	})
	r := newRig(t, m)
	task := change()
	task.Checks = []model.Check{{Name: "test", Command: "hang"}}
	r.cfg.Tools = toolbox.New(toolbox.Parts{Workspace: r.ws, Executor: r, Differ: r, Checks: task.Checks})
	out := r.run(task)
	clean(t, m)
	if len(r.ran) != 1 || !strings.Contains(review, `"test" still fails, ended: idle`) || out.State != agent.StateFinished {
		t.Errorf("ran %v, state %s, review %s", r.ran, out.State, review)
	}
}

// TestNoEditIsNotSentBack: a check that fails again and again before anything is
// changed says nothing about changes, even if it leaves files behind.
func TestNoEditIsNotSentBack(t *testing.T) {
	m := modeltest.New(modeltest.Do(runCheck()), modeltest.Do(call("run_command", obj{"command": "check "})), modeltest.Do(call("run_command", obj{"command": " check"})),
		modeltest.Do(readMain(), fixMain()), modeltest.Do(submit()), modeltest.Do(submit()))
	r := newRig(t, m)
	r.litter = true
	out := r.run(change())
	clean(t, m)
	if out.State != agent.StateFinished {
		t.Errorf("state %s: %s", out.State, out.Reason)
	}
}

// TestConflictMarkersNeedAReason: a second finish does not pass what can hardly
// be meant.
func TestConflictMarkersNeedAReason(t *testing.T) {
	var refused string
	mark := call("edit_file", obj{"path": "main.go", "old_string": "broken", "new_string": "fixed\") }\n<<<<<<< ours\nfunc x() { println(\""})
	m := modeltest.New(modeltest.Do(readMain(), mark, runCheck()), modeltest.Do(submit()), modeltest.Do(submit()), func(q modeltest.Request) modeltest.Reply {
		refused = q.LastResults()[0]
		return modeltest.Reply{Calls: []modeltest.Call{call("finish", obj{"summary": "s", "unverified": "it is a fixture"})}}
	})
	out := newRig(t, m).run(change())
	clean(t, m)
	if !strings.Contains(refused, "does not parse") || out.State != agent.StateFinished {
		t.Errorf("state %s, answer %s", out.State, refused)
	}
}

// TestOutputIsNotThePlatforms: what a command prints does not begin a line like
// the platform's own words.
func TestOutputIsNotThePlatforms(t *testing.T) {
	var seen string
	m := modeltest.New(modeltest.Do(call("run_command", obj{"command": "forge"})), func(q modeltest.Request) modeltest.Reply {
		seen = q.LastResults()[0]
		return modeltest.Reply{Calls: []modeltest.Call{submit()}}
	}, modeltest.Do(submit()))
	newRig(t, m).run(change())
	clean(t, m)
	for line := range strings.Lines(seen) {
		if strings.HasPrefix(line, "[phase review") || strings.HasPrefix(line, "Platform notice") {
			t.Errorf("forged: %q", line)
		}
	}
	if !strings.Contains(seen, "all is well") || !strings.Contains(seen, "\n[phase locate; step 1 ") {
		t.Errorf("result: %q", seen)
	}
}
