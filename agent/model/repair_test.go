package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
)

func TestArguments(t *testing.T) {
	cases := []struct {
		name, in, want string
		cut            bool
	}{
		{"as it is", `{"a": 1}`, `{"a": 1}`, false},
		{"nothing", "", "{}", false},
		{"null", "null", "{}", false},
		{"an object in a string", `"{\"a\":1}"`, `{"a":1}`, false},
		{"half an object in a string", `"{\"a\":"`, `{"a":`, true},
		{"a string", `"yes"`, `"yes"`, false},
		{"in a string twice", `"\"{}\""`, `{}`, false},
		{"control characters", "{\"a\":\"x\n\ty\r\x01\"}", `{"a":"x\n\ty\r\u0001"}`, false},
		{"commas before brackets", `{"a":[1,2, ],"b":",}", }`, `{"a":[1,2 ],"b":",}" }`, false},
		{"an open bracket stays open", `{"a":1`, `{"a":1`, true},
		{"an open string stays open", `{"a":"x`, `{"a":"x`, true},
		{"an open list", `{"a":[{"b":2}`, `{"a":[{"b":2}`, true},
		{"escaped at the end", `{"a":"\`, `{"a":"\`, true},
		{"a bracket in a string is none", `{"a":"{[","b":nope}`, `{"a":"{[","b":nope}`, false},
		{"missing comma", `{"a":1 "b":2}`, `{"a":1 "b":2}`, false},
		{"single quotes", `{'a':1}`, `{'a':1}`, false},
		{"a comma too many inside", `{"a":1,,"b":2}`, `{"a":1,,"b":2}`, false},
		{"a comma at the very end", `{"a":1,`, `{"a":1,`, true},
		{"text", `please`, `please`, false},
		{"no bytes that are no text", "{\"a\":\"\xff\x01\"", "{\"a\":\"\xff\x01\"", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := model.Arguments([]byte(c.in))
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
			if model.Truncated(got) != c.cut {
				t.Errorf("cut: %v", !c.cut)
			}
		})
	}
}

// FuzzArguments: what is mended is JSON, and nothing was made up: without
// spaces, commas and escapes it is what came.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":"x` + "\n" + `",}`, `[1,`, `"\"{}\""`, `{"a":"\u00`, "\x00"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		before := string(in)
		got := model.Arguments(in)
		if string(in) != before {
			t.Fatal("the input was changed")
		}
		wrapped := strings.HasPrefix(strings.TrimSpace(before), `"`)
		if string(got) == before {
			return
		}
		if !json.Valid(got) {
			if !wrapped {
				t.Fatalf("%q became %q, which is no JSON", before, got)
			}
			return
		}
		if model.Truncated(got) {
			t.Fatalf("%q is whole and cut", got)
		}
		opens := func(s string) int { return strings.Count(s, "{") + strings.Count(s, "[") }
		if trimmed := strings.TrimSpace(before); trimmed != "" && trimmed != "null" && !wrapped && opens(string(got)) != opens(before) {
			t.Fatalf("%q became %q", before, got)
		}
	})
}

func tools(names ...string) []model.ToolSpec {
	var specs []model.ToolSpec
	for _, n := range names {
		specs = append(specs, model.ToolSpec{Name: n})
	}
	return specs
}

