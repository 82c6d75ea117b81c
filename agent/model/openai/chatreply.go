package openai

import (
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"github.com/greenwright/greenwright/agent/model"
)

// chatCall is one tool call while it streams.
type chatCall struct {
	index    int64
	id, name string
	args     strings.Builder
}

// chatCollector puts the chunks of one reply together.
type chatCollector struct {
	reasoningField           string
	text, refusal, reasoning strings.Builder
	calls                    []*chatCall
	reason                   string
	usage                    model.Usage
	guard                    model.Guard
}

func (c *chatCollector) add(chunk sdk.ChatCompletionChunk) {
	if u := chunk.Usage; u.PromptTokens > 0 || u.CompletionTokens > 0 {
		read, write := u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.CacheWriteTokens
		c.usage = model.Usage{Input: max(u.PromptTokens-read-write, 0), CacheRead: read, CacheWrite: write, Output: u.CompletionTokens}
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue // only one was asked for
		}
		c.text.WriteString(choice.Delta.Content)
		c.guard.Text(choice.Delta.Content)
		c.refusal.WriteString(choice.Delta.Refusal)
		c.guard.Args(choice.Delta.Refusal)
		c.addReasoning(choice.Delta)
		for _, d := range choice.Delta.ToolCalls {
			c.addCall(d)
		}
		if choice.FinishReason != "" {
			c.reason = choice.FinishReason
		}
	}
}

// addReasoning keeps the reasoning if the server wants it back; it is watched
// in any case.
func (c *chatCollector) addReasoning(d sdk.ChatCompletionChunkChoiceDelta) {
	for _, field := range []string{model.FieldReasoningContent, model.FieldReasoning} {
		raw := d.JSON.ExtraFields[field].Raw()
		var text string
		if raw == "" || json.Unmarshal([]byte(raw), &text) != nil {
			continue
		}
		c.guard.Thinking(text)
		if field == c.reasoningField {
			c.reasoning.WriteString(text)
		}
		return // some servers send both
	}
}

// addCall adds a delta to its call: the last one with the same index, unless
// it begins another (servers repeat index 0).
func (c *chatCollector) addCall(d sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	var call *chatCall
	for _, known := range c.calls {
		if known.index == d.Index {
			call = known
		}
	}
	args := d.Function.Arguments
	if raw := d.Function.JSON.Arguments.Raw(); args == "" && strings.HasPrefix(raw, "{") {
		args = raw // an object instead of a string
	}
	if call == nil || call.endsBefore(d) {
		call = &chatCall{index: d.Index}
		c.calls = append(c.calls, call)
	}
	if d.ID != "" {
		call.id = d.ID
	}
	if call.name == "" {
		call.name = d.Function.Name
	}
	call.args.WriteString(args)
	c.guard.Args(args)
}

// endsBefore says whether the delta belongs to another call: it has another
// id, or it names a tool again, without an id, after whole arguments.
func (c *chatCall) endsBefore(d sdk.ChatCompletionChunkChoiceDeltaToolCall) bool {
	if d.ID != "" && c.id != "" {
		return d.ID != c.id
	}
	return d.ID == "" && d.Function.Name != "" && c.name != "" && json.Valid([]byte(c.args.String()))
}

// wholeCalls leaves out what a server that repeats the name in every delta
// seems to begin after the last one: a call without id and arguments.
func (c *chatCollector) wholeCalls() []*chatCall {
	var out []*chatCall
	for i, call := range c.calls {
		if i > 0 && call.id == "" && call.args.Len() == 0 && call.index == c.calls[i-1].index && call.name == c.calls[i-1].name {
			continue
		}
		out = append(out, call)
	}
	return out
}

// response is the reply; provider tags its reasoning.
func (c *chatCollector) response(provider string) model.Response {
	r := model.Response{Message: model.Message{Role: model.RoleAssistant}, StopReason: model.StopEnd, Usage: c.usage}
	if c.reasoning.Len() > 0 {
		r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartThinking,
			Thinking: &model.Thinking{Provider: provider, Data: []byte(c.reasoning.String())}})
	}
	if c.text.Len() > 0 {
		r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartText, Text: c.text.String()})
	}
	calls := c.wholeCalls()
	switch {
	case c.reason == "length":
		r.StopReason = model.StopMaxTokens
	case c.reason == "content_filter":
		r.StopReason, r.StopDetail = model.StopRefusal, c.reason
	case c.refusal.Len() > 0 && len(calls) == 0:
		r.StopReason, r.StopDetail = model.StopRefusal, c.refusal.String()
	case len(calls) > 0:
		r.StopReason = model.StopToolUse
	case c.reason != "stop":
		r.StopDetail = c.reason
	}
	for _, call := range calls {
		r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{
			ID: call.id, Name: call.name, Arguments: json.RawMessage(call.args.String()),
		}})
	}
	return r
}
