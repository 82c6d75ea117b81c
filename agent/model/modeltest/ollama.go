package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

// ollamaRequest is what is accepted of POST /api/chat,
// https://github.com/ollama/ollama/blob/main/docs/api.md.
type ollamaRequest struct {
	Model    string          `json:"model"`
	Messages []ollamaMessage `json:"messages"`
	Tools    []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Stream    bool            `json:"stream"`
	Think     json.RawMessage `json:"think"`
	KeepAlive string          `json:"keep_alive"`
	Truncate  bool            `json:"truncate"`
	Shift     bool            `json:"shift"`
	Options   struct {
		NumCtx     int `json:"num_ctx"`
		NumPredict int `json:"num_predict"`
	} `json:"options"`
}

type ollamaMessage struct {
	Role       string       `json:"role"`
	Content    string       `json:"content"`
	Thinking   string       `json:"thinking"`
	ToolName   string       `json:"tool_name"`
	ToolCallID string       `json:"tool_call_id"`
	ToolCalls  []ollamaCall `json:"tool_calls"`
}

type ollamaCall struct {
	ID       string `json:"id,omitempty"`
	Function struct {
		Index     int             `json:"index"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

func readOllama(body []byte) (Request, error) {
	var in ollamaRequest
	if err := decode(body, &in); err != nil {
		return Request{}, err
	}
	req := Request{Protocol: ProtocolOllama, NoCalls: len(in.Tools) == 0, MaxOutput: in.Options.NumPredict, Window: in.Options.NumCtx}
	if in.Model == "" || !in.Stream || in.Options.NumCtx <= 0 {
		return req, errors.New("model, stream and options.num_ctx are required")
	}
	for _, t := range in.Tools {
		if err := checkSchema(t.Function.Name, t.Function.Parameters); err != nil || t.Type != "function" {
			return req, fmt.Errorf("tool of type %q: %w", t.Type, err)
		}
		req.Tools = append(req.Tools, t.Function.Name)
	}
	j := joiner{names: make(map[string]string)}
	for i, m := range in.Messages {
		if m.Role == "system" {
			req.System += m.Content
			continue
		}
		if err := j.ollama(m); err != nil {
			return req, fmt.Errorf("message %d: %w", i, err)
		}
	}
	req.Messages = j.messages
	return req, nil
}

func (j *joiner) ollama(m ollamaMessage) error {
	switch m.Role {
	case "user":
		return j.text(model.RoleUser, m.Content)
	case "tool":
		if j.names[m.ToolCallID] != m.ToolName {
			return fmt.Errorf("a result for %q names the tool %q", m.ToolCallID, m.ToolName)
		}
		j.result(m.ToolCallID, m.Content, false)
	case "assistant":
		if m.Thinking != "" {
			j.add(model.RoleAssistant, model.Part{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: ProtocolOllama, Data: []byte(m.Thinking)}})
		}
		if m.Content != "" {
			j.add(model.RoleAssistant, model.Part{Kind: model.PartText, Text: m.Content})
		}
		for _, c := range m.ToolCalls {
			if !strings.HasPrefix(string(c.Function.Arguments), "{") {
				return fmt.Errorf("arguments of %s are no object", c.Function.Name)
			}
			j.names[c.ID] = c.Function.Name
			if err := j.call(c.ID, c.Function.Name, string(c.Function.Arguments)); err != nil {
				return err
			}
		}
	default:
		return fmt.Errorf("unknown role %q", m.Role)
	}
	return nil
}

func writeOllama(e *events, r Reply) {
	line := func(message object) object {
		message["role"] = "assistant"
		return object{"model": "scripted", "created_at": time.Unix(0, 0).UTC(), "message": message, "done": false}
	}
	for _, p := range pieces(r.Thinking) {
		if p != "" {
			e.send("", line(object{"content": "", "thinking": p}))
		}
	}
	for _, p := range pieces(r.Text) {
		if p != "" {
			e.send("", line(object{"content": p}))
		}
	}
	for i, c := range r.Calls {
		call := ollamaCall{ID: c.ID}
		if r.Fault == FaultMissingIDs {
			call.ID = ""
		}
		call.Function.Index, call.Function.Name, call.Function.Arguments = i, c.Name, embed(c.arguments())
		e.send("", line(object{"content": "", "tool_calls": []any{call}}))
	}
	reason, prompt := "stop", r.Usage.InputTotal()
	if r.Fault == FaultMaxTokens {
		reason = "length"
	}
	if r.Fault == FaultSilentCut {
		prompt = int64(r.window - 1)
	}
	last := line(object{"content": ""})
	last["done"], last["done_reason"] = true, reason
	last["prompt_eval_count"], last["eval_count"] = prompt, r.Usage.Output
	e.atEnd()
	e.send("", last)
}

// embed is arguments as a value of their own: an object if they are JSON, else
// the text, as servers with a poor parser send it.
func embed(args string) json.RawMessage {
	if json.Valid([]byte(args)) {
		return json.RawMessage(args)
	}
	text, err := json.Marshal(args)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

func failOllama(_ int, message string, _ time.Duration) any { return object{"error": message} }