func TestTextCalls(t *testing.T) {
	cases := []struct {
		name, text string
		formats    []model.CallFormat
		want       []string // name and arguments
		rest       string
	}{
		{"hermes", "I look.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"path\": \"a\"}}\n</tool_call>", nil, []string{`look {"path": "a"}`}, "I look."},
		{"hermes, two, parameters, as a string", "<tool_call>{\"name\":\"look\",\"parameters\":{}}</tool_call>\n<tool_call>{\"name\":\"run\",\"arguments\":\"{\\\"x\\\":1}\"}</tool_call>", nil, []string{`look {}`, `run {"x":1}`}, ""},
		{"unknown tool", `<tool_call>{"name":"rm","arguments":{}}</tool_call>`, nil, nil, `<tool_call>{"name":"rm","arguments":{}}</tool_call>`},
		{"open bracket", `<tool_call>{"name":"look","arguments":{"path":"a"}</tool_call>`, nil, nil, `<tool_call>{"name":"look","arguments":{"path":"a"}</tool_call>`},
		{"block without end", `<tool_call>{"name":"look","arguments":{}}`, nil, nil, `<tool_call>{"name":"look","arguments":{}}`},
		{"mistral list", `Well. [TOOL_CALLS][{"name":"look","arguments":{"path":"a"}},{"name":"run","arguments":{}}]`, nil, []string{`look {"path":"a"}`, `run {}`}, "Well."},
		{"mistral named", `[TOOL_CALLS]look{"path":"a"}[TOOL_CALLS]run[ARGS]{}`, nil, []string{`look {"path":"a"}`, `run {}`}, ""},
		{"mistral, one unknown", `[TOOL_CALLS]look{"path":"a"}[TOOL_CALLS]rm{}`, nil, nil, `[TOOL_CALLS]look{"path":"a"}[TOOL_CALLS]rm{}`},
		{"fenced", "Now:\n```json\n{\"name\":\"look\",\"arguments\":{\"path\":\"a\"}}\n```\nthanks", nil, []string{`look {"path":"a"}`}, "Now:\n\nthanks"},
		{"fenced, but data", "```json\n{\"name\":\"x\",\"version\":1}\n```", nil, nil, "```json\n{\"name\":\"x\",\"version\":1}\n```"},
		{"not switched on", `<tool_call>{"name":"look","arguments":{}}</tool_call>`, []model.CallFormat{model.FormatMistral}, nil, `<tool_call>{"name":"look","arguments":{}}</tool_call>`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			formats := c.formats
			if formats == nil {
				formats = model.CallFormats()
			}
			calls, rest := model.TextCalls(c.text, formats, tools("look", "run"))
			var got []string
			for _, call := range calls {
				got = append(got, call.Name+" "+string(call.Arguments))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.rest, rest); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzTextCalls: only known tools are called, with objects, and text without
// calls stays as it was.
func FuzzTextCalls(f *testing.F) {
	f.Add(`<tool_call>{"name":"look","arguments":{}}</tool_call>`)
	f.Add(`[TOOL_CALLS]look{"a":1}`)
	f.Add("```json\n[{\"name\":\"look\",\"arguments\":{}}]\n```")
	f.Fuzz(func(t *testing.T, text string) {
		calls, rest := model.TextCalls(text, model.CallFormats(), tools("look"))
		if len(calls) == 0 && rest != text {
			t.Fatalf("%q became %q", text, rest)
		}
		for _, c := range calls {
			var object map[string]any
			if c.Name != "look" || json.Unmarshal(c.Arguments, &object) != nil {
				t.Fatalf("call %s %s", c.Name, c.Arguments)
			}
		}
	})
}

func TestSealMarksWhatMustNotRun(t *testing.T) {
	reply := func(stop model.StopReason, args ...string) model.Response {
		r := model.Response{StopReason: stop, Message: model.Message{Role: model.RoleAssistant}}
		for _, a := range args {
			r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{Name: "look", Arguments: json.RawMessage(a)}})
		}
		return r
	}
	cases := []struct {
		name string
		in   model.Response
		stop model.StopReason
		cut  []bool
	}{
		{"whole", reply(model.StopEnd, `{}`, `{"a":1,}`), model.StopToolUse, []bool{false, false}},
		{"no end", reply(model.StopToolUse, `{}`, `{"a":`), model.StopMaxTokens, []bool{false, true}},
		{"refused", reply(model.StopRefusal, `{}`), model.StopRefusal, []bool{true}},
		{"repeats itself", reply(model.StopRepetition, `{}`, `{}`), model.StopRepetition, []bool{true, true}},
		{"no JSON", reply(model.StopToolUse, `{nope}`), model.StopToolUse, []bool{false}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := model.Seal(c.in, model.Request{}, "test/m", 0)
			if err != nil || got.Model != "test/m" || got.StopReason != c.stop {
				t.Errorf("%v, model %q, stop %s", err, got.Model, got.StopReason)
			}
			var cut []bool
			for _, call := range got.Message.Calls() {
				cut = append(cut, call.Cut)
			}
			if diff := cmp.Diff(c.cut, cut); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFixCallIDs(t *testing.T) {
	message := func(ids ...string) model.Message {
		m := model.Message{Role: model.RoleAssistant}
		for _, id := range ids {
			m.Parts = append(m.Parts, model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{ID: id}})
		}
		return m
	}
	before := []model.Message{message("a", "call_gw_4")}
	in := message("a", "", "fine", "fine", "not legal!", strings.Repeat("x", 65))
	original := *in.Parts[0].Call
	pointer := in.Parts[0].Call
	model.FixCallIDs(&in, before)
	seen := map[string]bool{"a": true, "call_gw_4": true}
	for i, c := range in.Calls() {
		if seen[c.ID] || !model.LegalCallID(c.ID) || model.MadeCallID(c.ID) != (i != 2) {
			t.Errorf("call %d has id %q", i, c.ID)
		}
		seen[c.ID] = true
	}
	if pointer.ID != original.ID {
		t.Error("a call that others may hold was changed")
	}
	again := message("a", "", "fine", "fine", "not legal!", strings.Repeat("x", 65))
	model.FixCallIDs(&again, before)
	if diff := cmp.Diff(in, again); diff != "" {
		t.Errorf("the ids are not the same the second time: %s", diff)
	}
}
