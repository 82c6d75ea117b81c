package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// heldDelay is when a job that another worker holds is looked at again.
const heldDelay = 15 * time.Second

// maxTakeUps is how often a run is taken up in all: one that ends its worker
// each time it goes on would otherwise cost money until its limits.
const maxTakeUps = 25

// Fairness bounds how many runs live at once. Zero is no ceiling.
type Fairness struct {
	PerRepository int
	// PerOwner is for all repositories of an account, organisation or group.
	PerOwner int
	All      int
	// Worker is how many runs this process does side by side.
	Worker int
}

// Worker runs jobs from the queue: it holds the lease, keeps the records, and
// tells the thread.
type Worker struct {
	ID       string
	Runner   *Runner
	Store    *store.Store
	Fairness Fairness
	Pace     Pace
	// Journals decorates where records go; nil leaves it.
	Journals func(journal.Sink) journal.Sink
	// Next starts what waited for the thread.
	Next func(ctx context.Context, thread vcs.Thread) error
	// Wake brings jobs that wait for a slot to the front of the queue; may be
	// nil.
	Wake func(ctx context.Context, ids ...jobs.JobID) error
	// Draining is closed when this process takes no more work; nil never is.
	Draining func(ctx context.Context) <-chan struct{}
	// Ended is told of every job that has ended; may be nil.
	Ended func(job jobs.Job, state jobs.State, took time.Duration)
	Log   *slog.Logger
	Now   func() time.Time
}

// Handle runs one job of the queue, or goes on with it.
func (w *Worker) Handle(ctx context.Context, job jobs.Job, _ int) error {
	rec, err := w.record(ctx, job)
	if err != nil {
		return err
	}
	if rec.State.Final() {
		return w.wrapUp(ctx, rec, patientTeller)
	}
	if err := w.admitted(ctx, rec); err != nil {
		return err
	}
	lease, err := w.Store.Acquire(ctx, job.ID, w.ID, w.Pace.withDefaults().Lease)
	if errors.Is(err, jobs.ErrLeaseLost) {
		return &jobs.ClassError{Class: jobs.Retryable, RetryAt: w.Now().Add(heldDelay), Err: err}
	}
	if err != nil {
		return err
	}
	defer func() { _ = lease.Release(context.WithoutCancel(ctx)) }()
	if rec, err = w.Store.Job(ctx, job.ID); err != nil || rec.State.Final() { // as it is now that nobody else changes it
		return err
	}
	if err := w.ownThread(ctx, rec); err != nil {
		return err
	}
	return w.inTurn(ctx, rec, func() error { return w.take(ctx, lease, rec) })
}

// ownThread sees that the thread is the job's (decision 7): a job that another
// has taken it from waits for that one's end.
func (w *Worker) ownThread(ctx context.Context, rec store.JobRecord) error {
	holder, err := w.Store.ClaimThread(ctx, rec.Job.Thread, rec.Job.ID, "")
	if err != nil || holder == rec.Job.ID {
		return err
	}
	return &jobs.ClassError{Class: jobs.Retryable, RetryAt: w.Now().Add(heldDelay), Err: fmt.Errorf("%w: job %s: its thread is held by job %s", jobs.ErrBusy, rec.Job.ID, holder)}
}

// record is what is known of a job, whose record Redis may have lost.
func (w *Worker) record(ctx context.Context, job jobs.Job) (store.JobRecord, error) {
	rec, err := w.Store.Job(ctx, job.ID)
	if !errors.Is(err, store.ErrNotFound) {
		return rec, err
	}
	if err := w.Store.CreateJob(ctx, job); err != nil {
		return rec, err
	}
	return w.Store.Job(ctx, job.ID)
}

// maintenancePause is when a job that maintenance holds up is looked at again.
const maintenancePause = 20 * time.Second

// admitted holds back what may not begin now; what was begun goes on.
func (w *Worker) admitted(ctx context.Context, rec store.JobRecord) error {
	if rec.Attempts > 0 {
		return nil
	}
	_, on, err := w.Store.Maintenance(ctx)
	if err != nil || !on {
		return err
	}
	return &jobs.ClassError{Class: jobs.Retryable, RetryAt: w.Now().Add(maintenancePause), Err: fmt.Errorf("%w: job %s: maintenance", jobs.ErrBusy, rec.Job.ID)}
}

