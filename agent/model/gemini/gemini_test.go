package gemini_test

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
	"github.com/greenwright/greenwright/agent/model/gemini"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "AIza-test"

// server answers with a status and these events, and keeps the last request.
type server struct {
	body   []byte
	url    string
	header http.Header
	driver *gemini.Driver
}

func serve(t *testing.T, id string, status int, events ...string) *server {
	t.Helper()
	s := &server{}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.body, _ = io.ReadAll(r.Body)
		s.url, s.header = r.URL.String(), r.Header
		if status != http.StatusOK {
			w.WriteHeader(status)
			fmt.Fprint(w, strings.Join(events, ""))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			fmt.Fprint(w, "data: "+e+"\r\n\r\n")
		}
	}))
	t.Cleanup(h.Close)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	var err error
	if s.driver, err = gemini.New(gemini.Config{Model: id, APIKey: key, BaseURL: h.URL + "/v1beta", HTTPClient: client}); err != nil {
		t.Fatal(err)
	}
	return s
}

func request(messages ...model.Message) model.Request {
	return model.Request{System: []string{"be good", "facts"}, Messages: messages, MaxOutputTokens: 500,
		Tools: []model.ToolSpec{{Name: "look", Description: "looks", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`)}}}
}

func start() model.Message { return model.Text(model.RoleUser, "go") }

func parts(parts string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[` + parts + `]}}]}`
}

func end(reason string) string {
	return `{"candidates":[{"content":{"role":"model","parts":[]},"finishReason":"` + reason + `","finishMessage":"said"}],` +
		`"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":60,"candidatesTokenCount":7,"thoughtsTokenCount":20,"toolUsePromptTokenCount":3}}`
}

func answer(m model.Message) model.Message {
	var rs []model.ToolResult
	for i, c := range m.Calls() {
		rs = append(rs, model.ToolResult{CallID: c.ID, Text: fmt.Sprint(i), Error: i == 1})
	}
	return model.Results(rs...)
}

// contents is what the last request sent of the transcript.
func (s *server) contents(t *testing.T) string {
	t.Helper()
	var in struct {
		Contents json.RawMessage `json:"contents"`
	}
	if err := json.Unmarshal(s.body, &in); err != nil {
		t.Fatal(err)
	}
	return string(in.Contents)
}

func TestRequest(t *testing.T) {
	s := serve(t, "models/gemini-2.5-pro", http.StatusOK, end("STOP"))
	req := request(start())
	req.NoCalls = true
	res, err := s.driver.Complete(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	if s.url != "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse" || s.header.Get("X-Goog-Api-Key") != key || strings.Contains(s.url, key) {
		t.Errorf("sent to %s with %v", s.url, s.header)
	}
	want := `{"systemInstruction":{"parts":[{"text":"be good"},{"text":"facts"}]},` +
		`"tools":[{"functionDeclarations":[{"name":"look","description":"looks","parameters":{"properties":{"path":{"type":"STRING"}},"propertyOrdering":["path"],"type":"OBJECT"}}]}],` +
		`"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},"generationConfig":{"maxOutputTokens":500},"contents":[{"role":"user","parts":[{"text":"go"}]}]}`
	if diff := cmp.Diff(want, string(s.body)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(model.Usage{Input: 43, CacheRead: 60, Output: 27}, res.Usage); diff != "" {
		t.Error(diff)
	}
}

func TestSignaturesGoBackInTheirParts(t *testing.T) {
	s := serve(t, "gemini-3-pro", http.StatusOK,
		parts(`{"text":"a summary","thought":true}`), parts(`{"text":"Look"}`), parts(`{"text":"ing","thoughtSignature":"T="}`), parts(`{"text":" now."}`),
		parts(`{"functionCall":{"name":"look","args":{"path":"a"}},"thoughtSignature":"C1="}`), parts(`{"functionCall":{"name":"look","args":{"path":"b"}}}`),
		parts(`{"text":"","thoughtSignature":"E="}`), end("STOP"))
	first, err := s.driver.Complete(context.Background(), request(start()))
	if err != nil {
		t.Fatal(err)
	}
	if first.Message.Plain() != "Look\ning\n now." || first.StopReason != model.StopToolUse {
		t.Errorf("%q %s", first.Message.Plain(), first.StopReason)
	}
	if _, err := s.driver.Complete(context.Background(), request(start(), first.Message, answer(first.Message), model.Text(model.RoleUser, "and?"))); err != nil {
		t.Fatal(err)
	}
	want := `[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{"text":"Look"},{"text":"ing","thoughtSignature":"T="},{"text":" now."},` +
		`{"thoughtSignature":"C1=","functionCall":{"name":"look","args":{"path":"a"}}},{"functionCall":{"name":"look","args":{"path":"b"}}},{"text":"","thoughtSignature":"E="}]},` +
		`{"role":"user","parts":[{"functionResponse":{"name":"look","response":{"output":"0"}}},{"functionResponse":{"name":"look","response":{"error":"1"}}},{"text":"and?"}]}]`
	if diff := cmp.Diff(want, s.contents(t)); diff != "" {
		t.Error(diff)
	}
}

func TestCallsOfOthers(t *testing.T) {
	foreign := model.Message{Role: model.RoleAssistant, Parts: []model.Part{
		{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: "anthropic/x", Data: []byte(`{"signature":"no"}`)}},
		{Kind: model.PartToolCall, Call: &model.ToolCall{ID: "toolu_1", Name: "look", Arguments: json.RawMessage(`{"path":`), Cut: true}},
		{Kind: model.PartToolCall, Call: &model.ToolCall{ID: "toolu_2", Name: "look", Arguments: json.RawMessage(`{}`)}}}}
	for id, sign := range map[string]string{"gemini-2.5-pro": "", "gemini-3-pro": `"thoughtSignature":"skip_thought_signature_validator",`, "gemma-3": ""} {
		s := serve(t, id, http.StatusOK, end("STOP"))
		if _, err := s.driver.Complete(context.Background(), request(start(), foreign, answer(foreign))); err != nil {
			t.Fatal(err)
		}
		want := `[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[{` + sign + `"functionCall":{"id":"toolu_1","name":"look","args":{}}},{"functionCall":{"id":"toolu_2","name":"look","args":{}}}]},` +
			`{"role":"user","parts":[{"functionResponse":{"id":"toolu_1","name":"look","response":{"output":"0"}}},{"functionResponse":{"id":"toolu_2","name":"look","response":{"error":"1"}}}]}]`
		if diff := cmp.Diff(want, s.contents(t)); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
}

func TestASignatureDoesNotMoveToAnotherPart(t *testing.T) {
	s := serve(t, "gemini-2.5-pro", http.StatusOK, parts(`{"text":"gone","thoughtSignature":"T="}`), parts(`{"functionCall":{"name":"look","args":{}}}`), end("STOP"))
	first, err := s.driver.Complete(context.Background(), request(start()))
	if err != nil {
		t.Fatal(err)
	}
	var kept []model.Part
	for _, p := range first.Message.Parts {
		if p.Kind != model.PartText {
			kept = append(kept, p)
		}
	}
	first.Message.Parts = kept
	if _, err := s.driver.Complete(context.Background(), request(start(), first.Message, answer(first.Message))); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.contents(t), "T=") {
		t.Errorf("sent %s", s.contents(t))
	}
}

func TestFinishReasons(t *testing.T) {
	call := parts(`{"functionCall":{"name":"look","args":{}}}`)
	cases := []struct {
		reason, detail string
		events         []string
		stop           model.StopReason
		cut            []bool
	}{
		{"STOP", "said", []string{call}, model.StopToolUse, []bool{false}},
		{"MAX_TOKENS", "said", []string{call, call}, model.StopMaxTokens, []bool{false, true}},
		{"SAFETY", "SAFETY: said", []string{call}, model.StopRefusal, []bool{true}},
		{"RECITATION", "RECITATION: said", nil, model.StopRefusal, nil},
		{"MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL: said", nil, model.StopEnd, nil},
		{"UNEXPECTED_TOOL_CALL", "UNEXPECTED_TOOL_CALL: said", nil, model.StopEnd, nil},
		{"SOMETHING_NEW", "SOMETHING_NEW: said", nil, model.StopEnd, nil},
	}
	for _, c := range cases {
		t.Run(c.reason, func(t *testing.T) {
			res, err := serve(t, "m", http.StatusOK, append(c.events, end(c.reason))...).driver.Complete(context.Background(), request(start()))
			if err != nil || res.StopReason != c.stop || res.StopDetail != c.detail {
				t.Errorf("%v, stop %s %q", err, res.StopReason, res.StopDetail)
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
	res, err := serve(t, "m", http.StatusOK, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`).driver.Complete(context.Background(), request(start()))
	if err != nil || res.StopReason != model.StopRefusal || res.StopDetail != "PROHIBITED_CONTENT" {
		t.Errorf("blocked: %v, %s %q", err, res.StopReason, res.StopDetail)
	}
	if _, err := serve(t, "m", http.StatusOK, `{"candidates":[]}`).driver.Complete(context.Background(), request(start())); !errors.Is(err, model.ErrRetryable) {
		t.Errorf("no candidate and no reason: %v", err)
	}
}

func TestErrors(t *testing.T) {
	retry := `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}`
	quota := func(id string) string {
		return `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"` + id + `"}]}`
	}
	body := func(code int, status, message, details string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":[%s]}}`, code, message, status, details)
	}
	const spent = "You exceeded your current quota, please check your plan and billing details."
	cases := []struct {
		name   string
		status int
		body   string
		want   error
		wait   time.Duration
	}{
		{"the limit of a minute", 429, body(429, "RESOURCE_EXHAUSTED", spent, quota("GenerateRequestsPerMinutePerProject")+","+retry), model.ErrRetryable, 34500 * time.Millisecond},
		{"the limit of a day", 429, body(429, "RESOURCE_EXHAUSTED", spent, quota("GenerateRequestsPerDayPerProject")+","+retry), model.ErrFatal, 34500 * time.Millisecond},
		{"no plan", 429, body(429, "RESOURCE_EXHAUSTED", spent, ""), model.ErrFatal, 0},
		{"no quota text", 429, body(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted", ""), model.ErrRetryable, 0},
		{"overloaded", 503, body(503, "UNAVAILABLE", "The model is overloaded.", ""), model.ErrRetryable, 0},
		{"in a list", 400, "[" + body(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", "") + "]", model.ErrOverflow, 0},
		{"missing signature", 400, body(400, "INVALID_ARGUMENT", "Function call is missing a thought_signature", ""), model.ErrFatal, 0},
		{"inside the stream", 200, body(503, "UNAVAILABLE", "overloaded", ""), model.ErrRetryable, 0},
		{"inside the stream, with a delay", 200, body(429, "RESOURCE_EXHAUSTED", spent, retry), model.ErrRetryable, 34500 * time.Millisecond},
		{"no JSON", 200, "nope", model.ErrRetryable, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := serve(t, "m", c.status, c.body).driver.Complete(context.Background(), request(start()))
			e, _ := errors.AsType[*model.Error](err)
			if !errors.Is(err, c.want) || e == nil || e.RetryAfter != c.wait {
				t.Errorf("%+v, want %v after %v", err, c.want, c.wait)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", err, err), key) {
				t.Error("the error holds the key")
			}
		})
	}
}
