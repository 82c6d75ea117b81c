package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/ollama"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers with these lines and keeps the last request.
type server struct {
	body   []byte
	header http.Header
	driver *ollama.Driver
}

func serve(t *testing.T, cfg ollama.Config, lines ...string) *server {
	t.Helper()
	s := &server{}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.body, _ = io.ReadAll(r.Body)
		s.header = r.Header
		if r.URL.Path != "/api/chat" {
			http.Error(w, `{"error":"no such path"}`, http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/x-ndjson")
		for _, l := range lines {
			fmt.Fprint(w, l+"\n")
		}
	}))
	t.Cleanup(h.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	cfg.Model, cfg.BaseURL, cfg.HTTPClient = "m", h.URL, client
	var err error
	if s.driver, err = ollama.New(cfg); err != nil {
		t.Fatal(err)
	}
	return s
}

func request(messages ...model.Message) model.Request {
	return model.Request{System: []string{"be good"}, Messages: messages, MaxOutputTokens: 500,
		Tools: []model.ToolSpec{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}}}
}

func start() model.Message { return model.Text(model.RoleUser, "go") }

const done = `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":30,"eval_count":5}`

func TestRequest(t *testing.T) {
	think := model.Part{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: "ollama/m", Data: []byte("hm")}}
	other := model.Part{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: "ollama/other", Data: []byte("not mine")}}
	call := model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{ID: "a", Name: "look", Arguments: json.RawMessage(`{"path":"x"}`)}}
	cut := model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{ID: "b", Name: "look", Arguments: json.RawMessage(`{"path":`), Cut: true}}
	s := serve(t, ollama.Config{Window: 16_384, Think: "high", KeepAlive: 10 * time.Minute, APIKey: "secret"}, done)
	_, err := s.driver.Complete(context.Background(), request(start(), model.Message{Role: model.RoleAssistant, Parts: []model.Part{other, think, call, cut}},
		model.Results(model.ToolResult{CallID: "a", Text: "seen"}, model.ToolResult{CallID: "b", Text: ""})))
	if err != nil {
		t.Fatal(err)
	}
	want := `"messages":[{"role":"system","content":"be good"},{"role":"user","content":"go"},` +
		`{"role":"assistant","content":"","thinking":"hm","tool_calls":[{"id":"a","function":{"index":0,"name":"look","arguments":{"path":"x"}}},` +
		`{"id":"b","function":{"index":1,"name":"look","arguments":{}}}]},` +
		`{"role":"tool","content":"seen","tool_name":"look","tool_call_id":"a"},{"role":"tool","content":"(no output)","tool_name":"look","tool_call_id":"b"}]}`
	want = `{"model":"m","tools":[{"type":"function","function":{"name":"look","description":"","parameters":{"type":"object"}}}],` +
		`"stream":true,"think":"high","keep_alive":"10m0s","truncate":false,"shift":false,"options":{"num_ctx":16384,"num_predict":500},` + want
	if diff := cmp.Diff(want, string(s.body)); diff != "" {
		t.Error(diff)
	}
	if got := s.header.Get("Authorization"); got != "Bearer secret" {
		t.Errorf("authorization %q", got)
	}
}

