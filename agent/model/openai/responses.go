package openai

import (
	"context"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/jsonstream"
)

// responsesTag tags the reasoning items of this protocol: another protocol, or
// another model, cannot read them.
func (d *Driver) responsesTag() string { return "openai/responses/" + d.cfg.Model }

func (d *Driver) completeResponses(ctx context.Context, dog *model.Watchdog, req model.Request) (model.Response, error) {
	body, err := d.responsesBody(req)
	if err != nil {
		return model.Response{}, &model.Error{Class: model.ClassFatal, Message: err.Error(), Err: err}
	}
	stream := d.responses.NewStreaming(ctx, responses.ResponseNewParams{}, option.WithRequestBody("application/json", body))
	defer stream.Close()
	c := responsesCollector{provider: d.responsesTag(), items: make(map[int64]*responseItem)}
	for !c.guard.Stopped() && stream.Next() {
		dog.Feed()
		if err := c.add(stream.Current()); err != nil {
			return model.Response{}, err
		}
	}
	if err := stream.Err(); err != nil {
		return model.Response{}, classify(ctx, err)
	}
	if !c.ended && !c.guard.Stopped() {
		return model.Response{}, model.FromTransport(ctx, model.ErrCutStream)
	}
	r := c.response()
	d.findCalls(&r, req)
	model.CutLast(&r)
	c.guard.Apply(&r, req)
	return model.Seal(r, req, d.Name(), d.cfg.Window)
}

// responsesBody maps a request. Nothing is stored on the server, so its
// reasoning is asked for in encrypted form where it has one.
func (d *Driver) responsesBody(req model.Request) ([]byte, error) {
	p := responses.ResponseNewParams{Model: d.cfg.Model, Store: sdk.Bool(false)}
	if model.Is(d.can.EncryptedReasoning) {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	system := req.System
	if len(req.Tools) > 0 && !model.Is(d.can.Tools) {
		req.Messages = inText(req.Messages)
		if !req.NoCalls {
			system = append(system[:len(system):len(system)], describe(req.Tools))
		}
		req.Tools = nil
	}
	if text := strings.Join(system, "\n\n"); text != "" {
		p.Instructions = sdk.String(text)
	}
	d.responsesTools(&p, req)
	if req.MaxOutputTokens > 0 {
		p.MaxOutputTokens = sdk.Int(int64(req.MaxOutputTokens))
	}
	if d.cfg.Effort != "" {
		p.Reasoning.Effort = shared.ReasoningEffort(d.cfg.Effort)
	}
	var list []inputItem
	for _, m := range req.Messages {
		list = append(list, d.inputItems(m)...)
	}
	if model.Is(d.can.StrictAdjacency) {
		list = adjacent(list)
	}
	return jsonstream.Body(p, map[string]any{"stream": true}, "input", wire(list))
}

func (d *Driver) responsesTools(p *responses.ResponseNewParams, req model.Request) {
	for _, t := range req.Tools {
		tool := responses.ToolParamOfFunction(t.Name, parameters(t.Schema), false)
		tool.OfFunction.Description = sdk.String(t.Description)
		p.Tools = append(p.Tools, tool)
	}
	if len(p.Tools) == 0 {
		return
	}
	if req.NoCalls {
		p.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptionsNone)
	}
	if d.can.ParallelCalls != nil {
		p.ParallelToolCalls = sdk.Bool(*d.can.ParallelCalls)
	}
}
