package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/anthropic"
	"github.com/greenwright/greenwright/agent/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, cfg anthropic.Config, steps ...modeltest.Step) (*anthropic.Driver, *modeltest.Server) {
	t.Helper()
	s, err := modeltest.NewServer(steps...)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		s.Close()
	})
	if cfg.Model == "" {
		cfg.Model = "m"
	}
	cfg.BaseURL, cfg.HTTPClient = s.URL(), client
	d, err := anthropic.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

func request(messages ...model.Message) model.Request {
	return model.Request{System: []string{"stable", "facts"}, Messages: messages, MaxOutputTokens: 500,
		Tools: []model.ToolSpec{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "run", Schema: json.RawMessage(`{"type":"object"}`)}}}
}

func complete(t *testing.T, m model.Model, messages ...model.Message) model.Response {
	t.Helper()
	res, err := m.Complete(context.Background(), request(messages...))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func assistant(parts ...model.Part) model.Message {
	return model.Message{Role: model.RoleAssistant, Parts: parts}
}

func call(id string) model.Part {
	return model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{ID: id, Name: "look", Arguments: json.RawMessage(`{}`)}}
}

func result(id string) model.Message {
	return model.Results(model.ToolResult{CallID: id, Text: "seen"})
}

func kinds(messages []model.Message) []string {
	var out []string
	for _, m := range messages {
		line := string(m.Role)
		for _, p := range m.Parts {
			line += " " + string(p.Kind)
			if p.Thinking != nil {
				line += "=" + string(p.Thinking.Data)
			}
		}
		out = append(out, line)
	}
	return out
}

func thinkingReply(modeltest.Request) modeltest.Reply {
	return modeltest.Reply{Thinking: "first <&>\u2028", Redacted: "opaque+/==", Text: "Looking.", Calls: []modeltest.Call{{ID: "a", Name: "look"}}}
}

func TestThinkingGoesBackInPlace(t *testing.T) {
	d, s := open(t, anthropic.Config{}, thinkingReply, modeltest.Say("done"))
	start := model.Text(model.RoleUser, "go")
	first := complete(t, d, start)
	complete(t, d, start, first.Message, result("a"))
	want := []string{"user text", "assistant thinking=first <&>\u2028 thinking=opaque+/== text tool_call", "tool tool_result"}
	if diff := cmp.Diff(want, kinds(s.Requests()[1].Messages)); diff != "" {
		t.Error(diff)
	}
}

func TestThinkingOfAnotherModelIsDropped(t *testing.T) {
	d, _ := open(t, anthropic.Config{Model: "one"}, thinkingReply)
	start := model.Text(model.RoleUser, "go")
	first := complete(t, d, start)
	other, s := open(t, anthropic.Config{Model: "two"}, modeltest.Say("done"))
	complete(t, other, start, first.Message, result("a"))
	if diff := cmp.Diff([]string{"user text", "assistant text tool_call", "tool tool_result"}, kinds(s.Requests()[0].Messages)); diff != "" {
		t.Error(diff)
	}
}

func TestThinkingAloneDoesNotGoBack(t *testing.T) {
	d, s := open(t, anthropic.Config{}, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Thinking: "only"} }, modeltest.Say("done"))
	start := model.Text(model.RoleUser, "go")
	first := complete(t, d, start)
	complete(t, d, start, first.Message, model.Text(model.RoleUser, "and?"))
	if diff := cmp.Diff([]string{"user text", "user text"}, kinds(s.Requests()[1].Messages)); diff != "" {
		t.Error(diff)
	}
}

func TestResultsComeBeforeText(t *testing.T) {
	d, s := open(t, anthropic.Config{}, modeltest.Say("done"))
	mixed := model.Message{Role: model.RoleTool, Parts: []model.Part{{Kind: model.PartText, Text: "note"}, result("a").Parts[0]}}
	complete(t, d, model.Text(model.RoleUser, "go"), assistant(call("a")), mixed, model.Text(model.RoleUser, "hurry"))
	want := []string{"user text", "assistant tool_call", "tool tool_result", "user text", "user text"}
	if diff := cmp.Diff(want, kinds(s.Requests()[0].Messages)); diff != "" || len(s.Violations()) > 0 {
		t.Error(diff, s.Violations())
	}
}

// marks says where the breakpoints of a request are.
func marks(t *testing.T, raw []byte) []string {
	t.Helper()
	type block struct {
		Cache json.RawMessage `json:"cache_control"`
	}
	var in struct {
		Tools    []block
		System   []block
		Messages []struct{ Content []block }
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		t.Fatal(err)
	}
	var out []string
	add := func(where string, list []block) {
		for i, b := range list {
			if len(b.Cache) > 0 {
				out = append(out, fmt.Sprintf("%s %d of %d", where, i+1, len(list)))
			}
		}
	}
	add("tool", in.Tools)
	add("system", in.System)
	for i, m := range in.Messages {
		add(fmt.Sprintf("message %d, block", i), m.Content)
	}
	return out
}

