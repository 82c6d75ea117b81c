package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// How long a job waits in the queue for a model's service.
const (
	// outagePause is for a service that does not say when to come back: what was
	// tried for ten minutes is not back in one.
	outagePause = 5 * time.Minute
	// longestPause: who waits for longer than that is told instead.
	longestPause = 2 * time.Hour
)

func asModelError(err error) (*model.Error, bool) { return errors.AsType[*model.Error](err) }

// waitForModel decides whether the job goes back to the queue because a model's
// service cannot answer now; nil if not. Attempts, tokens and money bound it:
// what this attempt has used is carried to the next.
func (s *session) waitForModel(ctx context.Context, err error) error {
	e, ok := asModelError(err)
	if !ok || e.Class != model.ClassRetryable || !s.ctl.Requeue || s.ctl.Attempt >= maxAttempts-1 {
		return nil
	}
	pause := e.RetryAfter
	if pause <= 0 {
		pause = outagePause
	}
	if pause > longestPause || s.usedUp() != "" {
		return nil
	}
	at := s.cfg.Now().Add(pause)
	s.tellWait(ctx, at)
	return &jobs.ClassError{Class: jobs.Retryable, RetryAt: at, Err: err}
}

// tellWait records the wait and shows it.
func (s *session) tellWait(ctx context.Context, at time.Time) {
	cause := fmt.Sprintf("the model's service takes no requests now; the job goes on by itself at %s", at.UTC().Format("2006-01-02 15:04:05 MST"))
	s.log.Warn("job waits for a model", "retry_at", at)
	if err := s.note(context.WithoutCancel(ctx), journal.NoteNotice, "%s", cause); err != nil {
		s.log.Error("wait could not be recorded", "error", err)
	}
	s.status.change(func(st *progress.Status) { st.State, st.Cause, st.Now = jobs.Queued, cause, "" })
}

// waits shows a job that goes back to the queue in its thread, and in its
// record; that it could not be told holds nothing up.
func (w *Worker) waits(ctx context.Context, forge vcs.Forge, status progress.Status) {
	ctx = context.WithoutCancel(ctx)
	if err := progress.PostText(ctx, forge, status.Job, status.Markdown()); err != nil {
		w.Log.Warn("wait could not be told in the thread", "job_id", status.Job.ID, "error", err)
	}
	_, err := w.Store.UpdateJob(ctx, status.Job.ID, func(r *store.JobRecord) error {
		r.Cause = status.Cause
		return nil
	})
	if err != nil {
		w.Log.Warn("wait could not be recorded", "job_id", status.Job.ID, "error", err)
	}
}

// carried is what the attempts before have used, as the journal of the last one
// says. What cannot be read any more is not held against the job.
func (w *Worker) carried(ctx context.Context, rec store.JobRecord) journal.Spent {
	if rec.Run == "" || rec.Attempts == 0 {
		return journal.Spent{}
	}
	lines, err := w.Store.JournalLines(ctx, rec.Run)
	if err == nil {
		var records []journal.Record
		if records, err = journal.Parse(lines); err == nil {
			var report journal.Report
			if report, err = journal.Fold(records); err == nil {
				return report.Spent()
			}
		}
	}
	w.Log.Warn("what earlier attempts used is not known", "job_id", rec.Job.ID, "error", err)
	return journal.Spent{}
}
