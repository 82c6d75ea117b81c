package openai

import (
	_ "embed" // the text for models without tools
	"encoding/json"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
)

//go:embed texttools.md
var textTools string

// describe is the part of the system text that stands for the list of tools
// where the server takes none.
func describe(tools []model.ToolSpec) string {
	var b strings.Builder
	b.WriteString(textTools)
	for _, t := range tools {
		b.WriteString("\n" + line(map[string]any{"name": t.Name, "description": t.Description, "parameters": t.Schema}))
	}
	return b.String()
}

// inText writes calls and results into the text of their messages. JSON keeps
// a result from ending its own block: it escapes the angle brackets.
func inText(messages []model.Message) []model.Message {
	out := make([]model.Message, 0, len(messages))
	for _, m := range messages {
		said := model.Message{Role: m.Role}
		if m.Role == model.RoleTool {
			said.Role = model.RoleUser
		}
		for _, p := range m.Parts {
			switch p.Kind {
			case model.PartText, model.PartThinking:
				said.Parts = append(said.Parts, p)
			case model.PartToolCall:
				body := line(map[string]any{"name": p.Call.Name, "arguments": json.RawMessage(arguments(p.Call))})
				said.Parts = append(said.Parts, block("tool_call", body))
			case model.PartToolResult:
				body := line(map[string]any{"call_id": p.Result.CallID, "content": output(p.Result), "error": p.Result.Error})
				said.Parts = append(said.Parts, block("tool_response", body))
			}
		}
		out = append(out, said)
	}
	return out
}

func block(tag, body string) model.Part {
	return model.Part{Kind: model.PartText, Text: "<" + tag + ">\n" + body + "\n</" + tag + ">"}
}

// line is a value as one line of JSON.
func line(v any) string {
	data, err := json.Marshal(v)
	if err != nil { // a schema that is no JSON was not made by this program
		return "{}"
	}
	return string(data)
}

// findCalls looks for calls in the text, in the forms switched on for the
// endpoint, if the structured list is empty.
func (d *Driver) findCalls(r *model.Response, req model.Request) {
	formats := d.can.TextCalls
	if len(formats) == 0 && !model.Is(d.can.Tools) {
		formats = []model.CallFormat{model.FormatHermes}
	}
	if len(formats) > 0 && !req.NoCalls {
		model.LiftCalls(r, formats, req.Tools)
	}
}
