package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

// chatRequest is what is accepted of
// https://platform.openai.com/docs/api-reference/chat/create.
type chatRequest struct {
	Model               string          `json:"model"`
	Stream              bool            `json:"stream"`
	StreamOptions       json.RawMessage `json:"stream_options"`
	MaxTokens           int             `json:"max_tokens"`
	MaxCompletionTokens int             `json:"max_completion_tokens"`
	ReasoningEffort     string          `json:"reasoning_effort"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	ParallelToolCalls   *bool           `json:"parallel_tool_calls"`
	Messages            []chatMessage   `json:"messages"`
	Tools               []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

type chatMessage struct {
	Role       string `json:"role"`
	Content    string `json:"content"`
	Reasoning  string `json:"reasoning_content"`
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func readChat(body []byte) (Request, error) {
	var in chatRequest
	if err := decode(body, &in); err != nil {
		return Request{}, err
	}
	req := Request{Protocol: ProtocolChat, NoCalls: string(in.ToolChoice) == `"none"`, MaxOutput: max(in.MaxTokens, in.MaxCompletionTokens)}
	if in.Model == "" || !in.Stream {
		return req, errors.New("model and stream are required")
	}
	for _, t := range in.Tools {
		if err := checkSchema(t.Function.Name, t.Function.Parameters); err != nil || t.Type != "function" {
			return req, fmt.Errorf("tool of type %q: %w", t.Type, err)
		}
		req.Tools = append(req.Tools, t.Function.Name)
	}
	var j joiner
	for i, m := range in.Messages {
		if m.Role == "system" || m.Role == "developer" {
			req.System += m.Content
			continue
		}
		if err := j.chat(m); err != nil {
			return req, fmt.Errorf("message %d: %w", i, err)
		}
	}
	req.Messages = j.messages
	return req, nil
}

func (j *joiner) chat(m chatMessage) error {
	switch m.Role {
	case "user":
		return j.text(model.RoleUser, m.Content)
	case "tool":
		j.result(m.ToolCallID, m.Content, false)
	case "assistant":
		if m.Reasoning != "" {
			j.add(model.RoleAssistant, model.Part{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: ProtocolChat, Data: []byte(m.Reasoning)}})
		}
		if m.Content != "" {
			j.add(model.RoleAssistant, model.Part{Kind: model.PartText, Text: m.Content})
		}
		for _, c := range m.ToolCalls {
			if err := j.call(c.ID, c.Function.Name, c.Function.Arguments); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	return nil
}

func writeChat(e *events, r Reply) {
	chunk := func(delta object, finish any) {
		e.send("", object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted",
			"choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if r.Fault == FaultRefusal {
		chunk(object{"refusal": "declined by policy"}, nil)
	}
	if r.Thinking != "" {
		for _, p := range pieces(r.Thinking) {
			chunk(object{"reasoning_content": p}, nil)
		}
	}
	if r.Text != "" && r.Fault != FaultRefusal {
		for _, p := range pieces(r.Text) {
			chunk(object{"content": p}, nil)
		}
	}
	for i, c := range r.Calls {
		writeChatCall(chunk, r, i, c)
	}
	finish := map[model.StopReason]string{model.StopEnd: "stop", model.StopToolUse: "tool_calls",
		model.StopMaxTokens: "length", model.StopRefusal: "stop"}[r.stopReason()]
	e.atEnd()
	chunk(object{}, finish)
	prompt := r.Usage.InputTotal()
	e.send("", object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": []any{},
		"usage": object{"prompt_tokens": prompt, "completion_tokens": r.Usage.Output, "total_tokens": prompt + r.Usage.Output,
			"prompt_tokens_details": object{"cached_tokens": r.Usage.CacheRead}}})
	if !e.ended {
		e.raw("", []byte("[DONE]"))
	}
}

// writeChatCall writes a call as some servers do: those that send no ids
// repeat index 0 as well.
func writeChatCall(chunk func(object, any), r Reply, i int, c Call) {
	args := c.arguments()
	if r.cutsArguments() && i == len(r.Calls)-1 {
		args = half(args)
	}
	first := object{"index": i, "id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": ""}}
	if r.Fault == FaultMissingIDs {
		delete(first, "id")
		i = 0
		first["index"] = i
	}
	chunk(object{"tool_calls": []any{first}}, nil)
	for _, p := range pieces(args) {
		chunk(object{"tool_calls": []any{object{"index": i, "function": object{"arguments": p}}}}, nil)
	}
}

func failOpenAI(status int, message string, _ time.Duration) any {
	return object{"error": object{"message": message, "type": "error", "param": nil, "code": fmt.Sprint(status)}}
}
