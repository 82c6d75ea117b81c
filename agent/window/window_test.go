package window_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/window"
)

// filled is a window over a task and then one call a step with its result.
func filled(tokens int, steps ...[3]string) *window.Window {
	w := window.New(tokens)
	w.Append(model.Text(model.RoleUser, "task"))
	for i, s := range steps {
		id := fmt.Sprintf("c%d", i)
		w.Append(model.Message{Role: model.RoleAssistant, Parts: []model.Part{
			{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: "p", Data: []byte(id)}},
			{Kind: model.PartToolCall, Call: &model.ToolCall{ID: id, Name: s[0], Arguments: json.RawMessage(s[1])}}}})
		w.Append(model.Results(model.ToolResult{CallID: id, Text: s[2]}))
	}
	return w
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

func names(calls []model.ToolCall) []string {
	var out []string
	for _, c := range calls {
		out = append(out, c.ID)
	}
	return out
}

func TestSuperseded(t *testing.T) {
	big := strings.Repeat("0123456789\n", 3000)
	w := filled(60_000,
		[3]string{"read_file", `{"path":"a.go"}`, big},
		[3]string{"read_file", `{"path":"b.go"}`, big},
		[3]string{"run_command", `{"command":"make"}`, big},
		[3]string{"edit_file", `{"path":"/workspace/a.go"}`, "edited"},
		[3]string{"run_command", `{ "command": "make" }`, big},
	)
	before := slices.Clone(w.Messages())
	report := w.Reduce(window.StepSuperseded)
	got := texts(w.Messages())
	if !strings.Contains(got[0], "changed after this read") || got[1] != big || !strings.Contains(got[2], "called again later") || got[4] != big {
		t.Errorf("results %.80q", got)
	}
	if diff := cmp.Diff([]string{"c0"}, names(report.Dropped)); diff != "" { // c2 is shown again by c4
		t.Error(diff)
	}
	if report.Before-report.After < report.Before/10 || report.After != w.Tokens() {
		t.Errorf("report %+v, tokens %d", report, w.Tokens())
	}
	for i, m := range before {
		for j, p := range m.Parts {
			if p.Thinking != nil && string(w.Messages()[i].Parts[j].Thinking.Data) != string(p.Thinking.Data) {
				t.Error("reasoning was touched")
			}
		}
	}
	if err := modeltest.Check(w.Messages()); err != nil {
		t.Error(err)
	}
}

func TestShorten(t *testing.T) {
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "line %d\n", i)
	}
	wide := strings.Repeat("ä", 20_000)
	w := filled(8_000,
		[3]string{"run_command", `{"command":"a"}`, lines.String()},
		[3]string{"run_command", `{"command":"b"}`, wide},
		[3]string{"run_command", `{"command":"c"}`, lines.String()},
	)
	sent := w.Messages()
	w.Reduce(window.StepShorten)
	got := texts(w.Messages())
	if !strings.HasPrefix(got[0], "line 0\n") || !strings.HasSuffix(got[0], "line 999\n") || len(got[0]) > 900 {
		t.Errorf("first: %q", got[0])
	}
	if whole := window.Shorten(lines.String()); !strings.Contains(whole, "940 lines left out") {
		t.Errorf("shortened: %q", whole)
	}
	if len(got[1]) > 600 || !strings.HasPrefix(got[1], "ää") {
		t.Errorf("wide: %d bytes", len(got[1]))
	}
	if got[2] != lines.String() {
		t.Error("the latest result was touched")
	}
	if texts(sent)[0] != lines.String() {
		t.Error("what was sent before has changed")
	}
}

func TestTargetStopsTheStep(t *testing.T) {
	mid := strings.Repeat("0123456789\n", 1000)
	var steps [][3]string
	for i := range 10 {
		steps = append(steps, [3]string{"read_file", fmt.Sprintf(`{"path":"%d"}`, i), mid})
	}
	w := filled(60_000, steps...)
	if !w.Reached() {
		w.Reduce(window.StepShorten)
	}
	whole := 0
	for _, text := range texts(w.Messages()) {
		if text == mid {
			whole++
		}
	}
	if !w.Reached() || whole < 2 {
		t.Errorf("reached %v, %d results are whole", w.Reached(), whole)
	}
}

