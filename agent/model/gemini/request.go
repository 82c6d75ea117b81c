package gemini

import (
	"encoding/json"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
)

// The roles of the API.
const (
	roleUser  = "user"
	roleModel = "model"
)

// request is the body of streamGenerateContent.
type request struct {
	System     *content    `json:"systemInstruction,omitempty"`
	Tools      []tools     `json:"tools,omitempty"`
	ToolConfig *toolConfig `json:"toolConfig,omitempty"`
	Generation generation  `json:"generationConfig"`
	// Contents come last, so that requests of one run begin alike.
	Contents []content `json:"contents"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part is one piece of a content; one of its fields is set, beside the flags.
type part struct {
	Text      *string           `json:"text,omitempty"`
	Thought   bool              `json:"thought,omitempty"`
	Signature string            `json:"thoughtSignature,omitempty"`
	Call      *functionCall     `json:"functionCall,omitempty"`
	Response  *functionResponse `json:"functionResponse,omitempty"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type functionResponse struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

type tools struct {
	Functions []declaration `json:"functionDeclarations"`
}

type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type toolConfig struct {
	Calling struct {
		Mode string `json:"mode"`
	} `json:"functionCallingConfig"`
}

type generation struct {
	MaxOutputTokens int       `json:"maxOutputTokens,omitempty"`
	Thinking        *thinking `json:"thinkingConfig,omitempty"`
}

type thinking struct {
	Level string `json:"thinkingLevel"`
}

func (d *Driver) request(req model.Request) request {
	var out request
	for _, text := range req.System {
		if text != "" {
			if out.System == nil {
				out.System = &content{}
			}
			out.System.Parts = append(out.System.Parts, part{Text: &text})
		}
	}
	out.Contents = d.contents(req.Messages)
	if len(req.Tools) > 0 {
		out.Tools = []tools{{Functions: declarations(req.Tools)}}
	}
	if req.NoCalls && len(req.Tools) > 0 {
		out.ToolConfig = &toolConfig{}
		out.ToolConfig.Calling.Mode = "NONE"
	}
	out.Generation.MaxOutputTokens = req.MaxOutputTokens
	if d.cfg.ThinkingLevel != "" {
		out.Generation.Thinking = &thinking{Level: d.cfg.ThinkingLevel}
	}
	return out
}

func declarations(specs []model.ToolSpec) []declaration {
	out := make([]declaration, len(specs))
	for i, s := range specs {
		out[i] = declaration{Name: s.Name, Description: s.Description, Parameters: Schema(s.Schema)}
	}
	return out
}

// contents maps the transcript; what one side says in several messages is one
// content, results first.
func (d *Driver) contents(messages []model.Message) []content {
	var out []content
	names := make(map[string]string)
	for _, m := range messages {
		role, parts := roleUser, userParts(m, names)
		if m.Role == model.RoleAssistant {
			role, parts = roleModel, d.modelParts(m, names)
		}
		switch n := len(out); {
		case len(parts) == 0:
		case n > 0 && out[n-1].Role == role:
			out[n-1].Parts = append(out[n-1].Parts, parts...)
		default:
			out = append(out, content{Role: role, Parts: parts})
		}
	}
	return out
}

// userParts maps text and results. A result is paired with its call by name
// and order, by id only where the server gave one.
func userParts(m model.Message, names map[string]string) []part {
	var parts []part
	for _, p := range m.Parts {
		switch {
		case p.Kind == model.PartText && p.Text != "":
			parts = append(parts, part{Text: &p.Text})
		case p.Result != nil:
			key := "output"
			if p.Result.Error {
				key = "error"
			}
			parts = append(parts, part{Response: &functionResponse{ID: wireID(p.Result.CallID), Name: names[p.Result.CallID],
				Response: map[string]string{key: p.Result.Text}}})
		}
	}
	return parts
}

// wireID is the id as the server knows it: one made here means nothing to it.
func wireID(id string) string {
	if model.MadeCallID(id) {
		return ""
	}
	return id
}

// modelParts maps a reply. A stored signature goes back in the part after it.
func (d *Driver) modelParts(m model.Message, names map[string]string) []part {
	var parts []part
	var sign signature
	signed := false // the first call needs a signature, the parallel ones have none
	for _, p := range m.Parts {
		switch {
		case p.Thinking != nil && p.Thinking.Provider == d.Name():
			parts = sign.alone(parts)
			sign = readSignature(p.Thinking.Data)
		case p.Kind == model.PartText && p.Text != "":
			parts = append(parts, part{Text: &p.Text, Signature: sign.take(onText)})
		case p.Call != nil:
			names[p.Call.ID] = p.Call.Name
			s := sign.take(onCall)
			if s == "" && !signed && d.wantsSignature() {
				s = noSignature
			}
			signed = true
			parts = append(parts, part{Signature: s, Call: &functionCall{ID: wireID(p.Call.ID), Name: p.Call.Name, Args: arguments(p.Call)}})
		}
	}
	parts = sign.alone(parts)
	if onlyThoughts(parts) {
		return nil
	}
	return parts
}

func onlyThoughts(parts []part) bool {
	for _, p := range parts {
		if p.Call != nil || p.Text != nil && *p.Text != "" {
			return false
		}
	}
	return true
}

// noSignature is Google's own value for calls that another model wrote:
// https://ai.google.dev/gemini-api/docs/thought-signatures
const noSignature = "skip_thought_signature_validator"

// wantsSignature says whether the model refuses calls without a signature: all
// from Gemini 3 on do.
func (d *Driver) wantsSignature() bool {
	id := strings.TrimPrefix(d.cfg.Model, "models/")
	return strings.HasPrefix(id, "gemini-") && !strings.HasPrefix(id, "gemini-1") && !strings.HasPrefix(id, "gemini-2")
}

// arguments is the object that goes back; what was cut or is no object cannot,
// and its result says what was wrong.
func arguments(c *model.ToolCall) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(c.Arguments, &object) != nil || object == nil {
		return json.RawMessage("{}")
	}
	return c.Arguments
}
