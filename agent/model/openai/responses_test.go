package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/model/openai"
)

// items are the types of the input items of a Responses request.
func items(t *testing.T, body []byte) []string {
	t.Helper()
	var in struct {
		Input []struct {
			Type, Role, ID, Name string
			CallID               string `json:"call_id"`
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, i := range in.Input {
		switch i.Type {
		case "reasoning":
			out = append(out, "reasoning")
		case "function_call", "function_call_output":
			out = append(out, i.Type+" "+i.CallID)
		default:
			out = append(out, i.Role)
		}
	}
	return out
}

func TestOrderOfResponsesItems(t *testing.T) {
	two := func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Thinking: "hm", Calls: []modeltest.Call{{ID: "a", Name: "look"}, {ID: "b", Name: "look"}}}
	}
	strict := model.Capabilities{StrictAdjacency: model.Flag(true)}
	cases := []struct {
		name string
		can  model.Capabilities
		want []string
	}{
		{"as it came", model.Capabilities{}, []string{"user", "reasoning", "function_call a", "function_call b", "function_call_output a", "function_call_output b", "user"}},
		{"strict", strict, []string{"user", "reasoning", "function_call a", "function_call_output a", "reasoning", "function_call b", "function_call_output b", "user"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := capture(t)
			d := at(t, openai.Config{API: openai.APIResponses, Capabilities: c.can}, s.url)
			first, _ := open(t, openai.Config{API: openai.APIResponses}, two)
			reply := complete(t, first, start())
			complete(t, d, start(), reply.Message, results(reply.Message), model.Text(model.RoleUser, "and?"))
			if diff := cmp.Diff(c.want, items(t, s.body)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReasoningOfAnotherModelIsDropped(t *testing.T) {
	first, _ := open(t, openai.Config{API: openai.APIResponses, Model: "one"}, func(modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Thinking: "hm", Calls: []modeltest.Call{{ID: "a", Name: "look"}}}
	})
	reply := complete(t, first, start())
	s := capture(t)
	complete(t, at(t, openai.Config{API: openai.APIResponses, Model: "two"}, s.url), start(), reply.Message, results(reply.Message))
	if diff := cmp.Diff([]string{"user", "function_call a", "function_call_output a"}, items(t, s.body)); diff != "" {
		t.Error(diff)
	}
}

// captured is the last request of a server that says only that it is done.
type captured struct {
	url  string
	body []byte
}

func capture(t *testing.T) *captured {
	t.Helper()
	c := &captured{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"type":"response.completed","response":{"id":"r","status":"completed","output":[],"usage":{"input_tokens":1,"output_tokens":1}}}`+"\n\n")
	}))
	t.Cleanup(s.Close)
	c.url = s.URL
	return c
}

func TestResponsesEnds(t *testing.T) {
	added := `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f","call_id":"a","name":"look","arguments":""}}`
	half := `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"path\":"}`
	incomplete := `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f","call_id":"a","name":"look","arguments":"{\"path\":\"a\"}","status":"incomplete"}}`
	end := func(status, reason string) string {
		return `{"type":"response.` + status + `","response":{"id":"r","status":"` + status + `","incomplete_details":{"reason":"` + reason + `"},"output":[],"usage":{"input_tokens":1,"output_tokens":1}}}`
	}
	cases := []struct {
		name   string
		events []string
		want   []string
		stop   model.StopReason
	}{
		{"cut inside a call", []string{added, half, end("incomplete", "max_output_tokens")}, []string{`look {"path": cut`}, model.StopMaxTokens},
		{"an item that is done but incomplete", []string{added, incomplete, end("incomplete", "max_output_tokens")}, []string{`look {"path":"a"} cut`}, model.StopMaxTokens},
		{"never done", []string{added, half, end("completed", "")}, []string{`look {"path": cut`}, model.StopMaxTokens},
		{"content filter", []string{end("incomplete", "content_filter")}, nil, model.StopRefusal},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			res := complete(t, raw(t, openai.Config{API: openai.APIResponses}, c.events...), start())
			if diff := cmp.Diff(c.want, calls(res.Message)); diff != "" || res.StopReason != c.stop {
				t.Errorf("stop %s; %s", res.StopReason, diff)
			}
		})
	}
	failed := `{"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"server_error","message":"oops"},"output":[]}}`
	if _, err := raw(t, openai.Config{API: openai.APIResponses}, failed).Complete(context.Background(), request(start())); !errors.Is(err, model.ErrRetryable) {
		t.Errorf("%v", err)
	}
}
