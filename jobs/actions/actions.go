// Package actions performs effects on the outside world: each is recorded
// before it is done, and what became of it after (decision 4).
//
// Callers are jobs/publish and jobs/runner. An action has a key. One that the
// journal of a run calls done is not done again by whoever takes the run up.
// One that was only intended is: that it has no second effect is the effect's
// own, since forges look for a branch's head, a marker or an open pull request
// before they act.
//
// Invariants: nothing is performed that is not recorded, nor by a worker that
// has lost its lease.
package actions

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/jobs/journal"
)

// recorder is the journal's writer.
type recorder interface {
	Append(ctx context.Context, t journal.Type, data any) error
}

// Log performs actions of one run. It is safe for concurrent use.
type Log struct {
	records recorder
	past    map[string]journal.ActionFinished
	fence   func(context.Context) error
}

// Option changes a Log.
type Option func(*Log)

// WithPast gives what the run's journal says of actions that went well, by
// key.
func WithPast(finished map[string]journal.ActionFinished) Option {
	return func(l *Log) { l.past = finished }
}

// WithFence asks, right before anything is performed, whether this worker may.
func WithFence(may func(context.Context) error) Option {
	return func(l *Log) {
		if may != nil {
			l.fence = may
		}
	}
}

// New makes the log of a run.
func New(records recorder, opts ...Option) *Log {
	l := &Log{records: records, fence: func(context.Context) error { return nil }}
	for _, o := range opts {
		o(l)
	}
	return l
}

// Done is what an effect came to, as read back.
type Done struct {
	Result string
	URL    string
}

// Do records the intention, performs, and records the end. When the journal
// cannot be written, or the lease is lost, nothing is performed.
func (l *Log) Do(ctx context.Context, a journal.ActionIntended, perform func(context.Context) (Done, error)) (Done, error) {
	if fin, ok := l.past[a.Key]; ok {
		return Done{Result: fin.Result, URL: fin.URL}, nil
	}
	if err := l.records.Append(ctx, journal.TypeIntended, a); err != nil {
		return Done{}, fmt.Errorf("recording %s: %w", a.Kind, err)
	}
	if err := l.fence(ctx); err != nil {
		return Done{}, fmt.Errorf("before %s: %w", a.Kind, err)
	}
	done, err := perform(ctx)
	fin := journal.ActionFinished{Key: a.Key, Result: done.Result, URL: done.URL}
	if err != nil {
		fin.Error = err.Error()
	}
	return done, errors.Join(err, l.records.Append(context.WithoutCancel(ctx), journal.TypeDone, fin))
}
