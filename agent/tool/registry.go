package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Call is one request to run a tool, as the model wrote it.
type Call struct {
	Name string
	Args json.RawMessage
	Cut  bool // the reply ended inside the arguments
}

// Registry holds the tools of a run in fixed order. It is safe for concurrent use.
type Registry struct {
	order []string
	tools map[string]entry
}

type entry struct {
	tool      Tool
	spec      Spec
	validator *Validator
}

// NewRegistry checks the tools (a name, a schema, no duplicates) and names
// every fault at once.
func NewRegistry(tools ...Tool) (*Registry, error) {
	r := &Registry{tools: make(map[string]entry, len(tools))}
	var faults []error
	for _, t := range tools {
		spec := t.Spec()
		v, err := NewValidator(spec.Schema)
		if err != nil {
			faults = append(faults, fmt.Errorf("tool %q: %w", spec.Name, err))
			continue
		}
		if _, twice := r.tools[spec.Name]; twice || spec.Name == "" {
			faults = append(faults, fmt.Errorf("tool %q: name is empty or taken", spec.Name))
			continue
		}
		r.order = append(r.order, spec.Name)
		r.tools[spec.Name] = entry{tool: t, spec: spec, validator: v}
	}
	return r, errors.Join(faults...)
}

// Specs returns what the tools say of themselves, in the order given.
func (r *Registry) Specs() []Spec {
	specs := make([]Spec, 0, len(r.order))
	for _, name := range r.order {
		specs = append(specs, r.tools[name].spec)
	}
	return specs
}

// Spec returns the spec of the named tool.
func (r *Registry) Spec(name string) (Spec, bool) {
	e, ok := r.tools[name]
	return e.spec, ok
}

// Forget tells a tool that the result of a call is no longer in view.
func (r *Registry) Forget(name string, args json.RawMessage) {
	c := r.Unwrap(Call{Name: name, Args: args})
	e, ok := r.tools[c.Name]
	if !ok {
		return
	}
	f, ok := e.tool.(Forgetter)
	if !ok {
		return
	}
	if clean, faults := e.validator.Check(c.Args); len(faults) == 0 {
		f.Forget(clean)
	}
}

// Check validates a call without running it: a nil Result means that it may
// run with the returned arguments.
func (r *Registry) Check(c Call) (json.RawMessage, *Result) {
	if c.Cut {
		res := Failf(CodeTruncatedArgs, "your reply ended inside the arguments of this call, so it was not run").
			Suggest("send it again, in smaller pieces if it is long")
		return nil, finished(res, 0)
	}
	if c.Name == UseName {
		return nil, finished(Failf(CodeInvalidArgs, `arguments are {"tool": one of the listed names, "args": {…}}`), 0)
	}
	e, ok := r.tools[c.Name]
	if !ok {
		near := strings.Join(Nearest(c.Name, r.order, 3), ", ")
		return nil, finished(Failf(CodeUnknownTool, "there is no tool of that name; nearest: %s", near), 0)
	}
	args, faults := e.validator.Check(c.Args)
	if len(faults) > 0 {
		return nil, finished(Failf(CodeInvalidArgs, "%s", strings.Join(faults, "; ")), 0)
	}
	return args, nil
}

// Run validates and runs one call. The Result is always fit to store and send.
func (r *Registry) Run(ctx context.Context, c Call) Result {
	c = r.Unwrap(c)
	args, failed := r.Check(c)
	if failed != nil {
		return *failed
	}
	e := r.tools[c.Name]
	start := time.Now()
	res := e.run(ctx, args)
	if res.Code == CodeInternal && e.spec.Effect == EffectRead && ctx.Err() == nil {
		res = e.run(ctx, args)
	}
	res.DurationMS = time.Since(start).Milliseconds()
	budget := e.spec.OutputBytes
	if budget <= 0 {
		budget = DefaultOutputBytes
	}
	return *finished(res, Room(ctx, budget))
}

// lastWords is how long a tool that reads may still answer after its deadline:
// most have something to show for the time.
const lastWords = time.Second

// run calls the tool once under its timeout. A tool that reads is not waited
// for beyond it: its goroutine is left behind and ends by itself, since such a
// tool leaves no trace and bounds its work. Others are waited for, because
// nobody may act on a workspace that a call is still changing.
func (e entry) run(ctx context.Context, args json.RawMessage) Result {
	timeout := e.spec.Timeout
	if timeout == 0 {
		timeout = DefaultTimeout
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	if e.spec.Effect != EffectRead || timeout < 0 {
		return e.call(ctx, args)
	}
	done := make(chan Result, 1)
	go func() { done <- e.call(ctx, args) }()
	select {
	case res := <-done:
		return res
	case <-ctx.Done():
	}
	late := time.NewTimer(lastWords)
	defer late.Stop()
	select {
	case res := <-done:
		return res
	case <-late.C:
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return Failf(CodeTimeout, "the call did not end within its time, at most %v, and was given up", timeout).Suggest("ask for less at once")
	}
	return Failf(CodeNotRun, "the call was canceled")
}

// call calls the tool; a panic becomes INTERNAL.
func (e entry) call(ctx context.Context, args json.RawMessage) (res Result) {
	defer func() {
		if p := recover(); p != nil {
			res = Failf(CodeInternal, "the tool crashed: %v", p)
		}
	}()
	return e.tool.Call(ctx, args)
}

// finished puts the code in front of a failure, cleans the text and keeps it
// within its budget.
func finished(res Result, budget int) *Result {
	if budget <= 0 {
		budget = DefaultOutputBytes
	}
	if res.Code == "" {
		res.OK, res.Code = false, CodeInternal
		res.Message = "the tool gave no result"
	}
	res.Message = Clean(res.Message)
	text := Clean(res.Text)
	if !res.OK {
		text = failureText(res, text)
	}
	if shown, cut := Cut(text, budget, 0.5); cut {
		if res.Truncated == nil {
			res.Truncated = &Truncation{BytesTotal: int64(len(text)), LinesTotal: int64(strings.Count(text, "\n") + 1)}
		}
		text = shown
	}
	if res.Truncated != nil {
		res.Truncated.BytesShown = int64(len(text))
	}
	res.Text = text
	return &res
}

func failureText(res Result, detail string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", res.Code, res.Message)
	for _, s := range res.Suggestions {
		b.WriteString("\nTry: " + Clean(s))
	}
	if detail != "" {
		b.WriteString("\n\n" + detail)
	}
	return b.String()
}
