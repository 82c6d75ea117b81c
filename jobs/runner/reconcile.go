package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/jobs/store"
)

// onTheWay is how long a job may take from its record to its thread or the
// queue: above what handling an event may take.
const onTheWay = 3 * time.Minute

// jobQueue is the queue as the Reconciler uses it.
type jobQueue interface {
	JobTask(ctx context.Context, id jobs.JobID) (queue.TaskState, error)
	EnqueueAgain(ctx context.Context, job jobs.Job) (duplicate bool, err error)
	TakeOver(ctx context.Context, job jobs.Job) (duplicate bool, err error)
}

// Reconciler looks for jobs that have not ended and that nobody works on or
// will: their worker was lost, or Redis has lost its queue and not the records.
// They go on, or end. Several may work at once: each step is safe to repeat.
type Reconciler struct {
	Worker *Worker
	Queue  jobQueue
	// Start begins a job that waits for its thread, if the thread is free.
	Start func(ctx context.Context, job jobs.Job) error
	Log   *slog.Logger
	Now   func() time.Time

	// unheld is since when jobs are in the hands of a worker, as the queue
	// believes, that holds no lease of them; for Run's goroutine.
	unheld map[jobs.JobID]time.Time
}

// Run looks at the worker's pace until ctx ends.
func (r *Reconciler) Run(ctx context.Context) {
	if n, err := r.Worker.Store.Reindex(ctx); err != nil {
		r.Log.Warn("job records could not be looked through", "error", err)
	} else if n > 0 {
		r.Log.Info("jobs have not ended", "jobs", n)
	}
	pace := r.Worker.Pace.withDefaults()
	tick, stops := time.NewTicker(pace.Reconcile), time.NewTicker(pace.Stop)
	defer tick.Stop()
	defer stops.Stop()
	for {
		if err := r.Once(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("looking after jobs was cut short", "error", err)
		}
		for due := false; !due; {
			select {
			case <-ctx.Done():
				return
			case <-stops.C:
				if err := r.endUnheard(ctx); err != nil && ctx.Err() == nil {
					r.Log.Warn("looking for requests to stop was cut short", "error", err)
				}
			case <-tick.C:
				due = true
			}
		}
	}
}

// unheardAfter is how many looks a live worker has to hear a request to stop:
// with Pace.Stop a few seconds, so that a dead worker's job ends within ten
// (rule P2).
const unheardAfter = 4

