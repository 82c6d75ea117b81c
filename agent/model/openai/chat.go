package openai

import (
	"context"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/jsonstream"
)

func (d *Driver) completeChat(ctx context.Context, dog *model.Watchdog, req model.Request) (model.Response, error) {
	body, err := d.chatBody(req)
	if err != nil {
		return model.Response{}, &model.Error{Class: model.ClassFatal, Message: err.Error(), Err: err}
	}
	stream := d.chat.NewStreaming(ctx, sdk.ChatCompletionNewParams{}, option.WithRequestBody("application/json", body))
	defer stream.Close()
	c := chatCollector{reasoningField: d.can.ReasoningField}
	for !c.guard.Stopped() && stream.Next() {
		dog.Feed()
		c.add(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return model.Response{}, classify(ctx, err)
	}
	switch {
	case c.guard.Stopped():
	case c.reason == "":
		return model.Response{}, model.FromTransport(ctx, model.ErrCutStream)
	case c.reason == "error": // OpenRouter's word for an upstream that failed
		return model.Response{}, model.FromTransport(ctx, model.ErrCutStream)
	}
	r := c.response(d.Name())
	if !d.official {
		model.LimitUnsaid(&r, req)
	}
	d.findCalls(&r, req)
	model.CutLast(&r)
	c.guard.Apply(&r, req)
	return model.Seal(r, req, d.Name(), d.cfg.Window)
}

// chatBody maps a request by what the server can do.
func (d *Driver) chatBody(req model.Request) ([]byte, error) {
	system := req.System
	p := sdk.ChatCompletionNewParams{Model: d.cfg.Model}
	if len(req.Tools) > 0 && !model.Is(d.can.Tools) {
		req.Messages = inText(req.Messages)
		if !req.NoCalls {
			system = append(system[:len(system):len(system)], describe(req.Tools))
		}
	} else {
		d.chatTools(&p, req)
	}
	d.chatParams(&p, req)
	var list []any
	if text := strings.Join(system, "\n\n"); text != "" {
		list = append(list, chatMessage{Role: d.can.SystemRole, Content: &text})
	}
	for _, m := range req.Messages {
		list = append(list, d.chatMessages(m)...)
	}
	return jsonstream.Body(p, map[string]any{"stream": true}, "messages", list)
}

func (d *Driver) chatParams(p *sdk.ChatCompletionNewParams, req model.Request) {
	if model.Is(d.can.StreamOptions) {
		p.StreamOptions.IncludeUsage = sdk.Bool(true)
	}
	if req.MaxOutputTokens > 0 && d.can.MaxTokensField == model.FieldMaxCompletionTokens {
		p.MaxCompletionTokens = sdk.Int(int64(req.MaxOutputTokens))
	} else if req.MaxOutputTokens > 0 {
		p.MaxTokens = sdk.Int(int64(req.MaxOutputTokens))
	}
	if d.cfg.Effort != "" {
		p.ReasoningEffort = shared.ReasoningEffort(d.cfg.Effort)
	}
}

func (d *Driver) chatTools(p *sdk.ChatCompletionNewParams, req model.Request) {
	for _, t := range req.Tools {
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: t.Name, Description: sdk.String(t.Description), Parameters: parameters(t.Schema),
		}))
	}
	if len(p.Tools) == 0 {
		return
	}
	if req.NoCalls {
		p.ToolChoice.OfAuto = sdk.String("none")
	}
	if d.can.ParallelCalls != nil {
		p.ParallelToolCalls = sdk.Bool(*d.can.ParallelCalls)
	}
}

// chatMessage is one entry of "messages".
type chatMessage struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// chatMessages maps one message; each tool result is a message of its own.
func (d *Driver) chatMessages(m model.Message) []any {
	switch m.Role {
	case model.RoleUser:
	case model.RoleAssistant:
		return d.chatAssistant(m)
	case model.RoleTool:
		var out []any
		for _, part := range m.Parts {
			if part.Result != nil {
				text := output(part.Result)
				out = append(out, chatMessage{Role: "tool", Content: &text, ToolCallID: part.Result.CallID})
			}
		}
		return out
	}
	if text := m.Plain(); text != "" {
		return []any{chatMessage{Role: "user", Content: &text}}
	}
	return nil
}

func (d *Driver) chatAssistant(m model.Message) []any {
	a := chatMessage{Role: "assistant"}
	if text := m.Plain(); text != "" {
		a.Content = &text
	}
	for _, c := range m.Calls() {
		call := toolCall{ID: c.ID, Type: "function"}
		call.Function.Name, call.Function.Arguments = c.Name, arguments(&c)
		a.ToolCalls = append(a.ToolCalls, call)
	}
	if a.Content == nil && len(a.ToolCalls) == 0 {
		return nil
	}
	switch text := d.reasoningOf(m); {
	case text == "":
	case d.can.ReasoningField == model.FieldReasoning:
		return []any{struct {
			chatMessage
			Reasoning string `json:"reasoning"`
		}{a, text}}
	default:
		return []any{struct {
			chatMessage
			Reasoning string `json:"reasoning_content"`
		}{a, text}}
	}
	return []any{a}
}

// reasoningOf is the reasoning that this model wrote ahead of the message, for
// servers that want it back.
func (d *Driver) reasoningOf(m model.Message) string {
	if d.can.ReasoningField == "" {
		return ""
	}
	var text strings.Builder
	for _, p := range m.Parts {
		if p.Thinking != nil && p.Thinking.Provider == d.Name() {
			text.Write(p.Thinking.Data)
		}
	}
	return text.String()
}
