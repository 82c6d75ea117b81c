package gemini

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
)

// chunk is one event of the stream.
type chunk struct {
	Candidates []struct {
		Content       content `json:"content"`
		FinishReason  string  `json:"finishReason"`
		FinishMessage string  `json:"finishMessage"`
	} `json:"candidates"`
	Feedback *struct {
		BlockReason string `json:"blockReason"`
		Message     string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt     int64 `json:"promptTokenCount"`
		Cached     int64 `json:"cachedContentTokenCount"`
		ToolPrompt int64 `json:"toolUsePromptTokenCount"`
		Candidates int64 `json:"candidatesTokenCount"`
		Thoughts   int64 `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
	Error json.RawMessage `json:"error"`
}

// collector puts the events of one reply together.
type collector struct {
	provider string
	parts    []model.Part
	text     strings.Builder // not yet in parts
	reason   string
	detail   string
	blocked  string
	usage    model.Usage
	guard    model.Guard
}

func (c *collector) add(data []byte) error {
	var e chunk
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("reading an event of the stream: %w", err)
	}
	if len(e.Error) > 0 {
		return fromBody(0, data)
	}
	if u := e.Usage; u != nil {
		c.usage = model.Usage{Input: max(u.Prompt+u.ToolPrompt-u.Cached, 0), CacheRead: u.Cached, Output: u.Candidates + u.Thoughts}
	}
	if f := e.Feedback; f != nil && f.BlockReason != "" {
		c.blocked = strings.TrimSpace(f.BlockReason + " " + f.Message)
	}
	if len(e.Candidates) == 0 {
		return nil
	}
	first := e.Candidates[0] // only one was asked for
	for _, p := range first.Content.Parts {
		c.addPart(p)
	}
	if first.FinishReason != "" && first.FinishReason != "FINISH_REASON_UNSPECIFIED" {
		c.reason, c.detail = first.FinishReason, first.FinishMessage
	}
	return nil
}

// addPart takes a part. Text goes on where the last one ended, unless one of
// them is signed: what a signature stands on stays as it came. Summaries of
// thoughts do not go back and are not kept.
func (c *collector) addPart(p part) {
	text := ""
	if p.Text != nil {
		text = *p.Text
	}
	c.guard.Args(p.Signature)
	switch {
	case p.Call != nil:
		c.flush()
		c.sign(p.Signature, onCall)
		c.guard.Args(string(p.Call.Args))
		c.parts = append(c.parts, model.Part{Kind: model.PartToolCall,
			Call: &model.ToolCall{ID: p.Call.ID, Name: p.Call.Name, Arguments: p.Call.Args}})
	case p.Thought:
		c.guard.Thinking(text)
	case p.Signature != "" && text == "":
		c.flush()
		c.sign(p.Signature, onNone)
	case p.Signature != "":
		c.flush()
		c.sign(p.Signature, onText)
		c.text.WriteString(text)
		c.guard.Text(text)
		c.flush()
	default:
		c.text.WriteString(text)
		c.guard.Text(text)
	}
}

func (c *collector) flush() {
	if c.text.Len() > 0 {
		c.parts = append(c.parts, model.Part{Kind: model.PartText, Text: c.text.String()})
		c.text.Reset()
	}
}

func (c *collector) sign(value, on string) {
	if value != "" {
		c.parts = append(c.parts, signature{Value: value, On: on}.part(c.provider))
	}
}

// ended says whether the server said why the reply is over, or why there is none.
func (c *collector) ended() bool { return c.reason != "" || c.blocked != "" }

func (c *collector) response() model.Response {
	c.flush()
	r := model.Response{Message: model.Message{Role: model.RoleAssistant, Parts: c.parts}, Usage: c.usage}
	r.StopReason, r.StopDetail = stopReason(c.reason), c.detail
	if c.reason == "" && c.blocked != "" {
		r.StopReason, r.StopDetail = model.StopRefusal, c.blocked
	}
	if c.reason != "" && c.reason != "STOP" && c.reason != "MAX_TOKENS" {
		r.StopDetail = strings.TrimSuffix(c.reason+": "+c.detail, ": ")
	}
	return r
}

// stopReason maps the API's reasons. A call that the model malformed, or that
// it was not to make, is not in the reply: what is left is an empty reply, with
// the reason as its detail. An unknown reason is an end.
func stopReason(reason string) model.StopReason {
	switch reason {
	case "MAX_TOKENS":
		return model.StopMaxTokens
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT":
		return model.StopRefusal
	case "STOP", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL":
	}
	return model.StopEnd
}
