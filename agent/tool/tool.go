package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// Tier is how much a call may do; a run can be held below a tier.
type Tier int

// The tiers of RUNTIME 1.13. Submitting (tier 4) is no tool: the worker does it.
const (
	TierRead  Tier = 0 // look at files and history
	TierPatch Tier = 1 // change files of the workspace
	TierTest  Tier = 2 // run the repository's own checks
	TierRun   Tier = 3 // run any command in the sandbox
)

// Effect is what kind of trace a call leaves, which decides whether calls may
// run side by side and what a resume may repeat.
type Effect string

// The closed set of effects.
const (
	EffectRead  Effect = "read"  // no trace: may run in parallel and again
	EffectWrite Effect = "write" // files of the workspace
	EffectExec  Effect = "exec"  // a process in the sandbox
	EffectState Effect = "state" // the run's own records (plan, finish)
)

// The defaults for what a [Spec] leaves zero.
const (
	DefaultTimeout     = 30 * time.Second
	DefaultOutputBytes = 48_000
)

// Spec describes a tool to the model and to the registry.
type Spec struct {
	Name string
	// Description is the prompt text.
	Description string
	// Schema is a JSON Schema of type object; [Typed] infers it.
	Schema *jsonschema.Schema
	Tier   Tier
	Effect Effect
	// Poll marks a tool that is asked again and again about something that
	// moves by itself: the same answer may be told of, and is never refused.
	Poll bool
	// Rare offers the tool through [UseName], by a line of its own, instead of
	// by its whole schema.
	Rare bool
	// Timeout ends the call's context; zero means [DefaultTimeout], negative
	// none (the tool has clocks of its own).
	Timeout time.Duration
	// OutputBytes caps Result.Text; zero means [DefaultOutputBytes].
	OutputBytes int
}

// Tool is the seam that every tool implements.
//
// Spec is constant over the life of the value. Call gets arguments that
// conform to the schema, honours ctx, and answers every failure with a Result
// that is not OK: it returns no error because the model is the one who is told.
// Tools with EffectRead must be safe for concurrent calls, and must bound their
// work: one that does not answer at its timeout is not waited for, and its call
// goes on until it ends by itself.
type Tool interface {
	Spec() Spec
	Call(ctx context.Context, args json.RawMessage) Result
}

// Forgetter is implemented by tools that remember what a model has seen; the
// agent calls it when the result of a call leaves the model's view.
type Forgetter interface {
	Forget(args json.RawMessage)
}

// Keeper is what tools remember over the calls of a run, as cells: names with a
// text each. The agent asks after each call and records the cells that differ,
// so Keep is cheap and a cell that means the same is the same text.
//
// Restore takes all cells at once, when another worker goes on with the run in
// a workspace whose files are back as they were. What it cannot read, or what
// is no longer so, it leaves out: to know too little costs a call, to know what
// is not so costs the work.
type Keeper interface {
	Keep() map[string]string
	Restore(kept map[string]string)
}

// typed is a Tool whose arguments are a Go struct.
type typed[A any] struct {
	spec Spec
	call func(context.Context, A) Result
}

// Typed makes a tool from a function over the argument struct A, and infers
// its schema from A's json and jsonschema tags (omitempty means optional).
// A struct that has no schema is reported by [NewRegistry].
func Typed[A any](spec Spec, call func(context.Context, A) Result) Tool {
	if spec.Schema == nil {
		spec.Schema = SchemaFor[A]()
	}
	return typed[A]{spec: spec, call: call}
}

func (t typed[A]) Spec() Spec { return t.spec }

func (t typed[A]) Call(ctx context.Context, raw json.RawMessage) Result {
	var args A
	if err := json.Unmarshal(raw, &args); err != nil {
		return Failf(CodeInvalidArgs, "arguments: %s", plainJSONError(err))
	}
	return t.call(ctx, args)
}

func plainJSONError(err error) string { return fmt.Sprintf("not valid JSON (%v)", err) }
