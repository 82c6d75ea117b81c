package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/tool"
)

// counting is a model that works for many steps and refuses, as services do,
// what is longer than its window. It counts about as those do: three and a
// quarter bytes to a token.
type counting struct {
	t      *testing.T
	window int
	steps  int
	do     func(step int) modeltest.Call

	done, largest, summaries, refused int
	deaf                              bool // summaries come back empty
	rude                              bool // the first request over a quarter of the window is refused
	total, shared                     int  // bytes sent, and those that the request before began with
	last                              string
}

func (c *counting) Name() string { return "test/counting" }

func (c *counting) Complete(_ context.Context, req model.Request) (model.Response, error) {
	if err := modeltest.Check(req.Messages); err != nil {
		c.t.Error(err)
	}
	text := prompt(c.t, req)
	tokens := len(text) * 4 / 13
	if tokens > c.window || c.rude && c.refused == 0 && tokens > c.window/4 {
		c.refused++
		return model.Response{}, &model.Error{Class: model.ClassOverflow, Status: 400, Limit: c.window, Asked: tokens, Message: "prompt is too long"}
	}
	c.largest = max(c.largest, tokens)
	usage := model.Usage{Input: int64(tokens), Output: 50}
	if len(req.Tools) == 0 {
		c.summaries++
		notes := "Facts learned\nfile-0.txt:1 is long"
		if c.deaf {
			notes = ""
		}
		return model.Response{Message: model.Text(model.RoleAssistant, notes), StopReason: model.StopEnd, Usage: usage}, nil
	}
	c.total += len(text)
	c.shared += common(c.last, text)
	c.last = text
	next := submit()
	if c.done < c.steps {
		next = c.do(c.done)
	}
	c.done++
	args, err := json.Marshal(next.Args)
	if err != nil {
		c.t.Fatal(err)
	}
	m := model.Message{Role: model.RoleAssistant, Parts: []model.Part{
		{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: c.Name(), Data: fmt.Appendf(nil, "thought %d", c.done)}},
		{Kind: model.PartToolCall, Call: &model.ToolCall{ID: fmt.Sprintf("c%d", c.done), Name: next.Name, Arguments: args}}}}
	return model.Response{Message: m, StopReason: model.StopToolUse, Usage: usage}, nil
}

// prompt is a request as one text, in the order in which vendors cache.
func prompt(t *testing.T, req model.Request) string {
	t.Helper()
	var b strings.Builder
	for _, part := range []any{req.Tools, req.System, req.Messages} {
		text, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text[:len(text)-1]) // without the closing bracket, so that a longer list extends a shorter one
	}
	return b.String()
}

func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// longRun runs a task of many steps.
func longRun(t *testing.T, c *counting, window int) (agent.Outcome, *rig) {
	t.Helper()
	r := newRig(t, c)
	for i := range 7 {
		var b strings.Builder
		for n := range 3000 {
			fmt.Fprintf(&b, "%d: %s\n", n, strings.Repeat(string(rune('a'+i)), 60))
		}
		r.put(fmt.Sprintf("file-%d.txt", i), b.String())
	}
	r.put("huge.txt", strings.Repeat(strings.Repeat("x", 99)+"\n", 300_000)) // 30 MB
	task := agent.Task{ID: "long", Instruction: "say what is in the files", Kind: agent.KindAnswer,
		Limits: agent.Limits{Steps: c.steps + 10, ToolCalls: c.steps + 10, ContextTokens: window}}
	return r.run(task), r
}

// reading calls tools that answer much: parts of long files, a file of 30 MB,
// output of 476 MB.
func reading(i int) modeltest.Call {
	switch i % 5 {
	case 3:
		return call("read_file", obj{"path": "huge.txt", "offset": i + 1})
	case 4:
		return call("run_command", obj{"command": fmt.Sprintf("flood %d", i)})
	}
	return call("read_file", obj{"path": fmt.Sprintf("file-%d.txt", i%7), "offset": i*13%2500 + 1})
}

