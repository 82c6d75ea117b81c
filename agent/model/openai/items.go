package openai

import (
	"encoding/json"
	"slices"

	"github.com/greenwright/greenwright/agent/model"
)

// The types of input items that are told apart.
const (
	itemCall      = "function_call"
	itemOutput    = "function_call_output"
	itemReasoning = "reasoning"
)

// inputItem is one entry of "input"; raw is one that goes back as it came.
type inputItem struct {
	Type      string  `json:"type,omitempty"`
	Role      string  `json:"role,omitempty"`
	Content   string  `json:"content,omitempty"`
	CallID    string  `json:"call_id,omitempty"`
	Name      string  `json:"name,omitempty"`
	Arguments *string `json:"arguments,omitempty"`
	Output    string  `json:"output,omitempty"`

	raw json.RawMessage
}

// wire is the list as it is sent, stored items byte for byte.
func wire(items []inputItem) []any {
	out := make([]any, len(items))
	for n, i := range items {
		out[n] = i
		if i.raw != nil {
			out[n] = i.raw
		}
	}
	return out
}

// inputItems maps the parts of a message. Reasoning goes back only when
// something of the same reply follows it: trailing, the server refuses it.
func (d *Driver) inputItems(m model.Message) []inputItem {
	role := "user"
	if m.Role == model.RoleAssistant {
		role = "assistant"
	}
	var items []inputItem
	for i, part := range m.Parts {
		switch part.Kind {
		case model.PartText:
			if part.Text != "" {
				items = append(items, inputItem{Role: role, Content: part.Text})
			}
		case model.PartThinking:
			if part.Thinking.Provider == d.responsesTag() && json.Valid(part.Thinking.Data) && followed(m.Parts[i+1:]) {
				items = append(items, inputItem{Type: itemReasoning, raw: part.Thinking.Data})
			}
		case model.PartToolCall:
			args := arguments(part.Call)
			items = append(items, inputItem{Type: itemCall, CallID: part.Call.ID, Name: part.Call.Name, Arguments: &args})
		case model.PartToolResult:
			items = append(items, inputItem{Type: itemOutput, CallID: part.Result.CallID, Output: output(part.Result)})
		}
	}
	return items
}

func followed(rest []model.Part) bool {
	return slices.ContainsFunc(rest, func(p model.Part) bool {
		return p.Kind == model.PartToolCall || p.Kind == model.PartText && p.Text != ""
	})
}

// adjacent puts every output right behind its call, and gives each call of a
// reply one reasoning item ahead of it: DeepSeek's server wants both, and reads
// the calls of one reply as a reply each.
func adjacent(items []inputItem) []inputItem {
	outputs := make(map[string]inputItem)
	for _, i := range items {
		if i.Type == itemOutput {
			outputs[i.CallID] = i
		}
	}
	var out []inputItem
	var thought *inputItem
	for n, i := range items {
		switch i.Type {
		case itemReasoning:
			thought = &items[n]
			continue
		case itemOutput: // stands behind its call already
			thought = nil
			continue
		}
		if thought != nil {
			out = append(out, *thought)
		}
		out = append(out, i)
		if i.Type != itemCall {
			thought = nil
			continue
		}
		if o, ok := outputs[i.CallID]; ok {
			out = append(out, o)
		}
	}
	return out
}
