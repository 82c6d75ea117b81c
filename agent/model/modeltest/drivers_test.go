package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/anthropic"
	"github.com/greenwright/greenwright/agent/model/modeltest"
)

func TestConversation(t *testing.T) {
	steps := []modeltest.Step{
		func(modeltest.Request) modeltest.Reply {
			return modeltest.Reply{Thinking: "hm <&> \u2028 …", Text: "Looking.", Usage: model.Usage{Input: 10, CacheRead: 90, Output: 7},
				Calls: []modeltest.Call{{Name: "look", Args: map[string]string{"path": "a"}}, {Name: "look", Args: map[string]string{"path": "b"}}}}
		},
		func(r modeltest.Request) modeltest.Reply {
			return modeltest.Reply{Text: "saw " + strings.Join(r.LastResults(), ",")}
		},
	}
	eachDriver(t, steps, func(t *testing.T, m model.Model, s *modeltest.Server) {
		start := model.Text(model.RoleUser, "go")
		first, err := m.Complete(context.Background(), request(start))
		if err != nil {
			t.Fatal(err)
		}
		calls := first.Message.Calls()
		if len(calls) != 2 || calls[0].ID == calls[1].ID || calls[0].Cut || calls[1].Cut {
			t.Fatalf("calls = %+v", calls)
		}
		if diff := cmp.Diff(`{"path":"b"}`, string(calls[1].Arguments)); diff != "" {
			t.Error(diff)
		}
		if first.StopReason != model.StopToolUse || first.Message.Plain() != "Looking." {
			t.Errorf("stop %s, text %q", first.StopReason, first.Message.Plain())
		}
		usage := model.Usage{Input: 10, CacheRead: 90, Output: 7}
		if s.Requests()[0].Protocol == modeltest.ProtocolOllama { // tells no cache
			usage = model.Usage{Input: 100, Output: 7}
		}
		if diff := cmp.Diff(usage, first.Usage); diff != "" {
			t.Errorf("usage: %s", diff)
		}
		results := model.Results(model.ToolResult{CallID: calls[0].ID, Text: "one"}, model.ToolResult{CallID: calls[1].ID, Text: "two", Error: true})
		second, err := m.Complete(context.Background(), request(start, first.Message, results, model.Text(model.RoleUser, "and?")))
		if err != nil {
			t.Fatal(err)
		}
		if got := second.Message.Plain(); got != "saw one,two" {
			t.Errorf("second reply %q", got)
		}
		noViolations(t, s)
		seen := s.Requests()[1]
		if !strings.Contains(seen.System, "be good") || cmp.Diff([]string{"look"}, seen.Tools) != "" {
			t.Errorf("system %q, tools %v", seen.System, seen.Tools)
		}
		if seen.Protocol != "chat" { // Chat Completions has no place for reasoning
			checkThinking(t, seen)
		}
	})
}

func checkThinking(t *testing.T, seen modeltest.Request) {
	t.Helper()
	for _, m := range seen.Messages {
		for _, p := range m.Parts {
			if p.Thinking != nil {
				if got := string(p.Thinking.Data); got != "hm <&> \u2028 …" {
					t.Errorf("thinking came back as %q", got)
				}
				return
			}
		}
	}
	t.Error("thinking did not come back")
}

func TestStoredTranscriptSurvivesJSON(t *testing.T) {
	steps := []modeltest.Step{
		func(modeltest.Request) modeltest.Reply {
			return modeltest.Reply{Thinking: "signed", Calls: []modeltest.Call{{Name: "look", Args: map[string]string{"path": "a"}}}}
		},
		modeltest.Say("done"),
	}
	eachDriver(t, steps, func(t *testing.T, m model.Model, s *modeltest.Server) {
		start := model.Text(model.RoleUser, "go")
		first, err := m.Complete(context.Background(), request(start))
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(first.Message)
		if err != nil {
			t.Fatal(err)
		}
		var restored model.Message
		if err := json.Unmarshal(data, &restored); err != nil {
			t.Fatal(err)
		}
		result := model.Results(model.ToolResult{CallID: restored.Calls()[0].ID, Text: ""})
		if _, err := m.Complete(context.Background(), request(start, restored, result)); err != nil {
			t.Fatal(err)
		}
		noViolations(t, s)
	})
}

