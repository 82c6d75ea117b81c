package model

import (
	"encoding/json"
	"regexp"
	"strings"
)

// CallFormat is a form in which models without a working tool parser write
// their calls into the text.
type CallFormat string

// The closed set of formats.
const (
	// FormatHermes is <tool_call>{"name": …, "arguments": {…}}</tool_call>, as
	// Hermes, Qwen and many others are trained to write.
	FormatHermes CallFormat = "hermes"
	// FormatMistral is [TOOL_CALLS][{"name": …, "arguments": {…}}, …] or
	// [TOOL_CALLS]name{…}, Mistral's two templates.
	FormatMistral CallFormat = "mistral"
	// FormatFenced is a fenced block of JSON that holds one call or a list.
	FormatFenced CallFormat = "fenced_json"
)

// CallFormats returns the closed set.
func CallFormats() []CallFormat { return []CallFormat{FormatHermes, FormatMistral, FormatFenced} }

var (
	hermesBlock = regexp.MustCompile(`(?s)<tool_call>\s*(.*?)\s*</tool_call>`)
	fencedBlock = regexp.MustCompile("(?ms)^```(?:json|tool_call)?[ \t]*\n(.*?)\n```[ \t]*$")
	mistralName = regexp.MustCompile(`^\s*([a-zA-Z0-9_-]{1,64})\s*(?:\[ARGS\])?\s*(\{)`)
)

// mistralMark begins a call in Mistral's templates.
const mistralMark = "[TOOL_CALLS]"

// maxTextCalls bounds the calls taken from one text; more is no plan but noise.
const maxTextCalls = 32

// TextCalls finds calls in text, in the first of the formats that has any, and
// returns them with the text around them. A block that does not parse, or that
// names a tool not in known, stays text. The calls have no ids yet.
func TextCalls(text string, formats []CallFormat, known []ToolSpec) (calls []ToolCall, rest string) {
	names := make(map[string]bool, len(known))
	for _, t := range known {
		names[t.Name] = true
	}
	for _, f := range formats {
		switch f {
		case FormatHermes:
			calls, rest = blockCalls(text, hermesBlock, names)
		case FormatFenced:
			calls, rest = blockCalls(text, fencedBlock, names)
		case FormatMistral:
			calls, rest = mistralCalls(text, names)
		}
		if len(calls) > 0 {
			return calls, strings.TrimSpace(rest)
		}
	}
	return nil, text
}

// blockCalls takes the calls out of the blocks that a pattern finds.
func blockCalls(text string, pattern *regexp.Regexp, names map[string]bool) ([]ToolCall, string) {
	var calls []ToolCall
	var rest strings.Builder
	at := 0
	for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
		found, ok := parseCalls(text[m[2]:m[3]], names)
		if !ok || len(calls)+len(found) > maxTextCalls {
			continue
		}
		calls = append(calls, found...)
		rest.WriteString(text[at:m[0]])
		at = m[1]
	}
	rest.WriteString(text[at:])
	return calls, rest.String()
}

// mistralCalls reads both of Mistral's templates.
func mistralCalls(text string, names map[string]bool) ([]ToolCall, string) {
	before, after, ok := strings.Cut(text, mistralMark)
	if !ok {
		return nil, text
	}
	var calls []ToolCall
	for chunk := range strings.SplitSeq(after, mistralMark) {
		found, ok := parseCalls(chunk, names)
		if !ok {
			found, ok = namedCall(chunk, names)
		}
		if !ok || len(calls)+len(found) > maxTextCalls {
			return nil, text // half of what was asked is not what was asked
		}
		calls = append(calls, found...)
	}
	return calls, before
}

// namedCall reads name{…}.
func namedCall(chunk string, names map[string]bool) ([]ToolCall, bool) {
	m := mistralName.FindStringSubmatchIndex(chunk)
	if m == nil || !names[chunk[m[2]:m[3]]] {
		return nil, false
	}
	args := Arguments([]byte(strings.TrimSpace(chunk[m[4]:])))
	return []ToolCall{{Name: chunk[m[2]:m[3]], Arguments: args}}, isObject(args)
}

// parseCalls reads one call or a list of them; all must name known tools.
func parseCalls(body string, names map[string]bool) ([]ToolCall, bool) {
	raw := Arguments([]byte(strings.TrimSpace(body)))
	type written struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	var list []written
	if json.Unmarshal(raw, &list) != nil {
		var one written
		if json.Unmarshal(raw, &one) != nil {
			return nil, false
		}
		list = []written{one}
	}
	calls := make([]ToolCall, 0, len(list))
	for _, w := range list {
		if len(w.Arguments) == 0 {
			w.Arguments = w.Parameters
		}
		args := Arguments(w.Arguments)
		if !names[w.Name] || !isObject(args) {
			return nil, false
		}
		calls = append(calls, ToolCall{Name: w.Name, Arguments: args})
	}
	return calls, len(calls) > 0
}

func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// LiftCalls moves the calls that stand in the text of a reply into parts of
// their own, as [TextCalls] finds them, unless the reply has calls already or
// was refused.
func LiftCalls(r *Response, formats []CallFormat, known []ToolSpec) {
	if r.StopReason == StopRefusal || len(r.Message.Calls()) > 0 {
		return
	}
	calls, rest := TextCalls(r.Message.Plain(), formats, known)
	if len(calls) == 0 {
		return
	}
	var parts []Part
	for _, p := range r.Message.Parts {
		if p.Kind != PartText {
			parts = append(parts, p)
		}
	}
	if rest != "" {
		parts = append(parts, Part{Kind: PartText, Text: rest})
	}
	for i := range calls {
		parts = append(parts, Part{Kind: PartToolCall, Call: &calls[i]})
	}
	r.Message.Parts = parts
}
