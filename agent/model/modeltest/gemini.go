package modeltest

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

// geminiRequest is what is accepted of streamGenerateContent,
// https://ai.google.dev/api/generate-content.
type geminiRequest struct {
	System   *geminiContent  `json:"systemInstruction"`
	Contents []geminiContent `json:"contents"`
	Tools    []struct {
		Functions []struct {
			Name        string        `json:"name"`
			Description string        `json:"description"`
			Parameters  *geminiSchema `json:"parameters"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	ToolConfig struct {
		Calling struct {
			Mode string `json:"mode"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Generation struct {
		MaxOutputTokens int             `json:"maxOutputTokens"`
		Thinking        json.RawMessage `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text      *string `json:"text"`
	Signature string  `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string            `json:"id"`
		Name     string            `json:"name"`
		Response map[string]string `json:"response"`
	} `json:"functionResponse"`
}

// geminiSchema is the subset of a schema that the API takes; anything else is
// an unknown field.
type geminiSchema struct {
	Type          string                   `json:"type"`
	Title         string                   `json:"title"`
	Description   string                   `json:"description"`
	Format        string                   `json:"format"`
	Nullable      bool                     `json:"nullable"`
	Enum          []string                 `json:"enum"`
	Items         *geminiSchema            `json:"items"`
	Properties    map[string]*geminiSchema `json:"properties"`
	Ordering      []string                 `json:"propertyOrdering"`
	Required      []string                 `json:"required"`
	AnyOf         []*geminiSchema          `json:"anyOf"`
	MinItems      int                      `json:"minItems"`
	MaxItems      int                      `json:"maxItems"`
	MinProperties int                      `json:"minProperties"`
	MaxProperties int                      `json:"maxProperties"`
	MinLength     int                      `json:"minLength"`
	MaxLength     int                      `json:"maxLength"`
	Pattern       string                   `json:"pattern"`
	Minimum       float64                  `json:"minimum"`
	Maximum       float64                  `json:"maximum"`
	Default       any                      `json:"default"`
}

func readGemini(body []byte) (Request, error) {
	var in geminiRequest
	if err := decode(body, &in); err != nil {
		return Request{}, err
	}
	req := Request{Protocol: ProtocolGemini, NoCalls: in.ToolConfig.Calling.Mode == "NONE", MaxOutput: in.Generation.MaxOutputTokens}
	if in.System != nil {
		for _, p := range in.System.Parts {
			if p.Text != nil {
				req.System += *p.Text
			}
		}
	}
	for _, t := range in.Tools {
		for _, f := range t.Functions {
			if f.Name == "" || f.Parameters != nil && (f.Parameters.Type != "OBJECT" || len(f.Parameters.Properties) == 0) {
				return req, fmt.Errorf("parameters of %q should be a non-empty OBJECT", f.Name)
			}
			req.Tools = append(req.Tools, f.Name)
		}
	}
	var j geminiJoiner
	for i, c := range in.Contents {
		if want := []string{"user", "model"}[i%2]; c.Role != want || len(c.Parts) == 0 {
			return req, fmt.Errorf("content %d: role is %s with %d parts, want %s", i, c.Role, len(c.Parts), want)
		}
		if err := j.content(c); err != nil {
			return req, fmt.Errorf("content %d: %w", i, err)
		}
	}
	req.Messages = j.messages
	return req, nil
}

// geminiJoiner pairs results with calls by order and name, as the API does.
type geminiJoiner struct {
	joiner
	open []model.ToolCall // of the last reply, not yet answered
	made int
}

func (j *geminiJoiner) content(c geminiContent) error {
	responses := 0
	for _, p := range c.Parts {
		switch {
		case p.Response != nil:
			responses++
			if err := j.response(p); err != nil {
				return err
			}
		case p.Call != nil:
			if err := j.functionCall(p); err != nil {
				return err
			}
		case p.Text != nil:
			j.signed(p.Signature)
			if *p.Text == "" && p.Signature == "" {
				return errors.New("a part without data")
			}
			if *p.Text != "" {
				j.add(map[string]model.Role{"user": model.RoleUser, "model": model.RoleAssistant}[c.Role], model.Part{Kind: model.PartText, Text: *p.Text})
			}
		default:
			return errors.New("a part without data")
		}
	}
	if c.Role == "user" && len(j.open) > 0 {
		return fmt.Errorf("the number of function response parts (%d) is not that of the function call parts of the turn before", responses)
	}
	return nil
}

// signed keeps what a signature holds, as the thinking that it stands for.
func (j *geminiJoiner) signed(signature string) (name string) {
	data, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || signature == "" {
		return ""
	}
	thought, name, _ := strings.Cut(string(data), "\x00")
	j.add(model.RoleAssistant, model.Part{Kind: model.PartThinking, Thinking: &model.Thinking{Provider: ProtocolGemini, Data: []byte(thought)}})
	return name
}

func (j *geminiJoiner) functionCall(p geminiPart) error {
	if name := j.signed(p.Signature); name != "" && name != p.Call.Name {
		return fmt.Errorf("the call of %s carries the thought signature of %s", p.Call.Name, name)
	}
	if j.made++; p.Call.ID == "" {
		p.Call.ID = fmt.Sprintf("order_%d", j.made)
	}
	if len(p.Call.Args) == 0 {
		p.Call.Args = json.RawMessage("{}")
	}
	j.open = append(j.open, model.ToolCall{ID: p.Call.ID, Name: p.Call.Name})
	return j.call(p.Call.ID, p.Call.Name, string(p.Call.Args))
}

func (j *geminiJoiner) response(p geminiPart) error {
	if len(j.open) == 0 {
		return errors.New("a function response without its call in the turn before")
	}
	call := j.open[0]
	j.open = j.open[1:]
	if call.Name != p.Response.Name || p.Response.ID != "" && p.Response.ID != call.ID {
		return fmt.Errorf("a response of %s %s stands where one of %s %s is due", p.Response.Name, p.Response.ID, call.Name, call.ID)
	}
	text, failed := p.Response.Response["output"], false
	if t, ok := p.Response.Response["error"]; ok {
		text, failed = t, true
	}
	j.result(call.ID, text, failed)
	return nil
}

func writeGemini(e *events, r Reply) {
	send := func(parts []any, finish string) {
		candidate := object{"content": object{"role": "model", "parts": parts}, "index": 0}
		if finish != "" {
			candidate["finishReason"] = finish
		}
		e.send("", object{"candidates": []any{candidate}, "modelVersion": "scripted", "usageMetadata": object{
			"promptTokenCount": r.Usage.InputTotal(), "cachedContentTokenCount": r.Usage.CacheRead,
			"candidatesTokenCount": r.Usage.Output - r.Usage.Output/2, "thoughtsTokenCount": r.Usage.Output / 2}})
	}
	for _, p := range pieces(r.Text) {
		if p != "" {
			send([]any{object{"text": p}}, "")
		}
	}
	for i, c := range r.Calls {
		call := object{"name": c.Name, "args": embed(c.arguments())}
		if r.Fault != FaultMissingIDs {
			call["id"] = c.ID
		}
		part := object{"functionCall": call}
		if i == 0 && r.Thinking != "" {
			part["thoughtSignature"] = base64.StdEncoding.EncodeToString([]byte(r.Thinking + "\x00" + c.Name))
		}
		send([]any{part}, "")
	}
	last := []any{}
	if len(r.Calls) == 0 && r.Thinking != "" {
		last = append(last, object{"text": "", "thoughtSignature": base64.StdEncoding.EncodeToString([]byte(r.Thinking))})
	}
	e.atEnd()
	send(last, map[model.StopReason]string{model.StopEnd: "STOP", model.StopToolUse: "STOP",
		model.StopMaxTokens: "MAX_TOKENS", model.StopRefusal: "SAFETY"}[r.stopReason()])
}

func failGemini(status int, message string, retryAfter time.Duration) any {
	name := map[int]string{http.StatusBadRequest: "INVALID_ARGUMENT", http.StatusTooManyRequests: "RESOURCE_EXHAUSTED",
		http.StatusServiceUnavailable: "UNAVAILABLE", http.StatusInternalServerError: "INTERNAL"}[status]
	details := []any{}
	if retryAfter > 0 {
		details = append(details, object{"@type": "type.googleapis.com/google.rpc.RetryInfo",
			"retryDelay": fmt.Sprintf("%gs", retryAfter.Seconds())})
	}
	return object{"error": object{"code": status, "message": message, "status": name, "details": details}}
}
