// Package actions performs effects on the outside world: each is recorded
// before it is done, and what became of it after (decision 4).
//
// Callers are jobs/publish and jobs/runner. Idempotence is the effect's own:
// forges look for a branch's head, a marker or an open pull request before
// they act, so that an interrupted action can be repeated.
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
type Log struct{ records recorder }

// New makes the log of a run.
func New(records recorder) *Log { return &Log{records: records} }

// Done is what an effect came to, as read back.
type Done struct {
	Result string
	URL    string
}

// Do records the intention, performs, and records the end. When the journal
// cannot be written nothing is performed.
func (l *Log) Do(ctx context.Context, a journal.ActionIntended, perform func(context.Context) (Done, error)) (Done, error) {
	if err := l.records.Append(ctx, journal.TypeIntended, a); err != nil {
		return Done{}, fmt.Errorf("recording %s: %w", a.Kind, err)
	}
	done, err := perform(ctx)
	fin := journal.ActionFinished{Key: a.Key, Result: done.Result, URL: done.URL}
	if err != nil {
		fin.Error = err.Error()
	}
	return done, errors.Join(err, l.records.Append(context.WithoutCancel(ctx), journal.TypeDone, fin))
}
