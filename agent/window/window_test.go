package window_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/window"
)

// transcript is a task and then one call a step with its result.
func transcript(steps ...[3]string) []model.Message {
	messages := []model.Message{model.Text(model.RoleUser, "task")}
	for i, s := range steps {
		id := fmt.Sprintf("c%d", i)
		messages = append(messages,
			model.Message{Role: model.RoleAssistant, Parts: []model.Part{
				{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: "p", Data: []byte(id)}},
				{Kind: model.PartToolCall, Call: &model.ToolCall{ID: id, Name: s[0], Arguments: json.RawMessage(s[1])}}}},
			model.Results(model.ToolResult{CallID: id, Text: s[2]}))
	}
	return messages
}

func texts(messages []model.Message) []string {
	var out []string
	for _, m := range messages {
		for _, p := range m.Parts {
			if p.Result != nil {
				out = append(out, p.Result.Text)
			}
		}
	}
	return out
}

func TestCompactDropsSupersededFirst(t *testing.T) {
	big := strings.Repeat("0123456789\n", 2000)
	in := transcript(
		[3]string{"read_file", `{"path":"a.go"}`, big},
		[3]string{"read_file", `{"path":"b.go"}`, big},
		[3]string{"run_command", `{"command":"make"}`, big},
		[3]string{"edit_file", `{"path":"/workspace/a.go"}`, "edited"},
		[3]string{"run_command", `{ "command": "make" }`, big},
	)
	w := window.New(60_000)
	out, report := w.Compact(in, false)
	got := texts(out)
	if !strings.Contains(got[0], "changed after this read") || got[1] != big || !strings.Contains(got[2], "called again later") || got[4] != big {
		t.Errorf("results %.80q", got)
	}
	if len(report.Dropped) != 2 || !report.Enough() {
		t.Errorf("report %+v", report)
	}
	if diff := cmp.Diff(big, texts(in)[0]); diff != "" {
		t.Error("the input was changed")
	}
	if err := modeltest.Check(out); err != nil {
		t.Error(err)
	}
}

func TestCompactShortensOldResultsAndKeepsTheRest(t *testing.T) {
	big := strings.Repeat("0123456789\n", 4000)
	in := transcript([3]string{"read_file", `{"path":"a"}`, big}, [3]string{"read_file", `{"path":"b"}`, big}, [3]string{"read_file", `{"path":"c"}`, big})
	w := window.New(40_000)
	out, report := w.Compact(in, false)
	got := texts(out)
	if len(got[0]) > 1000 || !strings.Contains(got[0], "left out to save room") || got[2] != big {
		t.Errorf("sizes %d %d %d", len(got[0]), len(got[1]), len(got[2]))
	}
	hard, _ := w.Compact(out, true)
	if n := len(texts(hard)[0]); n > 250 || texts(hard)[2] != big {
		t.Errorf("hard left %d bytes", n)
	}
	for i, m := range hard {
		if m.Role == model.RoleAssistant {
			if diff := cmp.Diff(in[i], m); diff != "" {
				t.Errorf("a reply was changed: %s", diff)
			}
		}
	}
	again, second := w.Compact(hard, true)
	if second.Enough() || cmp.Diff(hard, again) != "" {
		t.Errorf("compacting twice changed something: %+v", second)
	}
	if !report.Enough() {
		t.Errorf("report %+v", report)
	}
}

func TestEstimateLearns(t *testing.T) {
	w := window.New(200_000)
	req := model.Request{Messages: []model.Message{model.Text(model.RoleUser, strings.Repeat("x", 35_000))}}
	first := w.Estimate(req)
	if first < 10_000 || first > 10_100 {
		t.Errorf("estimate %d", first)
	}
	for range 10 {
		w.Observe(w.Estimate(req), 15_000)
	}
	if got := w.Estimate(req); got < 14_900 || got > 15_100 {
		t.Errorf("after reports of 15,000 the estimate is %d", got)
	}
	w.Observe(100, 100_000)
	if got := w.Estimate(req); got > 15_100 {
		t.Errorf("a tiny request moved the estimate to %d", got)
	}
}

func TestSmallWindowStaysUsable(t *testing.T) {
	for _, tokens := range []int{4_096, 8_192, 32_000, 200_000} {
		w := window.New(tokens)
		if w.Usable() < tokens/2 || w.Usable() >= tokens || w.ItemBytes() <= 0 {
			t.Errorf("%d: usable %d, item %d", tokens, w.Usable(), w.ItemBytes())
		}
	}
}
