package openai

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/shared"

	"github.com/greenwright/greenwright/agent/model"
)

func (d *Driver) completeChat(ctx context.Context, dog *model.Watchdog, req model.Request) (model.Response, error) {
	stream := d.chat.NewStreaming(ctx, d.chatParams(req))
	defer stream.Close()
	var c chatCollector
	for stream.Next() {
		dog.Feed()
		c.add(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return model.Response{}, classify(ctx, err)
	}
	if c.reason == "" {
		return model.Response{}, model.FromTransport(ctx, model.ErrCutStream)
	}
	return c.response(), nil
}

// chatParams maps a request. OpenAI itself wants max_completion_tokens, other
// servers know only max_tokens.
func (d *Driver) chatParams(req model.Request) sdk.ChatCompletionNewParams {
	p := sdk.ChatCompletionNewParams{
		Model:         d.cfg.Model,
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
	}
	if system := strings.Join(req.System, "\n\n"); system != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(system))
	}
	for _, m := range req.Messages {
		p.Messages = append(p.Messages, chatMessages(m)...)
	}
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.Name, Description: sdk.String(t.Description), Parameters: parameters(t.Schema),
		}))
	}
	if req.NoCalls && len(p.Tools) > 0 {
		p.ToolChoice.OfAuto = sdk.String("none")
	}
	if req.MaxOutputTokens > 0 && d.official {
		p.MaxCompletionTokens = sdk.Int(int64(req.MaxOutputTokens))
	} else if req.MaxOutputTokens > 0 {
		p.MaxTokens = sdk.Int(int64(req.MaxOutputTokens))
	}
	if d.cfg.Effort != "" {
		p.ReasoningEffort = shared.ReasoningEffort(d.cfg.Effort)
	}
	return p
}

// chatMessages maps one message; each tool result is a message of its own.
func chatMessages(m model.Message) []sdk.ChatCompletionMessageParamUnion {
	switch m.Role {
	case model.RoleUser:
	case model.RoleAssistant:
		return chatAssistant(m)
	case model.RoleTool:
		var out []sdk.ChatCompletionMessageParamUnion
		for _, part := range m.Parts {
			if part.Result != nil {
				out = append(out, sdk.ToolMessage(output(part.Result), part.Result.CallID))
			}
		}
		return out
	}
	if text := m.Plain(); text != "" {
		return []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage(text)}
	}
	return nil
}

func chatAssistant(m model.Message) []sdk.ChatCompletionMessageParamUnion {
	var a sdk.ChatCompletionAssistantMessageParam
	if text := m.Plain(); text != "" {
		a.Content.OfString = sdk.String(text)
	}
	for _, c := range m.Calls() {
		a.ToolCalls = append(a.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID:       c.ID,
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: arguments(&c)},
			},
		})
	}
	if m.Plain() == "" && len(a.ToolCalls) == 0 {
		return nil
	}
	return []sdk.ChatCompletionMessageParamUnion{{OfAssistant: &a}}
}

// chatCall is one tool call while it streams.
type chatCall struct {
	index    int64
	id, name string
	args     strings.Builder
}

// chatCollector puts the chunks of one reply together.
type chatCollector struct {
	text, refusal strings.Builder
	calls         []*chatCall
	reason        string
	usage         model.Usage
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
		c.refusal.WriteString(choice.Delta.Refusal)
		for _, d := range choice.Delta.ToolCalls {
			c.addCall(d)
		}
		if choice.FinishReason != "" {
			c.reason = choice.FinishReason
		}
	}
}

// addCall adds a delta to its call: the last one with the same index, unless
// the id says that it is another (servers repeat index 0).
func (c *chatCollector) addCall(d sdk.ChatCompletionChunkChoiceDeltaToolCall) {
	var call *chatCall
	for _, known := range c.calls {
		if known.index == d.Index {
			call = known
		}
	}
	if call == nil || d.ID != "" && call.id != "" && d.ID != call.id {
		call = &chatCall{index: d.Index}
		c.calls = append(c.calls, call)
	}
	if d.ID != "" {
		call.id = d.ID
	}
	if call.name == "" {
		call.name = d.Function.Name
	}
	call.args.WriteString(d.Function.Arguments)
	if raw := d.Function.JSON.Arguments.Raw(); d.Function.Arguments == "" && strings.HasPrefix(raw, "{") {
		call.args.WriteString(raw) // an object instead of a string
	}
}

func (c *chatCollector) response() model.Response {
	r := model.Response{Message: model.Message{Role: model.RoleAssistant}, StopReason: model.StopEnd, Usage: c.usage}
	if c.text.Len() > 0 {
		r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartText, Text: c.text.String()})
	}
	switch {
	case c.reason == "length":
		r.StopReason = model.StopMaxTokens
	case c.reason == "content_filter" || c.refusal.Len() > 0 && len(c.calls) == 0:
		r.StopReason, r.StopDetail = model.StopRefusal, c.refusal.String()
	case len(c.calls) > 0:
		r.StopReason = model.StopToolUse
	}
	for i, call := range c.calls {
		cut := r.StopReason == model.StopMaxTokens && i == len(c.calls)-1
		r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartToolCall, Call: &model.ToolCall{
			ID: call.id, Name: call.name, Arguments: json.RawMessage(call.args.String()), Cut: cut,
		}})
	}
	return r
}
