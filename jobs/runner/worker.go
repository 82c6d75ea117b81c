package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// The lease of a job: how long it lasts without a sign of life, how often that
// is given, and how often a request to stop is looked for (rules P2, P3).
const (
	leaseTTL   = 30 * time.Second
	leaseRenew = 10 * time.Second
	stopPoll   = time.Second
	// heldDelay is when a job that another worker holds is looked at again.
	heldDelay = 15 * time.Second
)

// Worker runs jobs from the queue: it holds the lease, keeps the records, and
// tells the thread.
type Worker struct {
	ID     string
	Runner *Runner
	Store  *store.Store
	// Next starts what waited for the thread.
	Next func(ctx context.Context, thread vcs.Thread) error
	// Ended is told of every job that has ended; may be nil.
	Ended func(job jobs.Job, state jobs.State, took time.Duration)
	Log   *slog.Logger
	Now   func() time.Time
}

// Handle runs one job of the queue.
func (w *Worker) Handle(ctx context.Context, job jobs.Job, _ int) error {
	rec, err := w.Store.Job(ctx, job.ID)
	if errors.Is(err, store.ErrNotFound) {
		if err = w.Store.CreateJob(ctx, job); err == nil {
			rec, err = w.Store.Job(ctx, job.ID)
		}
	}
	if err != nil {
		return err
	}
	if rec.State.Final() {
		return w.wrapUp(ctx, rec)
	}
	lease, err := w.Store.Acquire(ctx, job.ID, w.ID, leaseTTL)
	if errors.Is(err, jobs.ErrLeaseLost) {
		return &jobs.ClassError{Class: jobs.Retryable, RetryAt: w.Now().Add(heldDelay), Err: err}
	}
	if err != nil {
		return err
	}
	defer func() { _ = lease.Release(context.WithoutCancel(ctx)) }()
	if rec.Attempts >= maxAttempts {
		return w.finish(ctx, job, progress.Status{Job: job, State: jobs.Failed, Cause: fmt.Sprintf("given up after %d attempts: each time the worker was lost or a service was away", rec.Attempts)}, nil)
	}
	return w.run(ctx, lease, rec)
}

// run gives the job one attempt under its lease.
func (w *Worker) run(ctx context.Context, lease *store.Lease, rec store.JobRecord) error {
	job, begun := rec.Job, w.Now()
	run, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("making a run's id: %w", err)
	}
	id := jobs.RunID(run.String())
	if _, err := w.Store.UpdateJob(ctx, job.ID, func(r *store.JobRecord) error {
		r.Run, r.Attempts = id, r.Attempts+1
		return nil
	}); err != nil {
		return err
	}
	forge, ok := w.Runner.cfg.Forges[job.Thread.Repo.Forge]
	if !ok {
		return fmt.Errorf("%w: no forge %q is configured", vcs.ErrInvalid, job.Thread.Repo.Forge)
	}
	runCtx, cancel := context.WithCancelCause(ctx)
	guarded := make(chan struct{})
	go func() {
		defer close(guarded)
		w.guard(runCtx, cancel, lease, job.ID)
	}()
	comment := progress.NewComment(ctx, forge, job.Thread, w.Log)
	res, err := w.Runner.Run(runCtx, job, Control{
		Run: id, Attempt: rec.Attempts, Carried: w.carried(ctx, rec), Requeue: true, Journal: lease.Journal(id), Inbox: inbox{w.Store, job.ID}, Watch: comment.Update,
		Move: func(ctx context.Context, to jobs.State, cause string) error {
			_, err := w.Store.MoveJob(ctx, job.ID, to, cause, nil)
			return err
		},
	})
	cancel(nil)
	<-guarded
	comment.Close()
	if err != nil {
		if res.Status.State == jobs.Queued && res.Status.Cause != "" {
			w.waits(ctx, forge, res.Status)
		}
		return err
	}
	if w.Ended != nil {
		w.Ended(job, res.State, w.Now().Sub(begun))
	}
	return w.finish(ctx, job, res.Status, &res)
}

