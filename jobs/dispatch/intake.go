package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
)

// enqueuer is the queue as this package uses it.
type enqueuer interface {
	EnqueueEvent(ctx context.Context, ev vcs.Event) (duplicate bool, err error)
	EnqueueJob(ctx context.Context, job jobs.Job) (duplicate bool, err error)
	JobWaiting(ctx context.Context, id jobs.JobID) (bool, error)
	Depth(ctx context.Context) (queue.Depth, error)
}

// Intake is what the receiver hands deliveries to.
type Intake struct {
	rules func(vcs.ForgeName) trigger.Rules
	queue enqueuer
}

// NewIntake makes a sink; rules gives the current rules of a forge, without
// asking anybody.
func NewIntake(rules func(vcs.ForgeName) trigger.Rules, queue enqueuer) *Intake {
	return &Intake{rules: rules, queue: queue}
}

// Triage is pure: whether anything could react to the event, and why not, as
// a label from a closed set.
func (i *Intake) Triage(ev vcs.Event) (bool, string) {
	rules := i.rules(ev.Forge)
	rules.Provisional = rules.Self.ID == 0
	for _, p := range rules.Decide(ev) {
		if p.Decision != trigger.Ignored {
			return true, string(p.Decision)
		}
		if p.Label != "" {
			return false, p.Label
		}
	}
	return false, "ignored"
}

// Accept claims the event's key and stores the event. The error wraps
// vcs.ErrUnavailable when Redis did not take it.
func (i *Intake) Accept(ctx context.Context, ev vcs.Event) (duplicate bool, err error) {
	duplicate, err = i.queue.EnqueueEvent(ctx, ev)
	if errors.Is(err, jobs.ErrUnavailable) {
		return false, fmt.Errorf("%w: %w", vcs.ErrUnavailable, err)
	}
	return duplicate, err
}