func TestRebuild(t *testing.T) {
	big := strings.Repeat("0123456789\n", 1000)
	var steps [][3]string
	for i := range 8 {
		steps = append(steps, [3]string{"read_file", fmt.Sprintf(`{"path":"%d"}`, i%7), big})
	}
	w := filled(40_000, steps...)
	from := w.Tail()
	if from <= 1 || w.Messages()[from].Role != model.RoleAssistant {
		t.Fatalf("tail at %d", from)
	}
	report := w.Rebuild(window.StepSummary, []model.Message{model.Text(model.RoleUser, "task"), model.Text(model.RoleUser, "summary")}, from)
	if report.Before-report.After < report.Before/10 || len(texts(w.Messages())) < 1 {
		t.Errorf("report %+v", report)
	}
	if slices.Contains(names(report.Dropped), "c0") { // read again at the end
		t.Error("a read that is still in view was dropped")
	}
	if err := modeltest.Check(w.Messages()); err != nil {
		t.Error(err)
	}
	before := w.Tokens()
	if r := w.Rebuild(window.StepReset, []model.Message{model.Text(model.RoleUser, strings.Repeat("long ", 100_000))}, len(w.Messages())); r.After != r.Before || w.Tokens() != before {
		t.Errorf("a head that is larger than what it replaces was taken: %+v", r)
	}
	w.Rebuild(window.StepReset, []model.Message{model.Text(model.RoleUser, "task")}, len(w.Messages()))
	if len(w.Messages()) != 1 {
		t.Errorf("%d messages after a reset", len(w.Messages()))
	}
}

func TestRenderIsBounded(t *testing.T) {
	var steps [][3]string
	for i := range 200 {
		steps = append(steps, [3]string{"read_file", fmt.Sprintf(`{"path":"%d"}`, i), strings.Repeat("x", 10_000)})
	}
	w := filled(1_000_000, steps...)
	text := w.Render(len(w.Messages()), 50_000)
	if len(text) > 51_000 || !strings.HasPrefix(text, "USER: task\n") || !strings.Contains(text, "entries left out") || !strings.Contains(text, `{"path":"199"}`) {
		t.Errorf("%d bytes: %.60q", len(text), text)
	}
	if short := w.Render(3, 50_000); len(short) > 2_300 || strings.Contains(short, "entries left out") {
		t.Errorf("%d bytes", len(short))
	}
}

func TestEstimateLearns(t *testing.T) {
	w := filled(200_000, [3]string{"read_file", `{"path":"a"}`, strings.Repeat("0123456789\n", 4000)})
	guess := w.Tokens()
	w.Sent(int64(guess * 3 / 2))
	if got := w.Tokens(); got != guess*3/2 {
		t.Errorf("after a report of %d: %d", guess*3/2, got)
	}
	w.Append(model.Text(model.RoleUser, strings.Repeat("a", 3500)))
	if got := w.Tokens() - guess*3/2; got < 1000 || got > 1500 {
		t.Errorf("what was added since counts %d", got)
	}
	w.Sent(50) // absurd: not believed
	if got := w.Tokens(); got < guess/2 {
		t.Errorf("after an absurd report: %d", got)
	}
	latin, cjk := window.New(1000), window.New(1000)
	latin.Append(model.Text(model.RoleUser, strings.Repeat("abc", 1000)))
	cjk.Append(model.Text(model.RoleUser, strings.Repeat("漢", 1000)))
	if cjk.Tokens() <= latin.Tokens()*5/4 {
		t.Errorf("the same bytes: %d tokens in Latin, %d in Chinese", latin.Tokens(), cjk.Tokens())
	}
}

func TestRefusedCorrects(t *testing.T) {
	w := filled(200_000, [3]string{"read_file", `{"path":"a"}`, strings.Repeat("0123456789\n", 4000)})
	w.Refused(32_000, 40_000)
	if w.Usable() != 16_000 || w.Tokens() < 35_000 || w.Fits() {
		t.Errorf("usable %d, tokens %d", w.Usable(), w.Tokens())
	}
	sent := w.Tokens()
	if w.Refused(0, 0); w.Usable() != 16_000 || sent < 16_000 {
		t.Errorf("usable %d of %d sent", w.Usable(), sent)
	}
	small := filled(200_000, [3]string{"read_file", `{"path":"a"}`, strings.Repeat("0123456789\n", 4000)})
	sent = small.Tokens()
	if small.Refused(0, 0); small.Usable() >= sent || small.Fits() {
		t.Errorf("usable %d after %d tokens were refused", small.Usable(), sent)
	}
}