func TestCutCallIsMarked(t *testing.T) {
	for _, args := range []string{`{"path":"abcdefgh"}`, `{}`} {
		steps := []modeltest.Step{
			func(modeltest.Request) modeltest.Reply {
				return modeltest.Reply{Fault: modeltest.FaultMaxTokens, Calls: []modeltest.Call{
					{Name: "look", Args: `{"path":"whole"}`}, {Name: "look", Args: args}}}
			},
			modeltest.Say("ok"),
		}
		eachDriver(t, steps, func(t *testing.T, m model.Model, s *modeltest.Server) {
			start := model.Text(model.RoleUser, "go")
			res, err := m.Complete(context.Background(), request(start))
			if err != nil {
				t.Fatal(err)
			}
			calls := res.Message.Calls()
			if len(calls) != 2 || calls[0].Cut || !calls[1].Cut || res.StopReason != model.StopMaxTokens {
				t.Fatalf("stop %s, calls %+v", res.StopReason, calls)
			}
			answers := model.Results(model.ToolResult{CallID: calls[0].ID, Text: "x"}, model.ToolResult{CallID: calls[1].ID, Text: "cut", Error: true})
			if _, err := m.Complete(context.Background(), request(start, res.Message, answers)); err != nil {
				t.Fatal(err)
			}
			noViolations(t, s)
		})
	}
}

func TestFaultsAreClassified(t *testing.T) {
	cases := []struct {
		name  string
		step  modeltest.Step
		want  error
		after time.Duration
	}{
		{"rate limit", modeltest.FailStatus(429, "slow down", 7*time.Second), model.ErrRetryable, 7 * time.Second},
		{"quota", modeltest.FailStatus(429, "insufficient_quota: you exceeded your current quota", 0), model.ErrFatal, 0},
		{"overloaded", modeltest.FailStatus(529, "overloaded", 0), model.ErrRetryable, 0},
		{"internal", modeltest.FailStatus(500, "oops", 0), model.ErrRetryable, 0},
		{"bad gateway", modeltest.FailStatus(502, "", 0), model.ErrRetryable, 0},
		{"key", modeltest.FailStatus(401, "bad key", 0), model.ErrFatal, 0},
		{"bad request", modeltest.FailStatus(400, "what?", 0), model.ErrFatal, 0},
		{"overflow", modeltest.Fail(modeltest.FaultOverflow), model.ErrOverflow, 0},
		{"cut stream", modeltest.Fail(modeltest.FaultCutStream), model.ErrRetryable, 0},
		{"malformed", modeltest.Fail(modeltest.FaultMalformed), model.ErrRetryable, 0},
		{"stream error", modeltest.Fail(modeltest.FaultStreamError), model.ErrRetryable, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			eachDriver(t, []modeltest.Step{c.step}, func(t *testing.T, m model.Model, s *modeltest.Server) {
				res, err := m.Complete(context.Background(), request(model.Text(model.RoleUser, "go")))
				if !errors.Is(err, c.want) {
					t.Fatalf("error %v, want %v (reply %+v)", err, c.want, res)
				}
				if e, _ := errors.AsType[*model.Error](err); e.RetryAfter != c.after {
					t.Errorf("retry after %v, want %v", e.RetryAfter, c.after)
				}
				if strings.Contains(fmt.Sprintf("%v %+v", err, err), testKey) {
					t.Error("the error holds the key")
				}
				if n := len(s.Requests()); n != 1 {
					t.Errorf("%d requests: the SDK retried", n)
				}
			})
		})
	}
}

func TestCancelIsNotAModelError(t *testing.T) {
	eachDriver(t, []modeltest.Step{modeltest.Fail(modeltest.FaultSilent)}, func(t *testing.T, m model.Model, _ *modeltest.Server) {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_, err := m.Complete(ctx, request(model.Text(model.RoleUser, "go")))
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, model.ErrRetryable) {
			t.Errorf("error %v", err)
		}
	})
}

