package runner

import (
	"io"
	"log/slog"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/store"
)

// MostOf is what is reserved for a request.
func MostOf(c Choice, req model.Request) store.Amount { return (&purse{choice: c}).most(req) }

// Purse puts a budget in front of a model, for a run whose journal is past. Of
// shared is what the agent is told of the ceilings.
func Purse(job jobs.Job, run jobs.RunID, b Budget, ceilings Ceilings, past []journal.Record, m model.Model, c Choice) (paying model.Model, shared func() (float64, string), err error) {
	r := New(Config{Ceilings: ceilings, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	s := r.newSession(job, Control{Run: run, Budget: b, Past: past, Journal: nowhere{}})
	p, err := readPast(past)
	if err != nil {
		return nil, nil, err
	}
	s.remember(p)
	return s.purse(m, c), s.shared, nil
}

// Past is what decides about a run that is taken up.
type Past struct {
	State     jobs.State
	Turns     int
	Entries   int
	Baseline  bool
	Before    int
	After     int
	Settled   bool
	Snaps     int
	Fruitless int
}

// FoldPast reads it out of records.
func FoldPast(records []journal.Record) (Past, error) {
	p, err := readPast(records)
	return Past{
		State: p.state, Turns: p.turns, Entries: len(p.entries), Baseline: p.baseline, Before: len(p.before), After: len(p.after), Settled: p.settled, Snaps: len(p.snaps), Fruitless: p.fruitless(),
	}, err
}
