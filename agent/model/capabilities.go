package model

import (
	"errors"
	"fmt"
	"slices"
)

// Capabilities is what an endpoint that speaks OpenAI's protocols, or one like
// them, can do. Operators set it for servers that the drivers do not know, and
// package probe finds it out. A field that is nil or empty takes the driver's
// default for the endpoint.
type Capabilities struct {
	// Tools says whether the endpoint takes tools at all. Without them the
	// tools are described in the system text and calls are read from the reply
	// in the first of TextCalls, Hermes' form if there is none.
	Tools *bool `json:"tools,omitempty" yaml:"tools,omitempty"`
	// ParallelCalls is sent as parallel_tool_calls; nil leaves the field out.
	// llama.cpp writes several calls only where it is true.
	ParallelCalls *bool `json:"parallel_calls,omitempty" yaml:"parallel_calls,omitempty"`
	// StreamOptions says whether stream_options is sent, without which most
	// servers report no usage.
	StreamOptions *bool `json:"stream_options,omitempty" yaml:"stream_options,omitempty"`
	// MaxTokensField names the limit of the reply: max_tokens or
	// max_completion_tokens.
	MaxTokensField string `json:"max_tokens_field,omitempty" yaml:"max_tokens_field,omitempty"`
	// SystemRole is who speaks the system text: system or developer.
	SystemRole string `json:"system_role,omitempty" yaml:"system_role,omitempty"`
	// ReasoningField names the field in which Chat Completions carries
	// reasoning and wants it back: reasoning_content (DeepSeek) or reasoning.
	// Empty drops it.
	ReasoningField string `json:"reasoning_field,omitempty" yaml:"reasoning_field,omitempty"`
	// EncryptedReasoning asks Responses for reasoning that can be sent back.
	EncryptedReasoning *bool `json:"encrypted_reasoning,omitempty" yaml:"encrypted_reasoning,omitempty"`
	// StrictAdjacency puts every result right behind its own call in Responses,
	// with at most one reasoning item ahead of each call.
	StrictAdjacency *bool `json:"strict_adjacency,omitempty" yaml:"strict_adjacency,omitempty"`
	// TextCalls are the forms in which calls are looked for in the text of a
	// reply without structured ones. Empty switches that off.
	TextCalls []CallFormat `json:"text_calls,omitempty" yaml:"text_calls,omitempty"`
}

// The values of [Capabilities] that are names.
const (
	FieldMaxTokens           = "max_tokens"
	FieldMaxCompletionTokens = "max_completion_tokens"
	RoleNameSystem           = "system"
	RoleNameDeveloper        = "developer"
	FieldReasoningContent    = "reasoning_content"
	FieldReasoning           = "reasoning"
)

// Validate names every value that is not in its closed set.
func (c Capabilities) Validate() error {
	var errs []error
	check := func(field, value string, allowed ...string) {
		if value != "" && !slices.Contains(allowed, value) {
			errs = append(errs, fmt.Errorf("%s is %q, want one of %q", field, value, allowed))
		}
	}
	check("max_tokens_field", c.MaxTokensField, FieldMaxTokens, FieldMaxCompletionTokens)
	check("system_role", c.SystemRole, RoleNameSystem, RoleNameDeveloper)
	check("reasoning_field", c.ReasoningField, FieldReasoningContent, FieldReasoning)
	for _, f := range c.TextCalls {
		if !slices.Contains(CallFormats(), f) {
			errs = append(errs, fmt.Errorf("text_calls has %q, want some of %q", f, CallFormats()))
		}
	}
	return errors.Join(errs...)
}

// Or fills what c leaves open from def.
func (c Capabilities) Or(def Capabilities) Capabilities {
	orFlag(&c.Tools, def.Tools)
	orFlag(&c.ParallelCalls, def.ParallelCalls)
	orFlag(&c.StreamOptions, def.StreamOptions)
	orFlag(&c.EncryptedReasoning, def.EncryptedReasoning)
	orFlag(&c.StrictAdjacency, def.StrictAdjacency)
	orName(&c.MaxTokensField, def.MaxTokensField)
	orName(&c.SystemRole, def.SystemRole)
	orName(&c.ReasoningField, def.ReasoningField)
	if len(c.TextCalls) == 0 {
		c.TextCalls = def.TextCalls
	}
	return c
}

func orFlag(v **bool, def *bool) {
	if *v == nil {
		*v = def
	}
}

func orName(v *string, def string) {
	if *v == "" {
		*v = def
	}
}

// Is says whether a flag is set to true; one left open is not.
func Is(flag *bool) bool { return flag != nil && *flag }

// Flag is a flag that is set.
func Flag(v bool) *bool { return &v }
