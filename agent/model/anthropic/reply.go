package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/greenwright/greenwright/agent/model"
)

// thinking is the stored form of a thinking block; strings survive JSON
// unchanged, so what goes back is what came.
type thinking struct {
	Text      string `json:"thinking,omitempty"`
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}

func thinkingBlock(t *model.Thinking) (sdk.ContentBlockParamUnion, bool) {
	var stored thinking
	if t == nil || t.Provider != provider || json.Unmarshal(t.Data, &stored) != nil {
		return sdk.ContentBlockParamUnion{}, false
	}
	if stored.Redacted != "" {
		return sdk.NewRedactedThinkingBlock(stored.Redacted), true
	}
	return sdk.NewThinkingBlock(stored.Signature, stored.Text), stored.Signature != ""
}

// block is one content block while it streams.
type block struct {
	kind     string
	text     []byte
	id, name string
	initial  json.RawMessage
	thinking thinking
	whole    bool
}

// collector puts the events of one reply together.
type collector struct {
	blocks  map[int64]*block
	order   []int64
	usage   model.Usage
	reason  string
	detail  string
	stopped bool
}

func (c *collector) add(e sdk.MessageStreamEventUnion) {
	switch e.Type {
	case "message_start":
		u := e.Message.Usage
		c.usage = model.Usage{Input: u.InputTokens, CacheRead: u.CacheReadInputTokens,
			CacheWrite: u.CacheCreationInputTokens, Output: u.OutputTokens}
	case "content_block_start":
		c.start(e.Index, e.ContentBlock)
	case "content_block_delta":
		if b := c.blocks[e.Index]; b != nil {
			b.add(e.Delta)
		}
	case "content_block_stop":
		if b := c.blocks[e.Index]; b != nil {
			b.whole = true
		}
	case "message_delta":
		c.reason = string(e.Delta.StopReason)
		c.detail = e.Delta.StopDetails.Explanation
		c.addUsage(e.Usage)
	case "message_stop":
		c.stopped = true
	}
}

// addUsage takes the totals of message_delta, which are cumulative; those it
// does not carry keep what message_start said.
func (c *collector) addUsage(u sdk.MessageDeltaUsage) {
	c.usage.Output = u.OutputTokens
	if u.JSON.InputTokens.Valid() {
		c.usage.Input = u.InputTokens
	}
	if u.JSON.CacheReadInputTokens.Valid() {
		c.usage.CacheRead = u.CacheReadInputTokens
	}
	if u.JSON.CacheCreationInputTokens.Valid() {
		c.usage.CacheWrite = u.CacheCreationInputTokens
	}
}

func (c *collector) start(index int64, start sdk.ContentBlockStartEventContentBlockUnion) {
	if c.blocks == nil {
		c.blocks = make(map[int64]*block)
	}
	b := &block{kind: start.Type, text: []byte(start.Text), id: start.ID, name: start.Name}
	b.thinking = thinking{Text: start.Thinking, Signature: start.Signature, Redacted: start.Data}
	if input, err := json.Marshal(start.Input); err == nil {
		b.initial = input
	}
	if c.blocks[index] == nil {
		c.order = append(c.order, index)
	}
	c.blocks[index] = b
}

func (b *block) add(d sdk.MessageStreamEventUnionDelta) {
	switch d.Type {
	case "text_delta":
		b.text = append(b.text, d.Text...)
	case "input_json_delta":
		b.text = append(b.text, d.PartialJSON...)
	case "thinking_delta":
		b.thinking.Text += d.Thinking
	case "signature_delta":
		b.thinking.Signature += d.Signature
	}
}

func (c *collector) response() model.Response {
	r := model.Response{
		Message:    model.Message{Role: model.RoleAssistant},
		StopReason: stopReason(c.reason),
		StopDetail: c.detail,
		Usage:      c.usage,
	}
	for i, index := range c.order {
		b := c.blocks[index]
		cut := !b.whole || r.StopReason == model.StopMaxTokens && i == len(c.order)-1
		if part, ok := b.part(cut); ok {
			r.Message.Parts = append(r.Message.Parts, part)
		}
	}
	return r
}

// part is the block as a part. cut says that it was being written when the
// reply ended: a thinking block without its signature cannot go back then.
func (b *block) part(cut bool) (model.Part, bool) {
	switch b.kind {
	case "text":
		return model.Part{Kind: model.PartText, Text: string(b.text)}, len(b.text) > 0
	case "thinking", "redacted_thinking":
		data, err := json.Marshal(b.thinking)
		complete := b.thinking.Signature != "" || b.thinking.Redacted != ""
		return model.Part{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: provider, Data: data}}, err == nil && complete
	case "tool_use":
		args := json.RawMessage(b.text)
		if len(args) == 0 {
			args = b.initial
		}
		return model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{ID: b.id, Name: b.name, Arguments: args, Cut: cut}}, true
	}
	return model.Part{}, false
}

// stopReason maps the API's reasons; an unknown one is an end.
func stopReason(reason string) model.StopReason {
	switch reason {
	case "tool_use":
		return model.StopToolUse
	case "max_tokens", "model_context_window_exceeded":
		return model.StopMaxTokens
	case "refusal":
		return model.StopRefusal
	case "pause_turn":
		return model.StopPause
	}
	return model.StopEnd
}
