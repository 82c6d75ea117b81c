package model

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Role says who speaks in a [Message].
type Role string

// The closed set of roles. Tool results travel in a RoleTool message of their
// own; drivers place them where their protocol wants them.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// PartKind says which field of a [Part] is set.
type PartKind string

// The closed set of part kinds.
const (
	PartText       PartKind = "text"
	PartThinking   PartKind = "thinking"
	PartToolCall   PartKind = "tool_call"
	PartToolResult PartKind = "tool_result"
)

// Message is one entry of a transcript. The order of its parts is the order
// on the wire and must be kept.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
}

// Part is one piece of a message; Kind says which of the other fields holds it.
type Part struct {
	Kind     PartKind    `json:"kind"`
	Text     string      `json:"text,omitempty"`
	Thinking *Thinking   `json:"thinking,omitempty"`
	Call     *ToolCall   `json:"call,omitempty"`
	Result   *ToolResult `json:"result,omitempty"`
}

// Thinking is reasoning that a vendor wants back byte for byte, in place.
// Nobody but the driver named in Provider reads Data; other drivers drop it.
type Thinking struct {
	Provider string `json:"provider"`
	Data     []byte `json:"data"`
}

// ToolCall is a model's request to run one tool.
type ToolCall struct {
	// ID pairs the call with its result. It is unique within a transcript and
	// matches [a-zA-Z0-9_-]{1,64}, the strictest form the vendors accept.
	ID string
	// Name is the tool's name as the model wrote it.
	Name string
	// Arguments is what the model wrote: a JSON object when Cut is false and
	// the model kept to its schema, anything at all otherwise.
	Arguments json.RawMessage
	// Cut says that the reply ended before the arguments were complete. Such
	// a call must never run, however complete it looks.
	Cut bool
}

// callJSON is the stored form of a ToolCall. Arguments that are not valid
// JSON cannot be embedded as such and are kept as text; so are those that an
// encoder would write in another way, because a transcript that is sent again
// must be the same to the byte.
type callJSON struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Raw       string          `json:"raw_arguments,omitempty"`
	Cut       bool            `json:"cut,omitempty"`
}

// MarshalJSON stores the call so that broken arguments survive the journal.
func (c ToolCall) MarshalJSON() ([]byte, error) {
	out := callJSON{ID: c.ID, Name: c.Name, Cut: c.Cut}
	if stable(c.Arguments) {
		out.Arguments = c.Arguments
	} else {
		out.Raw = string(c.Arguments)
	}
	return json.Marshal(out)
}

// stable says that an encoder embeds the JSON as it is.
func stable(raw json.RawMessage) bool {
	if len(raw) == 0 {
		return false
	}
	written, err := json.Marshal(raw)
	return err == nil && bytes.Equal(written, raw)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *ToolCall) UnmarshalJSON(data []byte) error {
	var in callJSON
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	*c = ToolCall{ID: in.ID, Name: in.Name, Arguments: in.Arguments, Cut: in.Cut}
	if in.Raw != "" {
		c.Arguments = json.RawMessage(in.Raw)
	}
	return nil
}

// ToolResult answers the call with the same id. Error says that the tool could
// not do what was asked; a command that ran and exited non-zero is no error.
type ToolResult struct {
	CallID string `json:"call_id"`
	Text   string `json:"text"`
	Error  bool   `json:"error,omitempty"`
}

// Text makes a message with one text part.
func Text(role Role, text string) Message {
	return Message{Role: role, Parts: []Part{{Kind: PartText, Text: text}}}
}

// Results makes the message that answers the calls of one reply, in order.
func Results(results ...ToolResult) Message {
	m := Message{Role: RoleTool}
	for i := range results {
		m.Parts = append(m.Parts, Part{Kind: PartToolResult, Result: &results[i]})
	}
	return m
}

// Calls returns the tool calls of the message in the order asked.
func (m Message) Calls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if p.Kind == PartToolCall && p.Call != nil {
			calls = append(calls, *p.Call)
		}
	}
	return calls
}

// Plain returns the text parts of the message, joined by newlines.
func (m Message) Plain() string {
	var texts []string
	for _, p := range m.Parts {
		if p.Kind == PartText && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
