package anthropic

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/greenwright/greenwright/agent/model"
)

// The kinds of content blocks that are sent.
const (
	blockText     = "text"
	blockThinking = "thinking"
	blockRedacted = "redacted_thinking"
	blockToolUse  = "tool_use"
	blockResult   = "tool_result"
)

// message is one entry of "messages".
type message struct {
	Role    string    `json:"role"`
	Content []content `json:"content"`
}

// content is one block of a message; Type says which of the other fields it has.
type content struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	Thinking  *string         `json:"thinking,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Data      string          `json:"data,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   string          `json:"content,omitempty"` // of a result; the API takes a text for a list with one
	IsError   bool            `json:"is_error,omitempty"`
	Cache     *cacheControl   `json:"cache_control,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
}

// The roles of the API.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// join adds blocks to the last message if it is of the same role.
func join(list []message, role string, blocks []content) []message {
	switch n := len(list); {
	case len(blocks) == 0:
		return list
	case n > 0 && list[n-1].Role == role:
		list[n-1].Content = append(list[n-1].Content, blocks...)
		return list
	}
	return append(list, message{Role: role, Content: blocks})
}

// messages maps the transcript. Tool results and user text that follow each
// other become one user message, results first. Thinking that nothing follows
// is left out: the API refuses a reply that ends in it.
func messages(in []model.Message, provider string) []message {
	var said, out []message
	for _, m := range in {
		role := roleUser
		if m.Role == model.RoleAssistant {
			role = roleAssistant
		}
		said = join(said, role, blocksOf(m, provider))
	}
	for _, m := range said {
		if m.Role == roleAssistant {
			m.Content = withoutLastThought(m.Content)
		}
		out = join(out, m.Role, m.Content)
	}
	for _, m := range out {
		if m.Role == roleUser {
			slices.SortStableFunc(m.Content, func(a, b content) int { return cmp.Compare(notResult(a), notResult(b)) })
		}
	}
	return out
}

func withoutLastThought(blocks []content) []content {
	n := len(blocks)
	for n > 0 && (blocks[n-1].Type == blockThinking || blocks[n-1].Type == blockRedacted) {
		n--
	}
	return blocks[:n]
}

func notResult(b content) int {
	if b.Type == blockResult {
		return 0
	}
	return 1
}

// blocksOf maps the parts of one message; empty text is refused by the API and
// thinking of other models means nothing to it.
func blocksOf(m model.Message, provider string) []content {
	var blocks []content
	for _, part := range m.Parts {
		switch part.Kind {
		case model.PartText:
			if part.Text != "" {
				blocks = append(blocks, content{Type: blockText, Text: part.Text})
			}
		case model.PartThinking:
			if b, ok := thinkingBlock(part.Thinking, provider); ok {
				blocks = append(blocks, b)
			}
		case model.PartToolCall:
			c := part.Call
			blocks = append(blocks, content{Type: blockToolUse, ID: c.ID, Name: c.Name, Input: input(c.Arguments)})
		case model.PartToolResult:
			r := part.Result
			text := r.Text
			if text == "" {
				text = "(no output)"
			}
			blocks = append(blocks, content{Type: blockResult, ToolUseID: r.CallID, IsError: r.Error, Content: text})
		}
	}
	return blocks
}

// input is the arguments as the object that the API wants; what was cut or is
// no object cannot go back, and its result says what was wrong.
func input(raw json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil || object == nil {
		return json.RawMessage("{}")
	}
	return raw
}

// markForCache sets a breakpoint on the last block of the last two user
// messages.
func markForCache(list []message) {
	left := 2
	for i := len(list) - 1; i >= 0 && left > 0; i-- {
		if list[i].Role != roleUser {
			continue
		}
		list[i].Content[len(list[i].Content)-1].Cache = &cacheControl{Type: "ephemeral"}
		left--
	}
}
