package openai

import (
	"encoding/json"

	"github.com/greenwright/greenwright/agent/model"
)

// parameters is a schema in the SDK's form; the values stay raw, so that
// properties keep their order.
func parameters(raw json.RawMessage) map[string]any {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return map[string]any{"type": "object"}
	}
	out := make(map[string]any, len(fields))
	for name, value := range fields {
		out[name] = value
	}
	return out
}

// arguments is what goes back to the server: valid JSON, whatever the model
// wrote, because servers parse it.
func arguments(c *model.ToolCall) string {
	if len(c.Arguments) == 0 || !json.Valid(c.Arguments) {
		return "{}"
	}
	return string(c.Arguments)
}

// output is the text of a result; the protocols have no flag for errors and
// some servers refuse an empty text.
func output(r *model.ToolResult) string {
	if r.Text == "" {
		return "(no output)"
	}
	return r.Text
}