// endUnheard ends jobs whose worker does not hear that it should stop. One that
// is only slow has lost its lease by that, and does nothing more.
func (r *Reconciler) endUnheard(ctx context.Context) error {
	ids, err := r.Worker.Store.UnheardStops(ctx, unheardAfter*r.Worker.Pace.withDefaults().Stop)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		by, err := r.Worker.Store.StopRequested(ctx, id)
		broken := false
		if err == nil {
			broken, err = r.Worker.Store.BreakUnheard(ctx, id)
		}
		if err == nil && broken {
			r.Log.Warn("job is ended: its worker did not hear a request to stop", "job_id", id)
			err = unlessGone(r.Worker.End(ctx, id, jobs.Canceled, "stopped by "+by, by))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// unlessGone: a job that somebody works on, or that is not there, needs no end.
func unlessGone(err error) error {
	if errors.Is(err, jobs.ErrLeaseLost) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// Once looks at every job that has not ended.
func (r *Reconciler) Once(ctx context.Context) error {
	live, err := r.Worker.Store.Live(ctx)
	if err != nil {
		return err
	}
	var errs []error
	unheld := map[jobs.JobID]time.Time{}
	defer func() { r.unheld = unheld }()
	for _, rec := range live {
		if since, ok := r.unheld[rec.Job.ID]; ok {
			unheld[rec.Job.ID] = since
		}
		if err := r.look(ctx, rec, unheld); err != nil {
			errs = append(errs, fmt.Errorf("looking after job %s: %w", rec.Job.ID, err))
		}
	}
	return errors.Join(errs...)
}

// look sees to one job.
func (r *Reconciler) look(ctx context.Context, rec store.JobRecord, unheld map[jobs.JobID]time.Time) error {
	id := rec.Job.ID
	owner, err := r.Worker.Store.Owner(ctx, id)
	if err != nil || owner != "" {
		delete(unheld, id)
		return err
	}
	if rec.State.Final() { // and not told
		return r.again(ctx, rec, "its end is not told yet")
	}
	if by, err := r.Worker.Store.StopRequested(ctx, id); err != nil || by != "" {
		if err == nil {
			err = r.Worker.End(ctx, id, jobs.Canceled, "stopped by "+by, by)
		}
		return unlessGone(err)
	}
	if rec.State == jobs.AwaitingApproval {
		return r.lookAtApprovals(ctx, rec)
	}
	holder, err := r.Worker.Store.ThreadJob(ctx, rec.Job.Thread)
	if err != nil {
		return err
	}
	if holder != id {
		return r.lookAtWaiting(ctx, rec, holder)
	}
	if rec.Attempts > 0 {
		return r.takeOver(ctx, rec, unheld)
	}
	return r.again(ctx, rec, "nobody works on it")
}

// takeOver goes on with a job that was under way. Between the queue and the
// lease there is a moment in which it looks as if nobody had it.
func (r *Reconciler) takeOver(ctx context.Context, rec store.JobRecord, unheld map[jobs.JobID]time.Time) error {
	id := rec.Job.ID
	const moments = 6 // in a lease
	since, known := unheld[id]
	if !known {
		unheld[id] = time.Now()
		return nil
	}
	if time.Since(since) < r.Worker.Pace.withDefaults().Lease/moments {
		return nil
	}
	delete(unheld, id)
	duplicate, err := r.Queue.TakeOver(ctx, rec.Job)
	if err == nil && !duplicate {
		r.Log.Warn("job goes on", "job_id", id, "state", rec.State, "why", "its worker has lost its lease")
	}
	return err
}

// again puts a job into the queue if it is not there.
func (r *Reconciler) again(ctx context.Context, rec store.JobRecord, why string) error {
	task, err := r.Queue.JobTask(ctx, rec.Job.ID)
	if err != nil || task == queue.TaskWaiting || task == queue.TaskActive {
		return err
	}
	if task == queue.TaskNone && r.Now().Sub(rec.UpdatedAt) < onTheWay && rec.State == jobs.Queued {
		return nil // it may be on its way
	}
	r.Log.Warn("job goes on", "job_id", rec.Job.ID, "state", rec.State, "why", why, "task", task)
	_, err = r.Queue.EnqueueAgain(ctx, rec.Job)
	return err
}

// lookAtApprovals goes on with a job whose question was answered, or will not
// be.
func (r *Reconciler) lookAtApprovals(ctx context.Context, rec store.JobRecord) error {
	if _, err := r.Worker.Store.ExpireApprovals(ctx, rec.Job.ID, r.Now()); err != nil {
		return err
	}
	all, err := r.Worker.Store.Approvals(ctx, rec.Job.ID)
	if err != nil {
		return err
	}
	for _, a := range all {
		if a.Decision == jobs.Waiting {
			return nil
		}
	}
	return r.again(ctx, rec, "its question was answered, or is too old")
}

// lookAtWaiting sees to a job that waits for its thread.
func (r *Reconciler) lookAtWaiting(ctx context.Context, rec store.JobRecord, holder jobs.JobID) error {
	if r.Now().Sub(rec.CreatedAt) < onTheWay || r.Start == nil {
		return nil
	}
	if holder != "" {
		held, err := r.Worker.Store.Job(ctx, holder)
		if err == nil && !held.State.Final() {
			return nil // its end starts what waits
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	r.Log.Warn("job that waited for its thread is started", "job_id", rec.Job.ID)
	return r.Start(ctx, rec.Job)
}