// guard keeps the lease and listens for a request to stop; it ends the run's
// context with the cause.
func (w *Worker) guard(ctx context.Context, cancel context.CancelCauseFunc, lease *store.Lease, id jobs.JobID) {
	tick := time.NewTicker(stopPoll)
	defer tick.Stop()
	renewed := w.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if by, err := w.Store.StopRequested(ctx, id); err == nil && by != "" {
			cancel(fmt.Errorf("%w of %s", jobs.ErrStopped, by))
			return
		}
		if w.Now().Sub(renewed) < leaseRenew {
			continue
		}
		err := lease.Renew(ctx)
		switch {
		case err == nil:
			renewed = w.Now()
		case errors.Is(err, jobs.ErrLeaseLost), w.Now().Sub(renewed) > leaseTTL:
			w.Log.Warn("lease is lost, stopping at once", "job_id", id, "error", err)
			cancel(jobs.ErrLeaseLost)
			return
		}
	}
}

// finish records the end, then tells it, then frees the thread. What could not
// be told yet is told when the queue comes back to the job.
func (w *Worker) finish(ctx context.Context, job jobs.Job, status progress.Status, res *Result) error {
	ctx = context.WithoutCancel(ctx)
	if res != nil {
		if err := w.archive(ctx, res); err != nil {
			w.Log.Error("journal could not be archived", "job_id", job.ID, "error", err)
		}
	}
	rec, err := w.Store.MoveJob(ctx, job.ID, status.State, status.Cause, func(r *store.JobRecord) {
		r.Untold = status.Markdown()
		if res != nil {
			r.Branch, r.Pull, r.URL = res.Branch, res.Pull, res.Status.URL
		}
	})
	if errors.Is(err, jobs.ErrTransition) {
		rec, err = w.Store.Job(ctx, job.ID) // stopped meanwhile by somebody who has told it
	}
	if err != nil {
		return err
	}
	return w.wrapUp(ctx, rec)
}

// wrapUp tells an end that is not told yet and frees the thread.
func (w *Worker) wrapUp(ctx context.Context, rec store.JobRecord) error {
	job := rec.Job
	if rec.Untold != "" {
		if err := w.tell(ctx, rec); err != nil {
			if errors.Is(err, vcs.ErrUnavailable) {
				return jobs.Classify(jobs.Retryable, err)
			}
			w.Log.Error("end could not be told in the thread", "job_id", job.ID, "error", err)
		}
	}
	if err := w.Store.ReleaseThread(ctx, job.Thread, job.ID); err != nil {
		return err
	}
	if w.Next == nil {
		return nil
	}
	return w.Next(ctx, job.Thread)
}

func (w *Worker) tell(ctx context.Context, rec store.JobRecord) error {
	forge, ok := w.Runner.cfg.Forges[rec.Job.Thread.Repo.Forge]
	if !ok {
		return fmt.Errorf("%w: no forge %q is configured", vcs.ErrInvalid, rec.Job.Thread.Repo.Forge)
	}
	if err := progress.PostText(ctx, forge, rec.Job, rec.Untold); err != nil {
		return err
	}
	_, err := w.Store.UpdateJob(ctx, rec.Job.ID, func(r *store.JobRecord) error {
		r.Untold = ""
		return nil
	})
	return err
}

// archive keeps the journal for good.
func (w *Worker) archive(ctx context.Context, res *Result) error {
	if res.Report.Run == "" {
		return nil
	}
	lines, err := w.Store.JournalLines(ctx, res.Report.Run)
	if err != nil {
		return err
	}
	records, err := journal.Parse(lines)
	if err != nil {
		return err
	}
	return w.Runner.cfg.Archive.Put(res.Report.Run, records)
}

// Lost is told of a job that the queue has given up: its end is recorded and
// told like any other.
func (w *Worker) Lost(ctx context.Context, id jobs.JobID, cause error) {
	rec, err := w.Store.Job(ctx, id)
	if err != nil {
		w.Log.Error("lost job has no record", "job_id", id, "error", err)
		return
	}
	if rec.State.Final() {
		return
	}
	status := progress.Status{Job: rec.Job, State: jobs.Failed, Cause: "given up: " + cause.Error()}
	if err := w.finish(ctx, rec.Job, status, nil); err != nil {
		w.Log.Error("lost job could not be ended", "job_id", id, "error", err)
	}
}

// inbox hands messages of entitled people to the agent.
type inbox struct {
	store *store.Store
	job   jobs.JobID
}

func (i inbox) Messages(ctx context.Context) ([]agent.Message, error) {
	msgs, err := i.store.TakeMessages(ctx, i.job)
	if err != nil {
		return nil, err
	}
	var out []agent.Message
	for _, m := range msgs {
		out = append(out, agent.Message{ID: m.ID, Author: m.Author.Login, Text: m.Text})
	}
	return out, nil
}
