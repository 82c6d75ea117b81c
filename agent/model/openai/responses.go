package openai

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/greenwright/greenwright/agent/model"
)

// responsesProvider tags the reasoning items of this protocol.
const responsesProvider = "openai/responses"

func (d *Driver) completeResponses(ctx context.Context, dog *model.Watchdog, req model.Request) (model.Response, error) {
	stream := d.responses.NewStreaming(ctx, d.responsesParams(req))
	defer stream.Close()
	c := responsesCollector{items: make(map[int64]*responseItem)}
	for stream.Next() {
		dog.Feed()
		if err := c.add(stream.Current()); err != nil {
			return model.Response{}, err
		}
	}
	if err := stream.Err(); err != nil {
		return model.Response{}, classify(ctx, err)
	}
	if !c.ended {
		return model.Response{}, model.FromTransport(ctx, model.ErrCutStream)
	}
	return c.response(), nil
}

// responsesParams maps a request. Nothing is stored on the server, so OpenAI
// is asked for its reasoning in encrypted form; other servers do not know that.
func (d *Driver) responsesParams(req model.Request) responses.ResponseNewParams {
	p := responses.ResponseNewParams{
		Model: d.cfg.Model,
		Store: sdk.Bool(false),
	}
	if d.official {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if system := strings.Join(req.System, "\n\n"); system != "" {
		p.Instructions = sdk.String(system)
	}
	for _, m := range req.Messages {
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, inputItems(m)...)
	}
	for _, t := range req.Tools {
		tool := responses.ToolParamOfFunction(t.Name, parameters(t.Schema), false)
		tool.OfFunction.Description = sdk.String(t.Description)
		p.Tools = append(p.Tools, tool)
	}
	if req.NoCalls && len(p.Tools) > 0 {
		p.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptionsNone)
	}
	if req.MaxOutputTokens > 0 {
		p.MaxOutputTokens = sdk.Int(int64(req.MaxOutputTokens))
	}
	if d.cfg.Effort != "" {
		p.Reasoning.Effort = shared.ReasoningEffort(d.cfg.Effort)
	}
	return p
}

// inputItems maps the parts of a message. Reasoning goes back only when
// something of the same reply follows it: trailing, the server refuses it.
func inputItems(m model.Message) []responses.ResponseInputItemUnionParam {
	var items []responses.ResponseInputItemUnionParam
	for i, part := range m.Parts {
		switch part.Kind {
		case model.PartText:
			if part.Text != "" {
				items = append(items, responses.ResponseInputItemParamOfMessage(part.Text, easyRole(m.Role)))
			}
		case model.PartThinking:
			if part.Thinking.Provider == responsesProvider && followed(m.Parts[i+1:]) {
				items = append(items, reasoning(part.Thinking.Data))
			}
		case model.PartToolCall:
			items = append(items, responses.ResponseInputItemParamOfFunctionCall(arguments(part.Call), part.Call.ID, part.Call.Name))
		case model.PartToolResult:
			item := responses.ResponseInputItemParamOfFunctionCallOutput(output(part.Result))
			item.OfFunctionCallOutput.CallID = sdk.String(part.Result.CallID)
			items = append(items, item)
		}
	}
	return items
}

func followed(rest []model.Part) bool {
	return slices.ContainsFunc(rest, func(p model.Part) bool {
		return p.Kind == model.PartToolCall || p.Kind == model.PartText && p.Text != ""
	})
}

// reasoning sends a stored item back byte for byte.
func reasoning(data []byte) responses.ResponseInputItemUnionParam {
	item := param.Override[responses.ResponseReasoningItemParam](json.RawMessage(data))
	return responses.ResponseInputItemUnionParam{OfReasoning: &item}
}

func easyRole(r model.Role) responses.EasyInputMessageRole {
	if r == model.RoleAssistant {
		return responses.EasyInputMessageRoleAssistant
	}
	return responses.EasyInputMessageRoleUser
}
