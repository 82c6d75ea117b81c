package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/store"
)

// Pace is how often a worker gives signs of life and looks for what is asked of
// it. Zero fields take the defaults, which keep rules P2 and P3.
type Pace struct {
	// Lease is how long a job's lease lasts without a sign of life; 30 s.
	Lease time.Duration
	// Renew is how often that is given; a third of Lease.
	Renew time.Duration
	// Stop is how often a request to stop is looked for; 1 s.
	Stop time.Duration
	// Reconcile is how often jobs are looked for that nobody works on; 5 s.
	Reconcile time.Duration
}

func (p Pace) withDefaults() Pace {
	const (
		lease, stop, reconcile = 30 * time.Second, time.Second, 5 * time.Second
		renewals               = 3 // in a lease
	)
	if p.Lease <= 0 {
		p.Lease = lease
	}
	if p.Renew <= 0 {
		p.Renew = p.Lease / renewals
	}
	if p.Stop <= 0 {
		p.Stop = stop
	}
	if p.Reconcile <= 0 {
		p.Reconcile = reconcile
	}
	return p
}

// guard keeps the lease, until ctx ends, and listens for a request to stop; it
// ends the run's context with the cause.
func (w *Worker) guard(ctx context.Context, cancel context.CancelCauseFunc, lease *store.Lease, job jobs.Job) {
	pace := w.Pace.withDefaults()
	tick := time.NewTicker(min(pace.Stop, pace.Renew))
	defer tick.Stop()
	slots := w.slots(job)
	renewed, stopped := time.Now(), false // its monotonic part: a clock that is set does not matter
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !stopped {
			stopped = w.hearStop(ctx, cancel, job)
		}
		if time.Since(renewed) < pace.Renew {
			continue
		}
		asked := time.Now()
		err := w.renew(ctx, lease, pace)
		switch {
		case err == nil:
			renewed = asked
			if err := w.Store.KeepSlots(ctx, job.ID, slots, pace.Lease); err != nil {
				w.Log.Warn("place among the live runs could not be kept", "job_id", job.ID, "error", err)
			}
		case errors.Is(err, jobs.ErrLeaseLost), time.Since(renewed) > pace.Lease:
			w.Log.Warn("lease is lost, stopping at once", "job_id", job.ID, "error", err)
			cancel(jobs.ErrLeaseLost)
			return
		}
	}
}

// renew prolongs the lease, and does not wait for an answer for longer than
// until the next try.
func (w *Worker) renew(ctx context.Context, lease *store.Lease, pace Pace) error {
	ctx, cancel := context.WithTimeout(ctx, pace.Renew)
	defer cancel()
	return lease.Renew(ctx)
}

// hearStop ends the run's context when somebody has asked for it.
func (w *Worker) hearStop(ctx context.Context, cancel context.CancelCauseFunc, job jobs.Job) bool {
	by, err := w.Store.StopRequested(ctx, job.ID)
	if err != nil || by == "" {
		return false
	}
	if err := w.Store.HearStop(ctx, job.ID); err != nil {
		w.Log.Warn("stop was heard, which could not be said", "job_id", job.ID, "error", err)
	}
	cancel(fmt.Errorf("%w of %s", jobs.ErrStopped, by))
	return true
}

// patiencePause is between two tries of what needs Redis.
const patiencePause = 250 * time.Millisecond

// patiently tries again while Redis does not answer, as long as a lease can
// hold.
func (p Pace) patiently(ctx context.Context, do func() error) error {
	for end := time.Now().Add(p.withDefaults().Lease); ; {
		err := do()
		if !errors.Is(err, jobs.ErrUnavailable) || time.Now().After(end) {
			return err
		}
		timer := time.NewTimer(patiencePause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// patient is a journal that outlives a Redis which is away for a moment.
// Appending the same line again changes nothing.
type patient struct {
	sink journal.Sink
	pace Pace
}

func (p patient) Append(ctx context.Context, seq uint64, line []byte) error {
	return p.pace.patiently(ctx, func() error { return p.sink.Append(ctx, seq, line) })
}

// inbox hands messages of entitled people to the agent. When it cannot be read
// they come a step later.
type inbox struct {
	store *store.Store
	job   jobs.JobID
	log   *slog.Logger
}

func (i inbox) Messages(ctx context.Context) ([]agent.Message, error) {
	msgs, err := i.store.Messages(ctx, i.job)
	if err != nil {
		i.log.Warn("inbox could not be read", "job_id", i.job, "error", err)
		return nil, nil
	}
	var out []agent.Message
	for _, m := range msgs {
		out = append(out, agent.Message{ID: m.ID, Author: m.Author.Login, Text: m.Text})
	}
	return out, nil
}

func (i inbox) Taken(ctx context.Context, ids ...string) error {
	if err := i.store.TakeMessages(ctx, i.job, ids...); err != nil {
		i.log.Warn("inbox could not be emptied: what was heard is not heard again", "job_id", i.job, "error", err)
	}
	return nil
}
