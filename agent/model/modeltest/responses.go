package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/agent/model"
)

// responsesRequest is what is accepted of
// https://platform.openai.com/docs/api-reference/responses/create.
type responsesRequest struct {
	Model           string          `json:"model"`
	Stream          bool            `json:"stream"`
	Store           *bool           `json:"store"`
	Include         []string        `json:"include"`
	Instructions    string          `json:"instructions"`
	MaxOutputTokens int             `json:"max_output_tokens"`
	Reasoning       json.RawMessage `json:"reasoning"`
	ToolChoice      json.RawMessage `json:"tool_choice"`
	Input           []responsesItem `json:"input"`
	Tools           []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"`
	} `json:"tools"`
}

type responsesItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    string          `json:"output"`
	Summary   json.RawMessage `json:"summary"`
	Encrypted string          `json:"encrypted_content"`
}

func readResponses(body []byte) (Request, error) {
	var in responsesRequest
	if err := decode(body, &in); err != nil {
		return Request{}, err
	}
	req := Request{Protocol: ProtocolResponses, MaxOutput: in.MaxOutputTokens, System: in.Instructions, NoCalls: string(in.ToolChoice) == `"none"`}
	if in.Model == "" || !in.Stream || in.Store == nil || *in.Store {
		return req, errors.New("model and stream are required, and store must be false")
	}
	for _, t := range in.Tools {
		if err := checkSchema(t.Name, t.Parameters); err != nil {
			return req, err
		}
		req.Tools = append(req.Tools, t.Name)
	}
	var j joiner
	for i, item := range in.Input {
		if err := j.item(item, in.Input[i+1:]); err != nil {
			return req, fmt.Errorf("item %d: %w", i, err)
		}
	}
	req.Messages = j.messages
	return req, nil
}

func (j *joiner) item(item responsesItem, rest []responsesItem) error {
	switch item.Type {
	case "", "message":
		var text string
		if err := json.Unmarshal(item.Content, &text); err != nil {
			return fmt.Errorf("content: %w", err)
		}
		return j.text(model.Role(item.Role), text)
	case "function_call":
		return j.call(item.CallID, item.Name, item.Arguments)
	case "function_call_output":
		j.result(item.CallID, item.Output, false)
	case "reasoning":
		if len(rest) == 0 || rest[0].Type == "function_call_output" || rest[0].Role == "user" {
			return errors.New("reasoning was provided without its required following item")
		}
		j.add(model.RoleAssistant, model.Part{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: "openai/responses", Data: []byte(item.Encrypted)}})
	default:
		return fmt.Errorf("unknown item type %q", item.Type)
	}
	return nil
}

// responsesWriter numbers the items of one reply.
type responsesWriter struct {
	e     *events
	index int
}

func (w *responsesWriter) item(added, done object, delta func()) {
	w.e.send("response.output_item.added", object{"type": "response.output_item.added", "output_index": w.index, "item": added})
	delta()
	if done != nil {
		w.e.send("response.output_item.done", object{"type": "response.output_item.done", "output_index": w.index, "item": done})
	}
	w.index++
}

func (w *responsesWriter) delta(kind, text string) {
	for _, p := range pieces(text) {
		w.e.send(kind, object{"type": kind, "output_index": w.index, "delta": p})
	}
}

func writeResponses(e *events, r Reply) {
	e.send("response.created", object{"type": "response.created", "response": object{"id": "resp_1", "status": "in_progress", "output": []any{}}})
	w := &responsesWriter{e: e}
	if r.Thinking != "" {
		item := object{"type": "reasoning", "id": "rs_1", "summary": []any{}, "encrypted_content": r.Thinking}
		w.item(item, item, func() {})
	}
	if r.Text != "" || r.Fault == FaultRefusal {
		content := object{"type": "output_text", "text": r.Text, "annotations": []any{}}
		if r.Fault == FaultRefusal {
			content = object{"type": "refusal", "refusal": "declined by policy"}
		}
		w.item(object{"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []any{}},
			object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{content}},
			func() { w.delta("response.output_text.delta", r.Text) })
	}
	for i, c := range r.Calls {
		w.call(r, c, i == len(r.Calls)-1)
	}
	kind, status, details := "response.completed", "completed", any(nil)
	if r.Fault == FaultMaxTokens {
		kind, status, details = "response.incomplete", "incomplete", object{"reason": "max_output_tokens"}
	}
	e.atEnd()
	prompt := r.Usage.InputTotal()
	e.send(kind, object{"type": kind, "response": object{"id": "resp_1", "status": status, "incomplete_details": details, "output": []any{},
		"usage": object{"input_tokens": prompt, "input_tokens_details": object{"cached_tokens": r.Usage.CacheRead},
			"output_tokens": r.Usage.Output, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": prompt + r.Usage.Output}}})
}

func (w *responsesWriter) call(r Reply, c Call, last bool) {
	args, id := c.arguments(), c.ID
	if r.Fault == FaultMissingIDs {
		id = ""
	}
	item := func(args, status string) object {
		return object{"type": "function_call", "id": "fc_1", "call_id": id, "name": c.Name, "arguments": args, "status": status}
	}
	done := item(args, "completed")
	if r.cutsArguments() && last {
		args, done = half(args), nil
	}
	w.item(item("", "in_progress"), done, func() { w.delta("response.function_call_arguments.delta", args) })
}
