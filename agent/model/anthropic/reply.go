package anthropic

import (
	"encoding/json"
	"strings"

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

// thinkingBlock is a stored block as it goes back; another model's is dropped,
// because its signature means nothing to this one.
func thinkingBlock(t *model.Thinking, provider string) (content, bool) {
	var stored thinking
	if t == nil || t.Provider != provider || json.Unmarshal(t.Data, &stored) != nil {
		return content{}, false
	}
	if stored.Redacted != "" {
		return content{Type: blockRedacted, Data: stored.Redacted}, true
	}
	return content{Type: blockThinking, Thinking: &stored.Text, Signature: stored.Signature}, stored.Signature != ""
}

// block is one content block while it streams.
type block struct {
	kind     string
	text     strings.Builder
	id, name string
	initial  json.RawMessage
	thinking thinking
	thought  strings.Builder // the thinking's text
	signed   strings.Builder // and signature
	whole    bool
}

// collector puts the events of one reply together.
type collector struct {
	provider string
	guard    model.Guard
	blocks   map[int64]*block
	order    []int64
	usage    model.Usage
	reason   string
	detail   string
	stopped  bool
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
			b.add(e.Delta, &c.guard)
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
	b := &block{kind: start.Type, id: start.ID, name: start.Name, thinking: thinking{Redacted: start.Data}}
	b.text.WriteString(start.Text)
	b.thought.WriteString(start.Thinking)
	b.signed.WriteString(start.Signature)
	c.guard.Args(start.Text + start.Thinking + start.Data)
	if input, err := json.Marshal(start.Input); err == nil {
		b.initial = input
	}
	if c.blocks[index] == nil {
		c.order = append(c.order, index)
	}
	c.blocks[index] = b
}

func (b *block) add(d sdk.MessageStreamEventUnionDelta, g *model.Guard) {
	switch d.Type {
	case "text_delta":
		b.text.WriteString(d.Text)
		g.Text(d.Text)
	case "input_json_delta":
		b.text.WriteString(d.PartialJSON)
		g.Args(d.PartialJSON)
	case "thinking_delta":
		b.thought.WriteString(d.Thinking)
		g.Thinking(d.Thinking)
	case "signature_delta":
		b.signed.WriteString(d.Signature)
		g.Args(d.Signature)
	}
}

func (c *collector) response() model.Response {
	r := model.Response{
		Message:    model.Message{Role: model.RoleAssistant},
		StopReason: stopReason(c.reason),
		StopDetail: c.detail,
		Usage:      c.usage,
	}
	if r.StopDetail == "" && c.reason != plainReason(r.StopReason) {
		r.StopDetail = c.reason
	}
	for i, index := range c.order {
		b := c.blocks[index]
		cut := !b.whole || r.StopReason == model.StopMaxTokens && i == len(c.order)-1
		if part, ok := b.part(cut, c.provider); ok {
			r.Message.Parts = append(r.Message.Parts, part)
		}
	}
	return r
}

// part is the block as a part. cut says that it was being written when the
// reply ended: a thinking block without its signature cannot go back then.
func (b *block) part(cut bool, provider string) (model.Part, bool) {
	switch b.kind {
	case blockText:
		return model.Part{Kind: model.PartText, Text: b.text.String()}, b.text.Len() > 0
	case blockThinking, blockRedacted:
		b.thinking.Text, b.thinking.Signature = b.thought.String(), b.signed.String()
		data, err := json.Marshal(b.thinking)
		complete := b.whole && (b.thinking.Signature != "" || b.thinking.Redacted != "")
		return model.Part{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: provider, Data: data}}, err == nil && complete
	case blockToolUse:
		args := json.RawMessage(b.text.String())
		if len(args) == 0 {
			args = b.initial
		}
		return model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{ID: b.id, Name: b.name, Arguments: args, Cut: cut}}, true
	}
	return model.Part{}, false
}

// plainReason is the API's word that says no more than the reason itself.
func plainReason(r model.StopReason) string {
	switch r {
	case model.StopEnd:
		return "end_turn"
	case model.StopPause:
		return "pause_turn"
	case model.StopToolUse, model.StopMaxTokens, model.StopRefusal, model.StopRepetition:
	}
	return string(r)
}

// stopReason maps the API's reasons; an unknown one is an end, with its word
// as the detail.
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
