// Package probe finds out what a model's endpoint can do by asking it four
// things: to answer, to call a tool, to call two tools at once, and to read a
// long input.
//
// It sits beside the drivers under agent/model and knows none of them: it is
// given a function that opens the model with given capabilities, so that it can
// try again without what a server refused. doctor shows its report, and serve
// runs it for compatible servers whose capabilities the operator left open.
//
// Invariants: at most [MaxRequests] requests, no retries of failures that pass,
// and a bounded input; nothing is assumed that was not seen, so that what a
// request could not show stays as the operator set it.
//
// What it costs: about 400 tokens for the first three requests, and
// [Options.LongTokens] (8,000 by default) for the fourth; at most 256 tokens of
// output for each. That is about 3 cents at 3 dollars a million.
//
// To add a question: a method on prober like those of questions.go.
package probe

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

const (
	// MaxRequests bounds a probe: four questions, and four more tries with
	// another set of capabilities.
	MaxRequests = 8
	// DefaultLongTokens is the size of the long input: more than the smallest
	// windows that servers run with unasked (2,048 and 4,096).
	DefaultLongTokens = 8_000
	// maxLongTokens keeps a mistake in the configuration from costing money.
	maxLongTokens = 200_000
	// maxOutput is the limit of each reply; models that think need some room.
	maxOutput = 256
	// DefaultTimeout is for each request; local models load before the first.
	DefaultTimeout = 2 * time.Minute
)

// Options are what an operator may set.
type Options struct {
	// Start is what the operator set; it is tried first and stays where
	// nothing else was seen.
	Start model.Capabilities
	// LongTokens is the size of the long input, zero for [DefaultLongTokens].
	LongTokens int
	// Timeout is for each request, zero for [DefaultTimeout].
	Timeout time.Duration
}

// Opener opens the model with capabilities; those that its driver does not
// know are ignored.
type Opener func(model.Capabilities) (model.Model, error)

// The questions, as they are named in a [Finding].
const (
	QuestionStream   = "stream"
	QuestionTools    = "tools"
	QuestionParallel = "parallel"
	QuestionLong     = "long input"
)

// Finding is what one question showed.
type Finding struct {
	Question string        `json:"question"`
	OK       bool          `json:"ok"`
	Detail   string        `json:"detail"` // for people; may quote the server, untrusted
	Took     time.Duration `json:"took"`
}

// Report is what a probe saw.
type Report struct {
	Model        string             `json:"model"`
	Capabilities model.Capabilities `json:"capabilities"`
	Findings     []Finding          `json:"findings"`
	// Window is the window that the server told or showed, in tokens; zero if
	// the long input fitted.
	Window   int         `json:"window,omitempty"`
	Requests int         `json:"requests"`
	Usage    model.Usage `json:"usage"`
}

// OK says whether every question was answered as an agent needs it. Calls one
// at a time will do: the answer to QuestionParallel is not counted.
func (r Report) OK() bool {
	for _, f := range r.Findings {
		if !f.OK && f.Question != QuestionParallel {
			return false
		}
	}
	return len(r.Findings) > 0
}

// prober is one probe.
type prober struct {
	open   Opener
	opts   Options
	model  model.Model
	report Report
	gone   map[string]bool // the fields that were changed; each is once
}

// Run asks the four questions. Its error is that of a model that cannot be
// opened or does not answer at all (the report has what was seen until then),
// or ctx's.
func Run(ctx context.Context, open Opener, opts Options) (Report, error) {
	if opts.LongTokens <= 0 {
		opts.LongTokens = DefaultLongTokens
	}
	opts.LongTokens = min(opts.LongTokens, maxLongTokens)
	if opts.Timeout <= 0 {
		opts.Timeout = DefaultTimeout
	}
	p := &prober{open: open, opts: opts, report: Report{Capabilities: opts.Start}, gone: make(map[string]bool)}
	if err := p.reopen(opts.Start); err != nil {
		return p.report, err
	}
	if err := p.stream(ctx); err != nil {
		return p.report, err
	}
	p.tools(ctx)
	p.parallel(ctx)
	p.long(ctx)
	return p.report, ctx.Err()
}

// reopen opens the model with other capabilities and keeps them.
func (p *prober) reopen(c model.Capabilities) error {
	m, err := p.open(c)
	if err != nil {
		return fmt.Errorf("opening the model to probe: %w", err)
	}
	p.model, p.report.Capabilities, p.report.Model = m, c, m.Name()
	return nil
}

var errSpent = errors.New("the probe has used up its requests")

// ask sends one request, and again without what the server refused.
func (p *prober) ask(ctx context.Context, req model.Request) (res model.Response, took time.Duration, err error) {
	req.MaxOutputTokens = maxOutput
	err = errSpent
	for p.report.Requests < MaxRequests {
		p.report.Requests++
		begin := time.Now()
		res, err = p.send(ctx, req)
		took = time.Since(begin)
		if err == nil {
			p.report.Usage = p.report.Usage.Add(res.Usage)
			return res, took, nil
		}
		next, field := without(p.report.Capabilities, err)
		if field == "" || p.gone[field] {
			return res, took, err
		}
		p.gone[field] = true
		if err := p.reopen(next); err != nil {
			return res, took, err
		}
	}
	return res, took, err
}

func (p *prober) send(ctx context.Context, req model.Request) (model.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, p.opts.Timeout)
	defer cancel()
	return p.model.Complete(ctx, req)
}

// without is the capabilities without the field that a server says it does not
// know, as its refusal names it, and which field that was; empty if none.
func without(c model.Capabilities, err error) (model.Capabilities, string) {
	e, ok := errors.AsType[*model.Error](err)
	if !ok || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return c, ""
	}
	text := strings.ToLower(e.Message)
	names := func(field string, may bool) bool { return may && strings.Contains(text, field) }
	isOn := func(flag *bool) bool { return flag == nil || *flag }
	switch {
	case names("stream_options", isOn(c.StreamOptions)):
		c.StreamOptions = model.Flag(false)
		return c, "stream_options"
	case names("max_tokens", c.MaxTokensField != model.FieldMaxCompletionTokens):
		c.MaxTokensField = model.FieldMaxCompletionTokens
		return c, "max_tokens"
	case names("max_completion_tokens", c.MaxTokensField != model.FieldMaxTokens):
		c.MaxTokensField = model.FieldMaxTokens
		return c, "max_tokens"
	case names("developer", c.SystemRole != model.RoleNameSystem):
		c.SystemRole = model.RoleNameSystem
		return c, "developer"
	case names("parallel_tool_calls", c.ParallelCalls != nil):
		c.ParallelCalls = nil
		return c, "parallel_tool_calls"
	case names("encrypted_content", isOn(c.EncryptedReasoning)):
		c.EncryptedReasoning = model.Flag(false)
		return c, "encrypted_content"
	case names("tool", isOn(c.Tools)):
		c.Tools = model.Flag(false)
		return c, "tool"
	}
	return c, ""
}
