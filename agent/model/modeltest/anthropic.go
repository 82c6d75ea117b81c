package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

// anthropicRequest is what is accepted of
// https://docs.anthropic.com/en/api/messages.
type anthropicRequest struct {
	Model     string `json:"model"`
	MaxTokens int    `json:"max_tokens"`
	Stream    bool   `json:"stream"`
	System    []struct {
		Type  string          `json:"type"`
		Text  string          `json:"text"`
		Cache json.RawMessage `json:"cache_control"`
	} `json:"system"`
	Messages []struct {
		Role    string           `json:"role"`
		Content []anthropicBlock `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
		Cache       json.RawMessage `json:"cache_control"`
	} `json:"tools"`
	ToolChoice *struct {
		Type string `json:"type"`
	} `json:"tool_choice"`
	OutputConfig json.RawMessage `json:"output_config"`
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   resultText      `json:"content"`
	IsError   bool            `json:"is_error"`
	Cache     json.RawMessage `json:"cache_control"`
}

// resultText is a text or a list of text blocks.
type resultText string

func (r *resultText) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*r = resultText(text)
		return nil
	}
	var blocks []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := decode(raw, &blocks); err != nil {
		return err
	}
	for _, b := range blocks {
		if b.Type != "text" {
			return fmt.Errorf("a result has a block of type %q", b.Type)
		}
		*r += resultText(b.Text)
	}
	return nil
}

// signature is what this server signs its thinking with.
func signature(thinking string) string { return fmt.Sprintf("sig+/=%d", len(thinking)) }

func readAnthropic(body []byte) (Request, error) {
	var in anthropicRequest
	if err := decode(body, &in); err != nil {
		return Request{}, err
	}
	req := Request{Protocol: ProtocolAnthropic, NoCalls: in.ToolChoice != nil && in.ToolChoice.Type == "none", MaxOutput: in.MaxTokens}
	if in.Model == "" || in.MaxTokens <= 0 || !in.Stream {
		return req, errors.New("model, max_tokens and stream are required")
	}
	breakpoints := 0
	for _, s := range in.System {
		req.System += s.Text
		breakpoints += marked(s.Cache)
	}
	for _, t := range in.Tools {
		if err := checkSchema(t.Name, t.Schema); err != nil {
			return req, err
		}
		req.Tools = append(req.Tools, t.Name)
		breakpoints += marked(t.Cache)
	}
	var j joiner
	for i, m := range in.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			return req, fmt.Errorf("message %d: role is %s with %d blocks, want %s", i, m.Role, len(m.Content), want)
		}
		for n, b := range m.Content {
			breakpoints += marked(b.Cache)
			if err := j.block(m.Role, b, n); err != nil {
				return req, fmt.Errorf("message %d: %w", i, err)
			}
		}
	}
	if breakpoints > 4 {
		return req, fmt.Errorf("%d cache breakpoints, at most 4 are allowed", breakpoints)
	}
	req.Messages = j.messages
	return req, nil
}

func marked(cache json.RawMessage) int {
	if len(cache) > 0 {
		return 1
	}
	return 0
}

func (j *joiner) block(role string, b anthropicBlock, n int) error {
	switch b.Type {
	case "text":
		return j.text(model.Role(role), b.Text)
	case "thinking":
		if b.Signature != signature(b.Thinking) {
			return fmt.Errorf("thinking does not carry its signature")
		}
		j.add(model.RoleAssistant, model.Part{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: "anthropic", Data: []byte(b.Thinking)}})
	case "redacted_thinking":
		j.add(model.RoleAssistant, model.Part{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: "anthropic", Data: []byte(b.Data)}})
	case "tool_use":
		return j.call(b.ID, b.Name, string(b.Input))
	case "tool_result":
		if n > 0 && j.messages[len(j.messages)-1].Role == model.RoleUser {
			return errors.New("tool results must come before text")
		}
		j.result(b.ToolUseID, string(b.Content), b.IsError)
	default:
		return fmt.Errorf("unknown block type %q", b.Type)
	}
	return nil
}

func writeAnthropic(e *events, r Reply) {
	e.send("message_start", object{"type": "message_start", "message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []any{},
		"stop_reason": nil, "stop_sequence": nil,
		"usage": object{"input_tokens": r.Usage.Input, "cache_read_input_tokens": r.Usage.CacheRead,
			"cache_creation_input_tokens": r.Usage.CacheWrite, "output_tokens": 1}}})
	e.send("ping", object{"type": "ping"})
	index := 0
	block := func(start object, deltas ...object) {
		e.send("content_block_start", object{"type": "content_block_start", "index": index, "content_block": start})
		for _, d := range deltas {
			e.send("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d})
		}
		if r.Fault != FaultOpenBlock {
			e.send("content_block_stop", object{"type": "content_block_stop", "index": index})
		}
		index++
	}
	if r.Thinking != "" {
		block(object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": r.Thinking},
			object{"type": "signature_delta", "signature": signature(r.Thinking)})
	}
	if r.Redacted != "" {
		block(object{"type": "redacted_thinking", "data": r.Redacted})
	}
	if r.Text != "" {
		block(object{"type": "text", "text": ""}, deltas("text_delta", "text", r.Text)...)
	}
	for i, c := range r.Calls {
		args := c.arguments()
		if r.cutsArguments() && i == len(r.Calls)-1 {
			args = half(args)
		}
		start := object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}
		if r.Fault == FaultMissingIDs {
			start["id"] = ""
		}
		block(start, deltas("input_json_delta", "partial_json", args)...)
	}
	reason := r.StopWord
	if reason == "" {
		reason = map[model.StopReason]string{model.StopEnd: "end_turn", model.StopToolUse: "tool_use",
			model.StopMaxTokens: "max_tokens", model.StopRefusal: "refusal"}[r.stopReason()]
	}
	e.atEnd()
	e.send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": reason, "stop_sequence": nil},
		"usage": object{"output_tokens": r.Usage.Output}})
	e.send("message_stop", object{"type": "message_stop"})
}

func deltas(kind, field, text string) []object {
	var out []object
	for _, p := range pieces(text) {
		out = append(out, object{"type": kind, field: p})
	}
	return out
}

func failAnthropic(status int, message string, _ time.Duration) any {
	kind := map[int]string{http.StatusBadRequest: "invalid_request_error", http.StatusUnauthorized: "authentication_error",
		http.StatusTooManyRequests: "rate_limit_error", 529: "overloaded_error"}[status]
	if kind == "" {
		kind = "api_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}