func TestRefusalEmptyAndMissingIDs(t *testing.T) {
	steps := []modeltest.Step{
		modeltest.Fail(modeltest.FaultRefusal),
		func(modeltest.Request) modeltest.Reply { return modeltest.Reply{} },
		func(modeltest.Request) modeltest.Reply {
			return modeltest.Reply{Fault: modeltest.FaultMissingIDs, Calls: []modeltest.Call{{Name: "look", Args: `{"path":"a"}`}, {Name: "look", Args: `{"path":"b"}`}}}
		},
	}
	eachDriver(t, steps, func(t *testing.T, m model.Model, _ *modeltest.Server) {
		ask := func() model.Response {
			t.Helper()
			res, err := m.Complete(context.Background(), request(model.Text(model.RoleUser, "go")))
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		if res := ask(); res.StopReason != model.StopRefusal && !strings.HasPrefix(m.Name(), "ollama/") {
			t.Errorf("stop %s", res.StopReason)
		}
		if res := ask(); len(res.Message.Parts) != 0 || res.StopReason != model.StopEnd {
			t.Errorf("empty reply: %+v", res)
		}
		calls := ask().Message.Calls()
		if len(calls) != 2 || string(calls[0].Arguments) != `{"path":"a"}` || string(calls[1].Arguments) != `{"path":"b"}` {
			t.Errorf("calls %+v", calls)
		}
	})
}

func TestNoCallsKeepsToolsListed(t *testing.T) {
	eachDriver(t, []modeltest.Step{modeltest.Say("fine")}, func(t *testing.T, m model.Model, s *modeltest.Server) {
		req := request(model.Text(model.RoleUser, "go"))
		req.NoCalls = true
		if _, err := m.Complete(context.Background(), req); err != nil {
			t.Fatal(err)
		}
		want := 1
		if s.Requests()[0].Protocol == modeltest.ProtocolOllama { // has no other way to forbid calls
			want = 0
		}
		if got := s.Requests()[0]; !got.NoCalls || len(got.Tools) != want {
			t.Errorf("no calls %v, tools %v", got.NoCalls, got.Tools)
		}
	})
}

func TestServerIsStrict(t *testing.T) {
	cases := map[string][]model.Message{
		"unanswered call": {model.Text(model.RoleUser, "go"), {Role: model.RoleAssistant, Parts: []model.Part{
			{Kind: model.PartToolCall, Call: &model.ToolCall{ID: "a", Name: "look", Arguments: json.RawMessage(`{}`)}}}}, model.Text(model.RoleUser, "x")},
		"orphan result": {model.Text(model.RoleUser, "go"), model.Results(model.ToolResult{CallID: "a", Text: "x"})},
	}
	for name, messages := range cases {
		t.Run(name, func(t *testing.T) {
			eachDriver(t, []modeltest.Step{modeltest.Say("no")}, func(t *testing.T, m model.Model, s *modeltest.Server) {
				_, err := m.Complete(context.Background(), request(messages...))
				if !errors.Is(err, model.ErrFatal) || len(s.Violations()) != 1 {
					t.Errorf("error %v, violations %v", err, s.Violations())
				}
			})
		})
	}
}

func TestUnknownFieldIsRefused(t *testing.T) {
	s, err := modeltest.NewServer(modeltest.Say("no"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	res, err := http.Post(s.URL()+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"nonsense":1}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestCacheBreakpoints(t *testing.T) {
	s, err := modeltest.NewServer(modeltest.Say("ok"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := anthropic.New(anthropic.Config{Model: "scripted", APIKey: testKey, BaseURL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	call := model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Kind: model.PartToolCall, Call: &model.ToolCall{ID: "a", Name: "look", Arguments: json.RawMessage(`{"path":"x"}`)}}}}
	if _, err := m.Complete(context.Background(), request(model.Text(model.RoleUser, "go"), call, model.Results(model.ToolResult{CallID: "a", Text: "y"}))); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(string(s.Requests()[0].Raw), `"cache_control"`); got != 4 {
		t.Errorf("%d cache breakpoints, want 4: %s", got, s.Requests()[0].Raw)
	}
}

func TestReasoningThatNothingFollowsIsAccepted(t *testing.T) {
	steps := []modeltest.Step{
		func(modeltest.Request) modeltest.Reply { return modeltest.Reply{Thinking: "only a thought"} },
		modeltest.Say("now in words"),
	}
	eachDriver(t, steps, func(t *testing.T, m model.Model, s *modeltest.Server) {
		start := model.Text(model.RoleUser, "go")
		first, err := m.Complete(context.Background(), request(start))
		if err != nil {
			t.Fatal(err)
		}
		messages := []model.Message{start, first.Message, model.Text(model.RoleUser, "and?")}
		if len(first.Message.Parts) == 0 { // as the loop does with an empty reply
			messages = []model.Message{start, messages[2]}
		}
		if _, err := m.Complete(context.Background(), request(messages...)); err != nil {
			t.Error(err)
		}
		noViolations(t, s)
	})
}

// TestRequestsOfARunBeginAlike: what a step adds stands at the end of the
// request, byte for byte; Anthropic's breakpoints move with the end.
func TestRequestsOfARunBeginAlike(t *testing.T) {
	const steps = 25
	eachDriver(t, []modeltest.Step{modeltest.Say("a"), modeltest.Say("b")}, func(t *testing.T, m model.Model, s *modeltest.Server) {
		for _, n := range []int{steps, steps + 1} {
			if _, err := m.Complete(context.Background(), request(transcript(n)...)); err != nil {
				t.Fatal(err)
			}
		}
		first, second := s.Requests()[0].Raw, s.Requests()[1].Raw
		same := 0
		for same < len(first) && first[same] == second[same] {
			same++
		}
		moves := len("]}")
		if s.Requests()[0].Protocol == modeltest.ProtocolAnthropic {
			moves = len(first) / steps * 5 / 2 // the last two results
		}
		if same < len(first)-moves {
			t.Errorf("%d of %d bytes are the same, want %d", same, len(first), len(first)-moves)
		}
	})
}
