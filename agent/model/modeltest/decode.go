package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/greenwright/greenwright/agent/model"
)

// decode reads a body and refuses fields that the service does not know.
func decode(body []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("invalid request: %w", err)
	}
	return nil
}

// joiner builds a transcript from wire items that arrive one by one: results
// that follow each other become one message, as do the parts of one reply.
type joiner struct {
	messages []model.Message
	names    map[string]string // tool by call, for protocols that pair by it
}

func (j *joiner) add(role model.Role, part model.Part) {
	if n := len(j.messages); n > 0 && j.messages[n-1].Role == role && role != model.RoleUser {
		j.messages[n-1].Parts = append(j.messages[n-1].Parts, part)
		return
	}
	j.messages = append(j.messages, model.Message{Role: role, Parts: []model.Part{part}})
}

func (j *joiner) text(role model.Role, text string) error {
	if text == "" {
		return fmt.Errorf("a text of %s is empty", role)
	}
	j.add(role, model.Part{Kind: model.PartText, Text: text})
	return nil
}

func (j *joiner) call(id, name, args string) error {
	if !json.Valid([]byte(args)) {
		return fmt.Errorf("arguments of call %s are not JSON", id)
	}
	j.add(model.RoleAssistant, model.Part{Kind: model.PartToolCall,
		Call: &model.ToolCall{ID: id, Name: name, Arguments: json.RawMessage(args)}})
	return nil
}

func (j *joiner) result(id, text string, failed bool) {
	j.add(model.RoleTool, model.Part{Kind: model.PartToolResult, Result: &model.ToolResult{CallID: id, Text: text, Error: failed}})
}

// checkSchema refuses a tool without a schema of type object.
func checkSchema(name string, raw json.RawMessage) error {
	var schema struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil || schema.Type != "object" || name == "" {
		return fmt.Errorf("tool %q has no schema of type object", name)
	}
	return nil
}
