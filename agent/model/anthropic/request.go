package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/greenwright/greenwright/agent/model"
)

// params turns a request into the SDK's form, with cache breakpoints on the
// last tool, the last system block and the last two user messages, so that one
// miss does not lose all. Four is the API's limit.
func (d *Driver) params(req model.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{
		Model:     d.cfg.Model,
		MaxTokens: defaultMaxTokens,
		Messages:  messages(req.Messages),
		Tools:     tools(req.Tools),
	}
	if req.MaxOutputTokens > 0 {
		p.MaxTokens = int64(req.MaxOutputTokens)
	}
	for _, text := range req.System {
		if text != "" {
			p.System = append(p.System, sdk.TextBlockParam{Text: text})
		}
	}
	if n := len(p.System); n > 0 {
		p.System[n-1].CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	if req.NoCalls && len(p.Tools) > 0 {
		p.ToolChoice = sdk.ToolChoiceUnionParam{OfNone: &sdk.ToolChoiceNoneParam{}}
	}
	if d.cfg.Effort != "" {
		p.OutputConfig.Effort = sdk.OutputConfigEffort(d.cfg.Effort)
	}
	markForCache(p.Messages)
	return p
}

func tools(specs []model.ToolSpec) []sdk.ToolUnionParam {
	out := make([]sdk.ToolUnionParam, 0, len(specs))
	for _, s := range specs {
		out = append(out, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
			Name:        s.Name,
			Description: sdk.String(s.Description),
			InputSchema: schema(s.Schema),
		}})
	}
	if n := len(out); n > 0 {
		out[n-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	return out
}

// schema passes a JSON Schema through, its properties in their own order.
func schema(raw json.RawMessage) sdk.ToolInputSchemaParam {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return sdk.ToolInputSchemaParam{}
	}
	s := sdk.ToolInputSchemaParam{ExtraFields: make(map[string]any)}
	for name, value := range fields {
		switch name {
		case "type":
		case "properties":
			s.Properties = value
		case "required":
			// A schema that is not a list here was not made by this program.
			_ = json.Unmarshal(value, &s.Required)
		default:
			s.ExtraFields[name] = value
		}
	}
	return s
}

// messages maps the transcript. Tool results and user text that follow each
// other become one user message, in that order.
func messages(in []model.Message) []sdk.MessageParam {
	var out []sdk.MessageParam
	for _, m := range in {
		blocks := blocksOf(m)
		if len(blocks) == 0 {
			continue
		}
		var last sdk.MessageParam
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		switch assistant := m.Role == model.RoleAssistant; {
		case assistant && last.OfAssistant != nil:
			last.OfAssistant.Content = append(last.OfAssistant.Content, blocks...)
		case assistant:
			out = append(out, sdk.NewAssistantMessage(blocks...))
		case last.OfUser != nil:
			last.OfUser.Content = append(last.OfUser.Content, blocks...)
		default:
			out = append(out, sdk.NewUserMessage(blocks...))
		}
	}
	return out
}

// blocksOf maps the parts of one message; empty text is refused by the API and
// thinking of other vendors means nothing to it.
func blocksOf(m model.Message) []sdk.ContentBlockParamUnion {
	var blocks []sdk.ContentBlockParamUnion
	for _, part := range m.Parts {
		switch part.Kind {
		case model.PartText:
			if part.Text != "" {
				blocks = append(blocks, sdk.NewTextBlock(part.Text))
			}
		case model.PartThinking:
			if b, ok := thinkingBlock(part.Thinking); ok {
				blocks = append(blocks, b)
			}
		case model.PartToolCall:
			blocks = append(blocks, sdk.NewToolUseBlock(part.Call.ID, input(part.Call.Arguments), part.Call.Name))
		case model.PartToolResult:
			r := part.Result
			text := r.Text
			if text == "" {
				text = "(no output)"
			}
			blocks = append(blocks, sdk.NewToolResultBlock(r.CallID, text, r.Error))
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
func markForCache(list []sdk.MessageParam) {
	left := 2
	for i := len(list) - 1; i >= 0 && left > 0; i-- {
		user := list[i].OfUser
		if user == nil {
			continue
		}
		last := &user.Content[len(user.Content)-1]
		switch {
		case last.OfText != nil:
			last.OfText.CacheControl = sdk.NewCacheControlEphemeralParam()
		case last.OfToolResult != nil:
			last.OfToolResult.CacheControl = sdk.NewCacheControlEphemeralParam()
		}
		left--
	}
}
