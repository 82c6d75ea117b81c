package ollama

import (
	"encoding/json"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
)

// request is the body of POST /api/chat.
type request struct {
	Model     string          `json:"model"`
	Tools     []tool          `json:"tools,omitempty"`
	Stream    bool            `json:"stream"`
	Think     json.RawMessage `json:"think,omitempty"`
	KeepAlive string          `json:"keep_alive,omitempty"`
	// Truncate and Shift ask the server to say so when the prompt or the reply
	// does not fit, rather than to drop its beginning. Servers before 0.12.4
	// do not know them and pass over them.
	Truncate bool    `json:"truncate"`
	Shift    bool    `json:"shift"`
	Options  options `json:"options"`
	// Messages come last, so that requests of one run begin alike.
	Messages []message `json:"messages"`
}

type options struct {
	NumCtx     int `json:"num_ctx"`
	NumPredict int `json:"num_predict,omitempty"`
}

type message struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	Thinking   string `json:"thinking,omitempty"`
	ToolCalls  []call `json:"tool_calls,omitempty"`
	ToolName   string `json:"tool_name,omitempty"`
	ToolCallID string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string   `json:"id,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// request maps a request. The API has no way to forbid calls but to list no
// tools; it accepts calls in the transcript all the same.
func (d *Driver) request(req model.Request) request {
	out := request{
		Model:   d.cfg.Model,
		Stream:  true,
		Options: options{NumCtx: d.cfg.Window, NumPredict: req.MaxOutputTokens},
	}
	switch d.cfg.Think {
	case "":
	case "true", "false":
		out.Think = json.RawMessage(d.cfg.Think)
	default:
		out.Think = json.RawMessage(`"` + d.cfg.Think + `"`)
	}
	if d.cfg.KeepAlive > 0 {
		out.KeepAlive = d.cfg.KeepAlive.String()
	}
	if text := strings.Join(req.System, "\n\n"); text != "" {
		out.Messages = append(out.Messages, message{Role: "system", Content: text})
	}
	names := make(map[string]string)
	for _, m := range req.Messages {
		out.Messages = append(out.Messages, d.messages(m, names)...)
	}
	if !req.NoCalls {
		out.Tools = tools(req.Tools)
	}
	return out
}

func tools(specs []model.ToolSpec) []tool {
	out := make([]tool, len(specs))
	for i, s := range specs {
		out[i].Type = "function"
		out[i].Function.Name, out[i].Function.Description, out[i].Function.Parameters = s.Name, s.Description, s.Schema
	}
	return out
}

// messages maps one message; names learns which tool each call named, because
// results are paired by it.
func (d *Driver) messages(m model.Message, names map[string]string) []message {
	switch m.Role {
	case model.RoleAssistant:
		return d.assistant(m, names)
	case model.RoleTool:
		var out []message
		for _, p := range m.Parts {
			if r := p.Result; r != nil {
				out = append(out, message{Role: "tool", Content: output(r), ToolName: names[r.CallID], ToolCallID: r.CallID})
			}
		}
		return out
	case model.RoleUser:
	}
	if text := m.Plain(); text != "" {
		return []message{{Role: "user", Content: text}}
	}
	return nil
}

func (d *Driver) assistant(m model.Message, names map[string]string) []message {
	out := message{Role: "assistant", Content: m.Plain()}
	for _, p := range m.Parts {
		switch {
		case p.Thinking != nil && p.Thinking.Provider == d.Name():
			out.Thinking += string(p.Thinking.Data)
		case p.Call != nil:
			names[p.Call.ID] = p.Call.Name
			out.ToolCalls = append(out.ToolCalls, call{ID: p.Call.ID, Function: function{
				Index: len(out.ToolCalls), Name: p.Call.Name, Arguments: arguments(p.Call)}})
		}
	}
	if out.Content == "" && len(out.ToolCalls) == 0 {
		return nil
	}
	return []message{out}
}

// arguments is the object that goes back; what was cut or is no object cannot,
// and its result says what was wrong.
func arguments(c *model.ToolCall) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &object) != nil || object == nil {
		return json.RawMessage("{}")
	}
	return c.Arguments
}

// output is the text of a result: the API has no flag for errors.
func output(r *model.ToolResult) string {
	if r.Text == "" {
		return "(no output)"
	}
	return r.Text
}
