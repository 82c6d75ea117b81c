package ollama

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
)

// line is one value of the stream; the last one has done set.
type line struct {
	Message struct {
		Content   string `json:"content"`
		Thinking  string `json:"thinking"`
		ToolCalls []call `json:"tool_calls"`
	} `json:"message"`
	Done        bool   `json:"done"`
	DoneReason  string `json:"done_reason"`
	PromptCount int64  `json:"prompt_eval_count"`
	Count       int64  `json:"eval_count"`
	Error       string `json:"error"`
}

// collector puts the lines of one reply together.
type collector struct {
	text, thinking strings.Builder
	calls          []model.ToolCall
	reason         string
	usage          model.Usage
	done           bool
	guard          model.Guard
}

// add takes a line. An error in the middle of a stream has no status; the
// server means 500.
func (c *collector) add(data []byte) error {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return fmt.Errorf("reading a line of the stream: %w", err)
	}
	if l.Error != "" {
		return model.FromStatus(http.StatusInternalServerError, errorText([]byte(l.Error)), 0, nil)
	}
	c.text.WriteString(l.Message.Content)
	c.guard.Text(l.Message.Content)
	c.thinking.WriteString(l.Message.Thinking)
	c.guard.Thinking(l.Message.Thinking)
	for _, t := range l.Message.ToolCalls {
		c.calls = append(c.calls, model.ToolCall{ID: t.ID, Name: t.Function.Name, Arguments: t.Function.Arguments})
		c.guard.Args(string(t.Function.Arguments))
	}
	if l.Done {
		c.done, c.reason = true, l.DoneReason
		c.usage = model.Usage{Input: l.PromptCount, Output: l.Count}
	}
	return nil
}

// response is the reply; name tags its reasoning.
func (c *collector) response(name string) model.Response {
	r := model.Response{Message: model.Message{Role: model.RoleAssistant}, StopReason: model.StopEnd, Usage: c.usage}
	if c.thinking.Len() > 0 {
		r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartThinking,
			Thinking: &model.Thinking{Provider: name, Data: []byte(c.thinking.String())}})
	}
	if c.text.Len() > 0 {
		r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartText, Text: c.text.String()})
	}
	for i := range c.calls {
		r.Message.Parts = append(r.Message.Parts, model.Part{Kind: model.PartToolCall, Call: &c.calls[i]})
	}
	switch {
	case c.reason == "length":
		r.StopReason = model.StopMaxTokens
	case len(c.calls) > 0:
		r.StopReason = model.StopToolUse
	case c.reason != "stop":
		r.StopDetail = c.reason // such as "load": nothing was said yet
	}
	return r
}

// findCalls looks for calls in the text, in the forms switched on, if the
// server found none itself.
func (d *Driver) findCalls(r *model.Response, req model.Request) {
	if len(d.cfg.TextCalls) > 0 && !req.NoCalls {
		model.LiftCalls(r, d.cfg.TextCalls, req.Tools)
	}
}
