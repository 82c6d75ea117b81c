package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// Next starts what waited for a thread, after its job has ended and released
// it: messages that the job did not live to read, then reviews and red checks.
// What cannot be started stays where it waits.
func (d *Dispatcher) Next(ctx context.Context, thread vcs.Thread) error {
	if err := d.revive(ctx, thread); err != nil {
		return err
	}
	for {
		job, ok, err := d.cfg.Store.Pending(ctx, thread)
		if err != nil || !ok {
			return err
		}
		holder, err := d.cfg.Store.ThreadJob(ctx, thread)
		if err != nil || holder != "" && holder != job.ID {
			return err // its end starts what waits
		}
		if err := d.Start(ctx, job); err != nil {
			return fmt.Errorf("starting job %s, which waited: %w", job.ID, err)
		}
		if waits, err := d.waits(ctx, job); waits || err != nil {
			return err
		}
		if err := d.cfg.Store.DropPending(ctx, thread, job.ID); err != nil {
			return err
		}
	}
}

// waits reports whether a job has neither got its thread nor ended.
func (d *Dispatcher) waits(ctx context.Context, job jobs.Job) (bool, error) {
	rec, err := d.cfg.Store.Job(ctx, job.ID)
	if err != nil || rec.State.Final() {
		return false, err
	}
	holder, err := d.cfg.Store.ThreadJob(ctx, job.Thread)
	return holder != job.ID, err
}

// Start begins a job that no event is at hand for: it waits, or becomes a
// message, when its thread is busy.
func (d *Dispatcher) Start(ctx context.Context, job jobs.Job) error {
	forge, known := d.cfg.Forges[job.Thread.Repo.Forge]
	if !known {
		return fmt.Errorf("%w: no forge %q is configured", vcs.ErrInvalid, job.Thread.Repo.Forge)
	}
	rules, err := d.cfg.Rules(ctx, job.Thread.Repo.Forge)
	if err != nil {
		return retryable("asking the forge who we are", err)
	}
	h := &handling{Dispatcher: d, forge: forge, rules: rules, log: d.cfg.Log.With("repo", job.Thread.Repo.FullName())}
	return h.startJob(ctx, job)
}

// revive makes jobs again of messages that their job has not read, unless it
// was stopped: then they were meant for what was stopped.
func (d *Dispatcher) revive(ctx context.Context, thread vcs.Thread) error {
	unread, err := d.cfg.Store.Unread(ctx, thread)
	if err != nil {
		return err
	}
	for gone, messages := range unread {
		by, err := d.cfg.Store.StopRequested(ctx, gone)
		if err != nil {
			return err
		}
		for _, m := range messages {
			if by != "" {
				break
			}
			if err := d.wake(ctx, jobs.JobID(m.ID)); err != nil {
				return err
			}
		}
		if err := d.cfg.Store.DropMessages(ctx, thread, gone); err != nil {
			return err
		}
	}
	return nil
}

// wake lets a job that became a message wait for its thread again, under an id
// of its own.
func (d *Dispatcher) wake(ctx context.Context, id jobs.JobID) error {
	rec, err := d.cfg.Store.Job(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	job := rec.Job
	job.ID = jobID("again|" + string(id))
	d.cfg.Log.Info("message was not read, its job waits", "job_id", job.ID, "thread", job.Thread.Key())
	return d.cfg.Store.PushPending(ctx, job)
}
