package model

import (
	"context"
	"encoding/json"
)

// Model is the seam between the agent and whatever decides its next step.
//
// A Model is safe for concurrent use and keeps no state between calls: the
// request holds the whole transcript. Complete blocks until the reply is
// whole, honours ctx, and never runs a tool. It returns either a Response
// whose Message has RoleAssistant, or an error that is an [*Error] (or ctx's
// own error when the caller canceled). It does not retry; [WithRetry] does.
// A reply cut by the output limit is a Response with [StopMaxTokens] whose
// unfinished calls are marked Cut, not an error.
type Model interface {
	// Name is "driver/model", stable over the life of the value.
	Name() string
	Complete(ctx context.Context, req Request) (Response, error)
}

// Request is one question to a model.
type Request struct {
	// System is the instruction text in stable order, most stable first, so
	// that vendors can cache the prefix.
	System []string
	// Messages is the transcript. Every tool call in it is answered.
	Messages []Message
	// Tools is what may be called, in fixed order.
	Tools []ToolSpec
	// NoCalls forbids calls in this reply. The tools stay listed: vendors
	// refuse a transcript with calls to tools that are not, and the cached
	// prefix stays valid.
	NoCalls bool
	// MaxOutputTokens caps the reply; zero means the driver's default.
	MaxOutputTokens int
	// Task holds structured facts for drivers without a language model.
	// Language drivers ignore it. It may be nil.
	Task *TaskFacts
}

// ToolSpec describes one tool to a model.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // a JSON Schema of type object
}

// TaskFacts is what the platform knows about the task, as data.
type TaskFacts struct {
	// Checks are the verifying commands with the state they were in before
	// the first edit.
	Checks []Check `json:"checks,omitempty"`
}

// Check is one verifying command and what it showed before any edit.
type Check struct {
	Name    string `json:"name"`
	Command string `json:"command"` // a script for /bin/sh -c
	// Dir is relative to the workspace; empty means its root.
	Dir string `json:"dir,omitempty"`
	// Env holds extra NAME=value pairs; never a secret.
	Env      []string `json:"env,omitempty"`
	ExitCode int      `json:"exit_code"`
	Output   string   `json:"output,omitempty"` // sanitised, already reduced
	Red      bool     `json:"red"`              // failed before the first edit
	// Unable says why it cannot run here, empty if it can: its failure says
	// nothing of the project.
	Unable string `json:"unable,omitempty"`
}

// StopReason says why a reply ended.
type StopReason string

// The closed set of stop reasons. Drivers map what they do not know to
// StopEnd, and "ran into the context window" to StopMaxTokens.
const (
	StopEnd       StopReason = "end"
	StopToolUse   StopReason = "tool_use"
	StopMaxTokens StopReason = "max_tokens"
	StopRefusal   StopReason = "refusal"
	StopPause     StopReason = "pause" // send the transcript back to continue
	// StopRepetition: the driver stopped a reply that wrote the same text again
	// and again; it holds what came so far, and no call of it may run.
	StopRepetition StopReason = "repetition"
)

// Response is one whole reply.
type Response struct {
	Message    Message    `json:"message"`
	StopReason StopReason `json:"stop_reason"`
	// StopDetail is the vendor's own word where it says more, such as a stop
	// reason that is not known; untrusted text.
	StopDetail string `json:"stop_detail,omitempty"`
	Usage      Usage  `json:"usage"`
	// Model is the Name of the one that answered; empty in records of old.
	Model string `json:"model,omitempty"`
	// CostMicroUSD is what the reply cost, in millionths of a US dollar; zero
	// for a model that is free or has no known price: see [WithPrice].
	CostMicroUSD int64 `json:"cost_micro_usd,omitempty"`
}

// Usage counts tokens. Input is what was neither read from nor written to the
// vendor's cache, so that the four fields add up without overlap.
type Usage struct {
	Input      int64 `json:"input"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Output     int64 `json:"output"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Output:     u.Output + v.Output,
	}
}

// InputTotal is all tokens that went in, cached or not.
func (u Usage) InputTotal() int64 { return u.Input + u.CacheRead + u.CacheWrite }