func TestDefaults(t *testing.T) {
	s := serve(t, ollama.Config{}, done)
	req := request(start())
	req.NoCalls = true
	if _, err := s.driver.Complete(context.Background(), req); err != nil {
		t.Fatal(err)
	}
	body := string(s.body)
	if !strings.Contains(body, `"num_ctx":32768`) || strings.Contains(body, "think") || strings.Contains(body, `"tools"`) || s.header.Get("Authorization") != "" {
		t.Errorf("sent %s %v", body, s.header)
	}
	for _, c := range []ollama.Config{{}, {Model: "m", Think: "hard"}, {Model: "m", BaseURL: "here"}, {Model: "m", TextCalls: []model.CallFormat{"x"}}} {
		if _, err := ollama.New(c); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestReply(t *testing.T) {
	line := func(message string) string { return `{"model":"m","message":` + message + `,"done":false}` }
	s := serve(t, ollama.Config{}, line(`{"thinking":"h"}`), "", line(`{"thinking":"m"}`), line(`{"content":"Loo"}`), line(`{"content":"king."}`),
		line(`{"content":"","tool_calls":[{"function":{"name":"look","arguments":{"path":"a"}}}]}`),
		line(`{"content":"","tool_calls":[{"function":{"name":"look","arguments":"{\"path\":\"b\"}"}}]}`), done)
	res, err := s.driver.Complete(context.Background(), request(start()))
	if err != nil {
		t.Fatal(err)
	}
	want := model.Response{StopReason: model.StopToolUse, Usage: model.Usage{Input: 30, Output: 5}, Model: "ollama/m",
		Message: model.Message{Role: model.RoleAssistant, Parts: []model.Part{
			{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: "ollama/m", Data: []byte("hm")}},
			{Kind: model.PartText, Text: "Looking."},
			{Kind: model.PartToolCall, Call: &model.ToolCall{ID: "call_gw_1", Name: "look", Arguments: json.RawMessage(`{"path":"a"}`)}},
			{Kind: model.PartToolCall, Call: &model.ToolCall{ID: "call_gw_2", Name: "look", Arguments: json.RawMessage(`{"path":"b"}`)}},
		}}}
	if diff := cmp.Diff(want, res); diff != "" {
		t.Error(diff)
	}
}

func TestSilentCut(t *testing.T) {
	long := request(model.Text(model.RoleUser, strings.Repeat("some words to fill it ", 1_600))) // about 10,000 tokens
	estimate := model.EstimateRequest(long)
	cases := []struct {
		name    string
		window  int
		counted string
		req     model.Request
		limit   int // 0: no overflow
	}{
		{"all read", 32_768, "9900", long, 0},
		{"our estimate is too high", 32_768, "6000", long, 0},
		{"far less than sent", 32_768, "4095", long, 4_096},
		{"the window less one", 8_192, "8191", long, 8_192},
		{"the window", 8_192, "8192", long, 8_192},
		{"over the window, half dropped", 8_192, "6000", long, 6_001},
		{"not told", 8_192, "0", long, 0},
		{"a short request that an estimate says little of", 32_768, "30", request(start()), 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := serve(t, ollama.Config{Window: c.window}, strings.Replace(done, "30", c.counted, 1))
			_, err := s.driver.Complete(context.Background(), c.req)
			e, _ := errors.AsType[*model.Error](err)
			switch {
			case c.limit == 0 && err != nil:
				t.Errorf("%v", err)
			case c.limit > 0 && (e == nil || e.Class != model.ClassOverflow || e.Limit != c.limit || e.Asked != estimate):
				t.Errorf("%+v, want a limit of %d and %d asked", e, c.limit, estimate)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	call := `{"message":{"tool_calls":[{"function":{"name":"look","arguments":{}}}]}}`
	length := strings.Replace(done, "stop", "length", 1)
	cases := []struct {
		name  string
		lines []string
		stop  model.StopReason
		cut   []bool
	}{
		{"length", []string{`{"message":{"content":"x"}}`, length}, model.StopMaxTokens, nil},
		{"length behind a call", []string{call, length}, model.StopMaxTokens, []bool{true}},
		{"stop although as long as allowed", []string{call, call, strings.Replace(done, `"eval_count":5`, `"eval_count":500`, 1)}, model.StopMaxTokens, []bool{false, true}},
		{"only loaded", []string{strings.Replace(done, "stop", "load", 1)}, model.StopEnd, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			res, err := serve(t, ollama.Config{}, c.lines...).driver.Complete(context.Background(), request(start()))
			if err != nil || res.StopReason != c.stop {
				t.Errorf("%v, stop %s", err, res.StopReason)
			}
			var cut []bool
			for _, call := range res.Message.Calls() {
				cut = append(cut, call.Cut)
			}
			if diff := cmp.Diff(c.cut, cut); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	cases := map[string]error{
		`{"error":"error parsing tool call"}`:                         model.ErrRetryable,
		`{"error":"the input length exceeds the context length"}`:     model.ErrOverflow,
		`{"message":{"content":"no end"}}`:                            model.ErrRetryable,
		`not json`:                                                    model.ErrRetryable,
		`{"message":{"content":"` + strings.Repeat("x", 17<<20) + `"`: nil, // cut, not an error
	}
	for line, want := range cases {
		res, err := serve(t, ollama.Config{}, line).driver.Complete(context.Background(), request(start()))
		if !errors.Is(err, want) || want == nil && res.StopReason != model.StopMaxTokens {
			t.Errorf("%.60s: %v, want %v; stop %s", line, err, want, res.StopReason)
		}
	}
}
