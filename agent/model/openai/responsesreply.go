package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/greenwright/greenwright/agent/model"
)

// responseItem is one output item; until done it holds what streamed so far.
type responseItem struct {
	item responses.ResponseOutputItemUnion
	args strings.Builder // of a call
	text strings.Builder // of a message
	done bool
}

// responsesCollector puts the events of one reply together.
type responsesCollector struct {
	provider string
	guard    model.Guard
	items    map[int64]*responseItem
	status   string
	reason   string // why it is incomplete
	usage    model.Usage
	ended    bool
}

func (c *responsesCollector) add(e responses.ResponseStreamEventUnion) error {
	switch e.Type {
	case "response.output_item.added":
		c.items[e.OutputIndex] = &responseItem{item: e.Item}
	case "response.function_call_arguments.delta":
		c.guard.Args(e.Delta)
		if i := c.items[e.OutputIndex]; i != nil {
			i.args.WriteString(e.Delta)
		}
	case "response.output_text.delta":
		c.guard.Text(e.Delta)
		if i := c.items[e.OutputIndex]; i != nil {
			i.text.WriteString(e.Delta)
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		c.guard.Thinking(e.Delta)
	case "response.output_item.done":
		c.items[e.OutputIndex] = &responseItem{item: e.Item, done: true}
	case "response.completed", "response.incomplete":
		c.end(e.Response)
	case "response.failed":
		return fromCode(string(e.Response.Error.Code), e.Response.Error.Message)
	case "error":
		return fromCode(e.Code, e.Message)
	}
	return nil
}

func (c *responsesCollector) end(r responses.Response) {
	c.ended = true
	c.status, c.reason = string(r.Status), r.IncompleteDetails.Reason
	read, write := r.Usage.InputTokensDetails.CachedTokens, r.Usage.InputTokensDetails.CacheWriteTokens
	c.usage = model.Usage{Input: max(r.Usage.InputTokens-read-write, 0), CacheRead: read, CacheWrite: write,
		Output: r.Usage.OutputTokens}
}

func (c *responsesCollector) response() model.Response {
	r := model.Response{Message: model.Message{Role: model.RoleAssistant}, StopReason: model.StopEnd, Usage: c.usage}
	if c.status == "incomplete" {
		r.StopReason, r.StopDetail = model.StopMaxTokens, c.reason
		if c.reason == "content_filter" {
			r.StopReason = model.StopRefusal
		}
	}
	for _, index := range slices.Sorted(maps.Keys(c.items)) {
		c.addItem(&r, c.items[index])
	}
	return r
}

func (c *responsesCollector) addItem(r *model.Response, i *responseItem) {
	switch i.item.Type {
	case "message":
		c.addText(r, i)
	case "reasoning":
		if i.done {
			r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartThinking,
				Thinking: &model.Thinking{Provider: c.provider, Data: []byte(i.item.RawJSON())}})
		}
	case "function_call":
		args := i.item.Arguments.OfString
		if !i.done {
			args = i.args.String()
		}
		r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{
			ID: i.item.CallID, Name: i.item.Name, Arguments: json.RawMessage(args),
			Cut: !i.done || i.item.Status == "incomplete",
		}})
		if r.StopReason == model.StopEnd {
			r.StopReason = model.StopToolUse
		}
	}
}

func (c *responsesCollector) addText(r *model.Response, i *responseItem) {
	if !i.done && i.text.Len() > 0 {
		r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartText, Text: i.text.String()})
		return
	}
	for _, content := range i.item.Content {
		switch content.Type {
		case "output_text":
			if content.Text != "" {
				r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartText, Text: content.Text})
			}
		case "refusal":
			r.StopReason, r.StopDetail = model.StopRefusal, content.Refusal
		}
	}
}