// TestLongRunStaysInTheWindow: whatever comes, no request is longer than the
// window, the transcript stays one that services accept, the worker stays
// small and the run ends well.
func TestLongRunStaysInTheWindow(t *testing.T) {
	for _, c := range []struct {
		name   string
		window int
		steps  int
		deaf   bool
		rude   bool
	}{
		{"default window", 128_000, 400, false, false},
		{"small window", 32_000, 400, false, false},
		{"tiny window", 16_000, 100, false, false},
		{"no summaries", 32_000, 100, true, false},
		{"a server with less than it says", 32_000, 100, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &counting{t: t, window: c.window, steps: c.steps, do: reading, deaf: c.deaf, rude: c.rude}
			out, r := longRun(t, m, c.window)
			if out.State != agent.StateAnswered || m.done != c.steps+1 {
				t.Errorf("state %s after %d steps: %s", out.State, m.done, out.Reason)
			}
			if want := 0; m.refused > want && !c.rude || c.rude && m.refused != 1 {
				t.Errorf("%d requests were too long", m.refused)
			}
			var mem runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&mem)
			t.Logf("largest request %d of %d tokens, %d compactions, %d summaries, %.1f %% of the prompt bytes as in the request before, %d MB of heap",
				m.largest, c.window, out.Compactions, m.summaries, 100*float64(m.shared)/float64(m.total), mem.HeapAlloc>>20)
			if out.Compactions == 0 || mem.HeapAlloc > 200<<20 {
				t.Errorf("%d compactions, %d MB of heap", out.Compactions, mem.HeapAlloc>>20)
			}
			if c.deaf && m.summaries > out.Compactions {
				t.Errorf("%d summaries asked for in vain", m.summaries)
			}
			for _, e := range r.entries {
				if e.Call != nil && e.Call.Result != nil && e.Call.Result.Code == tool.CodeInternal {
					t.Errorf("result %+v", e.Call.Result)
				}
			}
		})
	}
}

// TestPromptsShareTheirPrefix: on a scripted run of 50 steps at least nine
// tenths of the bytes of each prompt are those that the one before began with,
// so that a vendor's cache serves them.
func TestPromptsShareTheirPrefix(t *testing.T) {
	m := &counting{t: t, window: 128_000, steps: 50, do: func(i int) modeltest.Call {
		return call("read_file", obj{"path": fmt.Sprintf("file-%d.txt", i%7), "offset": i*13 + 1, "limit": 10})
	}}
	out, _ := longRun(t, m, 128_000)
	share := float64(m.shared) / float64(m.total)
	t.Logf("%d bytes of prompts over %d requests, %.1f %% shared with the request before", m.total, m.done, 100*share)
	if out.State != agent.StateAnswered || share < 0.9 {
		t.Errorf("state %s, %.3f shared", out.State, share)
	}
}

// TestPeoplesWordsSurvive: what a person wrote while the run worked is word for
// word in the transcript after it was compacted to the end.
func TestPeoplesWordsSurvive(t *testing.T) {
	m := &counting{t: t, window: 32_000, steps: 60, do: reading, deaf: true}
	r := newRig(t, m)
	r.put("file-0.txt", strings.Repeat("a line\n", 3000))
	r.put("huge.txt", strings.Repeat("x\n", 10_000))
	r.inbox = [][]agent.Message{nil, {{ID: "1", Author: "maintainer", Text: "keep the old name as an alias"}}}
	out := r.run(agent.Task{ID: "long", Instruction: "say what is in the files", Kind: agent.KindAnswer,
		Limits: agent.Limits{Steps: 100, ToolCalls: 100, ContextTokens: 32_000}})
	if out.State != agent.StateAnswered || out.Compactions == 0 {
		t.Errorf("state %s, %d compactions", out.State, out.Compactions)
	}
	if n := strings.Count(m.last, "keep the old name as an alias"); n != 1 || !strings.Contains(m.last, "say what is in the files") {
		t.Errorf("the message is there %d times", n)
	}
}
