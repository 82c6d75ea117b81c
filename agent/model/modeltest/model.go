package modeltest

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

// Model is a [model.Model] that plays a script in process. It is safe for
// concurrent use.
type Model struct {
	script
}

// New makes a model that answers the n-th request by the n-th step and fails
// for good when there are no more.
func New(steps ...Step) *Model { return &Model{script: script{steps: steps}} }

// Name is "modeltest/script".
func (m *Model) Name() string { return "modeltest/script" }

// Complete plays the next step. A transcript that services would refuse fails
// and is kept in Violations.
func (m *Model) Complete(ctx context.Context, req model.Request) (model.Response, error) {
	if err := ctx.Err(); err != nil {
		return model.Response{}, err
	}
	if err := Check(req.Messages); err != nil {
		m.violate(err)
		return model.Response{}, &model.Error{Class: model.ClassFatal, Status: http.StatusBadRequest, Message: err.Error()}
	}
	seen := Request{Protocol: "model", System: strings.Join(req.System, "\n\n"), Messages: append([]model.Message(nil), req.Messages...), NoCalls: req.NoCalls}
	for _, t := range req.Tools {
		seen.Tools = append(seen.Tools, t.Name)
	}
	reply, ok := m.take(seen)
	if !ok {
		return model.Response{}, &model.Error{Class: model.ClassFatal, Message: "the script is at its end"}
	}
	return reply.dressed(seen).response(ctx)
}

// response is the reply as a driver would return it.
func (r Reply) response(ctx context.Context) (model.Response, error) {
	switch r.Fault {
	case FaultStatus, FaultPage:
		return model.Response{}, model.FromStatus(r.Status, r.Message, r.RetryAfter, nil)
	case FaultCutStream, FaultCutEnd, FaultMalformed, FaultStreamError:
		return model.Response{}, model.FromTransport(ctx, model.ErrCutStream)
	case FaultOverflow, FaultSilentCut:
		return model.Response{}, &model.Error{Class: model.ClassOverflow, Status: http.StatusBadRequest, Message: "prompt is too long"}
	case FaultSilent:
		return silent(ctx)
	}
	res := model.Response{Message: model.Message{Role: model.RoleAssistant}, StopReason: r.stopReason(), Usage: r.Usage, Model: "modeltest/script"}
	if r.Fault == FaultStopCut {
		res.StopReason = model.StopMaxTokens // as the drivers find out
	}
	if r.Text != "" {
		res.Message.Parts = append(res.Message.Parts, model.Part{Kind: model.PartText, Text: r.Text})
	}
	for i, c := range r.Calls {
		cut := r.cutsArguments() && i == len(r.Calls)-1
		args := c.arguments()
		if cut {
			args = args[:len(args)/2]
		}
		if r.Fault == FaultMissingIDs {
			c.ID = ""
		}
		res.Message.Parts = append(res.Message.Parts, model.Part{Kind: model.PartToolCall,
			Call: &model.ToolCall{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(args), Cut: cut}})
	}
	return res, nil
}

func (r Reply) stopReason() model.StopReason {
	switch {
	case r.Fault == FaultMaxTokens:
		return model.StopMaxTokens
	case r.Fault == FaultRefusal:
		return model.StopRefusal
	case len(r.Calls) > 0:
		return model.StopToolUse
	}
	return model.StopEnd
}

// silent waits for the caller to give up, at most a minute.
func silent(ctx context.Context) (model.Response, error) {
	t := time.NewTimer(time.Minute)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return model.Response{}, ctx.Err()
	case <-t.C:
		return model.Response{}, model.FromTransport(ctx, model.ErrCutStream)
	}
}
