package anthropic

import (
	"encoding/json"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/jsonstream"
)

// body is the request with cache breakpoints on the last tool, the last system
// block and the last two user messages, so that one miss does not lose all.
// Four is the API's limit.
func (d *Driver) body(req model.Request) ([]byte, error) {
	list := messages(req.Messages, d.Name())
	markForCache(list)
	return jsonstream.Body(d.params(req), map[string]any{"stream": true}, "messages", list)
}

// params are all of a request but its messages.
func (d *Driver) params(req model.Request) sdk.MessageNewParams {
	p := sdk.MessageNewParams{
		Model:     d.cfg.Model,
		MaxTokens: defaultMaxTokens,
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