// slots are the ceilings that a job counts against.
func (w *Worker) slots(job jobs.Job) []store.Slot {
	repo := job.Thread.Repo
	return []store.Slot{
		{Name: "repository:" + string(repo.Forge) + ":" + repo.FullName(), Limit: w.Fairness.PerRepository},
		{Name: "owner:" + string(repo.Forge) + ":" + repo.Owner, Limit: w.Fairness.PerOwner},
		{Name: "all", Limit: w.Fairness.All},
		{Name: "worker:" + w.ID, Limit: w.Fairness.Worker},
	}
}

// inTurn runs a job when it is its turn, and gives its place to the next.
func (w *Worker) inTurn(ctx context.Context, rec store.JobRecord, do func() error) error {
	slots := w.slots(rec.Job)
	turn, err := w.Store.TakeSlots(ctx, rec.Job, slots, w.Pace.withDefaults().Lease)
	if err == nil {
		err = turn.Busy(w.Now())
	}
	if err != nil {
		return err
	}
	defer w.free(context.WithoutCancel(ctx), rec.Job)
	return do()
}

// free gives a job's places to those that wait for them.
func (w *Worker) free(ctx context.Context, job jobs.Job) {
	next, err := w.Store.FreeSlots(ctx, job.ID, w.slots(job))
	if err == nil && w.Wake != nil && len(next) > 0 {
		err = w.Wake(ctx, next...)
	}
	if err != nil {
		w.Log.Warn("a place was not passed on: who waits for it looks again by itself", "job_id", job.ID, "error", err)
	}
}

// take gives the job a run, or goes on with the one it has.
func (w *Worker) take(ctx context.Context, lease *store.Lease, rec store.JobRecord) error {
	records, err := w.past(ctx, rec.Run)
	switch {
	case errors.Is(err, journal.ErrNewer): // a worker of that version goes on
		return &jobs.ClassError{Class: jobs.Retryable, RetryAt: w.Now().Add(heldDelay), Err: fmt.Errorf("%w: %w", jobs.ErrBusy, err)}
	case errors.Is(err, journal.ErrBroken):
		w.Log.Error("journal is broken, the job is given up", "job_id", rec.Job.ID, "run_id", rec.Run, "error", err)
		return w.end(ctx, lease, rec, nil, journal.Ended{State: jobs.Failed, Cause: "its journal was changed or is damaged, and nothing is built on it: the operator can see where by `greenwright audit verify " + string(rec.Run) + "`"}, w.ID, patientTeller)
	case err != nil:
		return err
	}
	p, err := readPast(records)
	if err != nil {
		w.Log.Error("journal cannot be read, the job is given up", "job_id", rec.Job.ID, "run_id", rec.Run, "error", err)
		return w.end(ctx, lease, rec, nil, journal.Ended{State: jobs.Failed, Cause: "its journal cannot be read, and nothing is built on it"}, w.ID, patientTeller)
	}
	if n := p.fruitless(); n >= maxAttempts || p.report.Lost >= maxTakeUps {
		return w.end(ctx, lease, rec, records, journal.Ended{
			State: jobs.Failed, Cause: fmt.Sprintf("given up: taken up %d times, %d of them in a row without getting any further", p.report.Resumed, n),
			Advice: "the operator: the worker's log says what happened. The command `continue` goes on from what was done.",
		}, w.ID, patientTeller)
	}
	return w.run(ctx, lease, rec, &p)
}

// run gives the job's run to the Runner under a lease.
func (w *Worker) run(ctx context.Context, lease *store.Lease, rec store.JobRecord, p *past) error {
	job, begun := rec.Job, w.Now()
	rec, err := w.begin(ctx, lease, rec, p)
	if err != nil {
		return err
	}
	forge, ok := w.Runner.cfg.Forges[job.Thread.Repo.Forge]
	if !ok {
		return fmt.Errorf("%w: no forge %q is configured", vcs.ErrInvalid, job.Thread.Repo.Forge)
	}
	runCtx, cancel := context.WithCancelCause(ctx)
	defer w.guarded(ctx, cancel, lease, job)()
	fenced := fencedComments{forge, lease}
	comment := progress.NewComment(ctx, fenced, job.Thread, w.Log)
	res, err := w.Runner.Run(runCtx, job, w.control(ctx, lease, rec, p, comment))
	comment.Close()
	if err != nil {
		return w.left(ctx, fenced, res, err)
	}
	if w.Ended != nil {
		w.Ended(job, res.State, w.Now().Sub(begun))
	}
	return w.finish(ctx, lease, job, res, patientTeller)
}

