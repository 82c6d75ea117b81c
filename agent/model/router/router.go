// Package router asks another model when the first cannot answer.
//
// It sits above the retries under agent/model: wire makes one [Router] for each
// role of a run, out of models that retry by themselves. It moves on only
// between requests, so that a reply is always one model's, and goes back to the
// primary after a cool-down.
//
// It moves on when the model's service fails (what [model.WithRetry] gave up, an
// open breaker, a 429 that lasts) and when the account does (no money left, a key
// that is refused): then another vendor can do what this one cannot. It does not
// move on for a bad request or an unknown model, which are mistakes that would be
// hidden; for a refusal, since nobody shops around for an answer; for an
// overflow, which compaction mends; or when the caller canceled.
//
// Invariants: the order of the fallbacks is the operator's; every change is told
// to [Options.Switched]; [model.Response.Model] names who answered. The reasoning
// of one model is never sent to another: it is tagged with the model that wrote
// it, and drivers drop what is not their own.
package router

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

// DefaultCoolDown is how long a model that failed is left alone. It is longer
// than a breaker stays open at first: a service that has just come back fails
// again more often than not, and each change costs the new model's cache.
const DefaultCoolDown = 5 * time.Minute

// Switch is a change of who is asked.
type Switch struct {
	From, To string // names of models
	// Cause is why From cannot answer; nil when the router goes back to a model
	// that it prefers and whose cool-down is over.
	Cause error
}

// Options set a [Router] up; all may be left out.
type Options struct {
	CoolDown time.Duration
	Now      func() time.Time
	// Switched is told of each change before the next model is asked, on the
	// caller's goroutine.
	Switched func(ctx context.Context, s Switch)
}

// Router is a [model.Model] that asks the first of its models that can answer.
type Router struct {
	models []model.Model // the primary first
	opts   Options

	mu   sync.Mutex
	down []time.Time // under mu: until when each is left alone
	last int         // under mu: who was asked last
}

// New makes a router; without fallbacks it only passes on.
func New(opts Options, primary model.Model, fallbacks ...model.Model) *Router {
	if opts.CoolDown <= 0 {
		opts.CoolDown = DefaultCoolDown
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Switched == nil {
		opts.Switched = func(context.Context, Switch) {}
	}
	all := append([]model.Model{primary}, fallbacks...)
	return &Router{models: all, opts: opts, down: make([]time.Time, len(all))}
}

// Name is the primary's.
func (r *Router) Name() string { return r.models[0].Name() }

// Complete asks the models in order, without those that cool down. When none
// can answer, the error is of the one that is worth asking again the soonest.
func (r *Router) Complete(ctx context.Context, req model.Request) (model.Response, error) {
	var failed []error
	var cause error
	for _, i := range r.order() {
		r.take(ctx, i, cause)
		res, err := r.models[i].Complete(ctx, req)
		if err == nil {
			if res.Model == "" {
				res.Model = r.models[i].Name()
			}
			return res, nil
		}
		if ctx.Err() != nil || !MovesOn(err) {
			return res, err
		}
		r.rest(i, err)
		failed, cause = append(failed, err), err
	}
	if len(r.models) == 1 {
		return model.Response{}, failed[0]
	}
	return model.Response{}, fmt.Errorf("asking %s and its fallbacks: %w", r.Name(), soonest(failed))
}

// order is who is asked in turn: those that are not cooling down, or all when
// every one is, since then there is nothing to lose.
func (r *Router) order() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.opts.Now()
	var up, all []int
	for i := range r.models {
		all = append(all, i)
		if !now.Before(r.down[i]) {
			up = append(up, i)
		}
	}
	if len(up) == 0 {
		return all
	}
	return up
}

// take tells of a change of who is asked.
func (r *Router) take(ctx context.Context, i int, cause error) {
	r.mu.Lock()
	from := r.last
	r.last = i
	r.mu.Unlock()
	if from != i {
		r.opts.Switched(ctx, Switch{From: r.models[from].Name(), To: r.models[i].Name(), Cause: cause})
	}
}

// rest leaves a model alone for the cool-down, or for as long as it asks.
func (r *Router) rest(i int, err error) {
	d := r.opts.CoolDown
	if e, ok := errors.AsType[*model.Error](err); ok {
		d = max(d, e.RetryAfter)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down[i] = r.opts.Now().Add(d)
}

// MovesOn says whether another model may be asked after an error.
func MovesOn(err error) bool {
	e, ok := errors.AsType[*model.Error](err)
	switch {
	case !ok:
		return false
	case e.Class == model.ClassRetryable, e.Quota:
		return true
	}
	return e.Class == model.ClassFatal && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// soonest is the failure after which asking again makes sense the earliest; the
// primary's if none says so.
func soonest(failed []error) error {
	var best *model.Error
	for _, err := range failed {
		e, ok := errors.AsType[*model.Error](err)
		if ok && e.Class == model.ClassRetryable && (best == nil || e.RetryAfter < best.RetryAfter) {
			best = e
		}
	}
	if best == nil {
		return failed[0]
	}
	return best
}