func TestBreakpoints(t *testing.T) {
	d, s := open(t, anthropic.Config{}, modeltest.Say("a"), modeltest.Say("b"))
	start := model.Text(model.RoleUser, "go")
	complete(t, d, start)
	complete(t, d, start, assistant(call("a")), result("a"), model.Text(model.RoleUser, "and"), assistant(call("b")), result("b"))
	want := [][]string{
		{"tool 2 of 2", "system 2 of 2", "message 0, block 1 of 1"},
		{"tool 2 of 2", "system 2 of 2", "message 2, block 2 of 2", "message 4, block 1 of 1"},
	}
	for i, r := range s.Requests() {
		if diff := cmp.Diff(want[i], marks(t, r.Raw)); diff != "" {
			t.Errorf("request %d: %s", i, diff)
		}
	}
}

func TestParametersStayTheSame(t *testing.T) {
	d, s := open(t, anthropic.Config{Effort: "high"}, modeltest.Say("a"), modeltest.Say("b"))
	start := model.Text(model.RoleUser, "go")
	complete(t, d, start)
	complete(t, d, start, assistant(call("a")), result("a"))
	var heads [2]map[string]any
	for i, r := range s.Requests() {
		if err := json.Unmarshal(r.Raw, &heads[i]); err != nil {
			t.Fatal(err)
		}
		delete(heads[i], "messages")
	}
	if diff := cmp.Diff(heads[0], heads[1]); diff != "" {
		t.Error(diff)
	}
}

func TestStopReasons(t *testing.T) {
	cases := []struct {
		word, detail string
		want         model.StopReason
	}{
		{"end_turn", "", model.StopEnd},
		{"stop_sequence", "stop_sequence", model.StopEnd},
		{"pause_turn", "", model.StopPause},
		{"max_tokens", "", model.StopMaxTokens},
		{"model_context_window_exceeded", "model_context_window_exceeded", model.StopMaxTokens},
		{"refusal", "", model.StopRefusal},
		{"a_reason_to_come", "a_reason_to_come", model.StopEnd},
	}
	for _, c := range cases {
		t.Run(c.word, func(t *testing.T) {
			d, _ := open(t, anthropic.Config{}, func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Text: "x", StopWord: c.word} })
			res := complete(t, d, model.Text(model.RoleUser, "go"))
			if res.StopReason != c.want || res.StopDetail != c.detail {
				t.Errorf("%s %q, want %s %q", res.StopReason, res.StopDetail, c.want, c.detail)
			}
		})
	}
}

func TestWindowExceededCutsTheCall(t *testing.T) {
	d, _ := open(t, anthropic.Config{}, func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{StopWord: "model_context_window_exceeded", Calls: []modeltest.Call{{Name: "look"}}}
	})
	if calls := complete(t, d, model.Text(model.RoleUser, "go")).Message.Calls(); len(calls) != 1 || !calls[0].Cut {
		t.Errorf("calls %+v", calls)
	}
}

func TestUsageAboveTheWindowIsOverflow(t *testing.T) {
	d, _ := open(t, anthropic.Config{Window: 1_000}, func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Text: "fine", Usage: model.Usage{Input: 600, CacheRead: 600, Output: 1}}
	})
	_, err := d.Complete(context.Background(), request(model.Text(model.RoleUser, "go")))
	e, _ := errors.AsType[*model.Error](err)
	if e == nil || e.Class != model.ClassOverflow || e.Asked != 1_200 || e.Limit != 1_000 {
		t.Errorf("%+v", err)
	}
}

func TestErrorEventsAfter200(t *testing.T) {
	cases := map[string]error{"overloaded_error": model.ErrRetryable, "rate_limit_error": model.ErrRetryable, "api_error": model.ErrRetryable,
		"invalid_request_error": model.ErrFatal, "authentication_error": model.ErrFatal, "billing_error": model.ErrFatal, "request_too_large": model.ErrOverflow}
	for kind, want := range cases {
		t.Run(kind, func(t *testing.T) {
			d, _ := open(t, anthropic.Config{}, func(modeltest.Request) modeltest.Reply {
				return modeltest.Reply{Text: "partial text", Fault: modeltest.FaultStreamError,
					Message: fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":"no"}}`, kind)}
			})
			if res, err := d.Complete(context.Background(), request(model.Text(model.RoleUser, "go"))); !errors.Is(err, want) || len(res.Message.Parts) > 0 {
				t.Errorf("%v, want %v; reply %+v", err, want, res)
			}
		})
	}
}

func TestConfig(t *testing.T) {
	if _, err := anthropic.New(anthropic.Config{}); err == nil || !strings.Contains(err.Error(), "no model") {
		t.Errorf("%v", err)
	}
}