// guarded keeps the lease until the function that it gives is called: also
// while an end is archived and told.
func (w *Worker) guarded(ctx context.Context, cancel context.CancelCauseFunc, lease *store.Lease, job jobs.Job) (end func()) {
	guarding, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.guard(guarding, cancel, lease, job)
	}()
	return func() {
		stop()
		<-done
		cancel(nil)
	}
}

// begin notes who works on the job, and brings its record up to its journal.
func (w *Worker) begin(ctx context.Context, lease *store.Lease, rec store.JobRecord, p *past) (store.JobRecord, error) {
	id := rec.Run
	if id == "" {
		made, err := uuid.NewV7()
		if err != nil {
			return rec, fmt.Errorf("making a run's id: %w", err)
		}
		id = jobs.RunID(made.String())
	}
	return lease.UpdateJob(ctx, rec.Job.ID, func(r *store.JobRecord) error {
		r.Run, r.Attempts = id, r.Attempts+1
		if p.begun && p.report.Ended == nil { // the journal is written first; an end is told first
			r.State, r.Cause = p.report.State, p.report.Cause
		}
		return nil
	})
}

// control is how this worker takes part in a run.
func (w *Worker) control(ctx context.Context, lease *store.Lease, rec store.JobRecord, p *past, comment *progress.Comment) Control {
	id := rec.Job.ID
	return Control{
		Run: rec.Run, Attempt: p.fruitless(), Resumable: true, Past: p.records, Worker: w.ID, Token: lease.Token, Why: "its worker was lost, or handed it over",
		Journal: w.journal(lease, rec.Run), Inbox: inbox{w.Store, id, w.Log}, Watch: comment.Update, Fence: lease.Check, Yield: w.yield(ctx),
		Approvals: w.Store, Budget: w.Store, History: w.past,
		Move: func(ctx context.Context, to jobs.State, cause string) error {
			return w.Pace.patiently(ctx, func() error {
				_, err := lease.UpdateJob(ctx, id, func(r *store.JobRecord) error {
					if r.State != to {
						if err := r.State.To(to); err != nil {
							return err
						}
					}
					r.State, r.Cause = to, cause
					return nil
				})
				return err
			})
		},
	}
}

// journal is where a run's records go under a lease.
func (w *Worker) journal(lease *store.Lease, run jobs.RunID) journal.Sink {
	var sink journal.Sink = patient{lease.Journal(run), w.Pace}
	if w.Journals != nil {
		sink = w.Journals(sink)
	}
	return sink
}

// yield tells runs that this process drains.
func (w *Worker) yield(ctx context.Context) func() error {
	if w.Draining == nil {
		return nil
	}
	draining := w.Draining(ctx)
	return func() error {
		select {
		case <-draining:
			return jobs.ErrShutdown
		default:
			return nil
		}
	}
}

// left tells of a run that goes on later.
func (w *Worker) left(ctx context.Context, forge fencedComments, res Result, err error) error {
	if s := res.Status; s.State == jobs.Paused || s.State == jobs.AwaitingApproval {
		say := progress.PostText
		if jobs.ClassOf(err) == jobs.InterruptClass { // another worker waits for the lease, and will have more to say
			say = func(ctx context.Context, forge progress.Commenter, job jobs.Job, text string) error {
				return postOnce(ctx, forge, job, text)
			}
		}
		if tellErr := say(context.WithoutCancel(ctx), forge, s.Job, s.Markdown()); tellErr != nil {
			w.Log.Warn("pause could not be told in the thread", "job_id", s.Job.ID, "error", tellErr)
		}
	}
	if errors.Is(err, ErrSuspended) {
		return nil // an answer brings it back into the queue
	}
	return err
}

// fencedComments lets a worker that has lost its lease say nothing more.
type fencedComments struct {
	forge vcs.Forge
	lease *store.Lease
}

func (f fencedComments) PutComment(ctx context.Context, thread vcs.Thread, c vcs.StickyComment) (vcs.Comment, error) {
	if err := f.lease.Check(ctx); err != nil {
		return vcs.Comment{}, err
	}
	return f.forge.PutComment(ctx, thread, c)
}
