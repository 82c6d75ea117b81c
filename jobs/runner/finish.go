package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// past is the journal of a run so far, checked: what Redis has, and in front of
// it what only the archive has.
func (w *Worker) past(ctx context.Context, run jobs.RunID) ([]journal.Record, error) {
	if run == "" {
		return nil, nil
	}
	live, err := w.Store.JournalLines(ctx, run)
	if err != nil {
		return nil, err
	}
	all, err := w.Runner.cfg.Archive.Joined(ctx, run, live)
	if err != nil {
		return nil, err
	}
	return journal.Parse(all)
}

// finish records the end, then tells it, then frees the thread. What could not
// be told yet is told when the queue comes back to the job.
func (w *Worker) finish(ctx context.Context, lease *store.Lease, job jobs.Job, res Result, say teller) error {
	ctx = context.WithoutCancel(ctx)
	if err := lease.Check(ctx); errors.Is(err, jobs.ErrLeaseLost) {
		return err // the archive and the reservations are the new holder's
	}
	if err := w.archive(ctx, res.Report.Run); err != nil {
		w.Log.Error("journal could not be archived", "job_id", job.ID, "error", err)
	}
	rec, err := lease.UpdateJob(ctx, job.ID, func(r *store.JobRecord) error {
		if r.State.Final() { // stopped meanwhile by somebody who has told it
			return nil
		}
		r.State, r.Cause, r.Untold = res.State, res.Cause, res.Status.Markdown()
		r.Branch, r.Pull, r.URL = res.Branch, res.Pull, res.Status.URL
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := w.Store.SettleRun(ctx, rec.Run); err != nil {
		w.Log.Warn("reservations stay open", "job_id", job.ID, "error", err)
	}
	return w.wrapUp(ctx, rec, say)
}

// teller gets the last word of a job into its thread.
type teller func(ctx context.Context, forge vcs.Forge, job jobs.Job, text string) error

// patientTeller tries for minutes: a run has ended, and nobody waits.
func patientTeller(ctx context.Context, forge vcs.Forge, job jobs.Job, text string) error {
	return progress.PostText(ctx, forge, job, text)
}

// quickTeller tries once: somebody waits, and whoever looks after jobs tells it
// later.
func quickTeller(ctx context.Context, forge vcs.Forge, job jobs.Job, text string) error {
	return postOnce(ctx, forge, job, text)
}

func postOnce(ctx context.Context, forge progress.Commenter, job jobs.Job, text string) error {
	const limit = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := forge.PutComment(ctx, job.Thread, progress.Sticky(job, text))
	return err
}

// wrapUp tells an end that is not told yet and frees the thread.
func (w *Worker) wrapUp(ctx context.Context, rec store.JobRecord, say teller) error {
	job := rec.Job
	var untold error
	if rec.Untold != "" {
		err := w.tell(ctx, rec, say)
		switch {
		case errors.Is(err, vcs.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
			untold = jobs.Classify(jobs.Retryable, err)
		case errors.Is(err, jobs.ErrUnavailable):
			return err
		case err != nil: // the thread is gone or closed to us: there is nobody to tell
			w.Log.Error("end cannot be told in the thread", "job_id", job.ID, "error", err)
			if err := w.toldOff(ctx, job.ID); err != nil {
				return err
			}
		}
	}
	if err := w.Store.ReleaseThread(ctx, job.Thread, job.ID); err != nil {
		return err
	}
	if w.Next == nil {
		return untold
	}
	return errors.Join(untold, w.Next(ctx, job.Thread))
}

func (w *Worker) tell(ctx context.Context, rec store.JobRecord, say teller) error {
	forge, ok := w.Runner.cfg.Forges[rec.Job.Thread.Repo.Forge]
	if !ok {
		return fmt.Errorf("%w: no forge %q is configured", vcs.ErrInvalid, rec.Job.Thread.Repo.Forge)
	}
	if err := say(ctx, forge, rec.Job, rec.Untold); err != nil {
		return err
	}
	return w.toldOff(ctx, rec.Job.ID)
}

// toldOff notes that nothing of a job is left to be told.
func (w *Worker) toldOff(ctx context.Context, id jobs.JobID) error {
	_, err := w.Store.UpdateJob(ctx, id, func(r *store.JobRecord) error {
		r.Untold = ""
		return nil
	})
	return err
}

// archive keeps the journal for good, after which Redis need not have it long.
func (w *Worker) archive(ctx context.Context, run jobs.RunID) error {
	if run == "" {
		return nil
	}
	records, err := w.past(ctx, run)
	if err != nil {
		return err
	}
	lines, err := journal.Lines(records)
	if err != nil {
		return err
	}
	if err := w.Runner.cfg.Archive.Put(ctx, run, lines); err != nil {
		return err
	}
	return w.Store.Archived(ctx, run)
}

// Lost is told of a job that the queue has given up: its end is recorded and
// told like any other.
func (w *Worker) Lost(ctx context.Context, id jobs.JobID, cause error) {
	w.Log.Error("job is given up", "job_id", id, "error", cause)
	text, known := inPlainWords(cause)
	if !known {
		text = fmt.Sprintf("something went wrong on the worker; its log has it under job %s", id)
	}
	if err := w.End(ctx, id, jobs.Failed, "given up: "+text, w.ID); err != nil {
		w.Log.Error("lost job could not be ended", "job_id", id, "error", err)
	}
}

// End ends a job on which nobody works: one that waits, or whose worker is
// dead. jobs.ErrLeaseLost says that somebody does work on it.
func (w *Worker) End(ctx context.Context, id jobs.JobID, state jobs.State, cause, actor string) error {
	lease, err := w.Store.Acquire(ctx, id, w.ID, w.Pace.withDefaults().Lease)
	if err != nil {
		return err
	}
	defer func() { _ = lease.Release(context.WithoutCancel(ctx)) }()
	rec, err := w.Store.Job(ctx, id)
	if err != nil {
		return err
	}
	if rec.State.Final() {
		return w.told(w.wrapUp(ctx, rec, quickTeller))
	}
	records, err := w.past(ctx, rec.Run)
	if err != nil && !errors.Is(err, journal.ErrBroken) && !errors.Is(err, journal.ErrNewer) {
		return err
	}
	if err != nil {
		records = nil // which nothing may be built on
	}
	return w.told(w.end(ctx, lease, rec, records, journal.Ended{State: state, Cause: cause}, actor, quickTeller))
}

// told: an end that could not be told yet is an end; the reconciler tells it.
func (w *Worker) told(err error) error {
	if errors.Is(err, vcs.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		w.Log.Warn("end could not be told yet", "error", err)
		return nil
	}
	return err
}

// end writes the end into the journal, if there is one, and finishes.
func (w *Worker) end(ctx context.Context, lease *store.Lease, rec store.JobRecord, records []journal.Record, e journal.Ended, actor string, say teller) error {
	defer w.free(context.WithoutCancel(ctx), rec.Job)
	res := Result{State: e.State, Cause: e.Cause, Status: progress.Status{Job: rec.Job, State: e.State, Cause: e.Cause}}
	if len(records) > 0 {
		report, err := w.endJournal(ctx, lease, rec, records, e, actor)
		if errors.Is(err, jobs.ErrUnavailable) || errors.Is(err, jobs.ErrLeaseLost) {
			return err
		}
		if err == nil {
			res = resultOf(rec.Job, report)
		} else { // it cannot be read: the job ends without it
			w.Log.Error("end could not be written into the journal", "job_id", rec.Job.ID, "error", err)
		}
	}
	return w.finish(ctx, lease, rec.Job, res, say)
}

// endJournal adds the end to a journal that has none.
func (w *Worker) endJournal(ctx context.Context, lease *store.Lease, rec store.JobRecord, records []journal.Record, e journal.Ended, actor string) (journal.Report, error) {
	report, err := journal.Fold(records)
	if err != nil || report.Ended != nil {
		return report, err
	}
	e.Actor = actor
	writer := journal.ContinueWriter(rec.Run, records, lease.Journal(rec.Run), w.Now, w.Runner.cfg.Redact)
	if len(report.Calls) > 0 { // rule O6
		note := journal.Note{Kind: journal.NoteNotice, Text: fmt.Sprintf(keptNote, rec.Run)}
		if err := writer.Append(ctx, journal.TypeNote, note); err != nil {
			return report, err
		}
	}
	if err := writer.Append(ctx, journal.TypeEnded, e); err != nil {
		return report, err
	}
	return journal.Fold(writer.Records())
}
