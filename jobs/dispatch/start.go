package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// startJob acknowledges, takes the thread and enqueues. When the thread is
// busy, a person's words go to the live run; what a machine saw waits.
func (h *handling) startJob(ctx context.Context, job jobs.Job) error {
	if rec, err := h.cfg.Store.Job(ctx, job.ID); err == nil && rec.State.Final() {
		h.log.Info("job has ended already", "job_id", job.ID, "state", rec.State)
		return nil
	}
	if err := h.acknowledge(ctx, job); err != nil {
		return err
	}
	if err := h.cfg.Store.CreateJob(ctx, job); err != nil {
		return err
	}
	for range maxClaims {
		holder, err := h.claim(ctx, job)
		if err != nil {
			return err
		}
		if holder == job.ID {
			return h.admit(ctx, job)
		}
		if placed, err := h.busy(ctx, job, holder); placed || err != nil {
			return err
		}
	}
	return retryable("claiming "+job.Thread.Key(), errors.New("its holder changes again and again"))
}

// maxClaims bounds how often a holder may end between the look at it and the
// message to it.
const maxClaims = 5

// admit enqueues the job that holds its thread, unless there are too many.
func (h *handling) admit(ctx context.Context, job jobs.Job) error {
	stopped, err := h.breaker(ctx, job)
	if err != nil {
		return err // the claim stays: the event comes back
	}
	if stopped {
		return h.cfg.Store.ReleaseThread(ctx, job.Thread, job.ID)
	}
	return h.enqueue(ctx, job)
}

// acknowledge leaves the eyes on the comment that asked (rule P1). What
// cannot be reacted to is still worked on.
func (h *handling) acknowledge(ctx context.Context, job jobs.Job) error {
	if job.Kind == jobs.KindCheckRepair || job.Comment.Kind == vcs.ReviewSummary {
		return nil // nobody wrote a comment, or one that takes no reaction
	}
	err := h.forge.React(ctx, job.Thread, job.Comment, vcs.ReactionEyes)
	if errors.Is(err, vcs.ErrUnavailable) {
		return retryable("reacting", err)
	}
	if err != nil {
		h.log.Warn("no reaction could be left", "job_id", job.ID, "error", err)
	}
	return nil
}

// claim takes the thread for the job, also from a holder that is gone.
func (h *handling) claim(ctx context.Context, job jobs.Job) (jobs.JobID, error) {
	holder, err := h.cfg.Store.ClaimThread(ctx, job.Thread, job.ID, "")
	if err != nil || holder == job.ID {
		return holder, err
	}
	live, err := h.live(ctx, holder)
	if err != nil || live {
		return holder, err
	}
	h.log.Warn("holder of the thread is gone, taking over", "job_id", job.ID, "holder", holder)
	return h.cfg.Store.ClaimThread(ctx, job.Thread, job.ID, holder)
}

// live reports whether a job will still do something: a worker has it, the
// queue has it, or it has claimed its thread just now and is on its way there.
func (h *handling) live(ctx context.Context, id jobs.JobID) (bool, error) {
	rec, err := h.cfg.Store.Job(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || rec.State.Final() {
		return false, err
	}
	if rec.Attempts > 0 {
		return true, nil // it was begun: if nobody holds it, whoever looks after jobs goes on with it
	}
	for _, is := range []func(context.Context, jobs.JobID) (bool, error){h.cfg.Store.Held, h.cfg.Queue.JobWaiting, h.cfg.Store.Fresh} {
		if yes, err := is(ctx, id); yes || err != nil {
			return yes, err
		}
	}
	return false, nil
}

// busy: decision 7. A command becomes input to the live run; what cannot
// waits until the thread is free. Not placed means that the holder has ended
// meanwhile.
func (h *handling) busy(ctx context.Context, job jobs.Job, holder jobs.JobID) (placed bool, err error) {
	joins, err := h.joins(ctx, job, holder)
	if err != nil {
		return false, err
	}
	if !joins {
		if merged, err := h.coalesce(ctx, job, holder); merged || err != nil {
			return merged, err
		}
		return true, h.wait(ctx, job, holder)
	}
	text := job.Command.Text
	if text == "" {
		text = "(" + string(job.Command.Verb) + ")"
	}
	taken, err := h.cfg.Store.PushMessage(ctx, job.Thread, holder, store.Message{ID: string(job.ID), Author: job.Requester, Text: text})
	if err != nil || !taken {
		return false, err
	}
	h.log.Info("thread is busy, message handed on", "job_id", job.ID, "holder", holder)
	_, err = h.cfg.Store.MoveJob(ctx, job.ID, jobs.Canceled, "became a message to job "+string(holder), func(r *store.JobRecord) { r.Into = holder })
	return true, err
}

// errBegun says that a job is under way, and takes nothing more up.
var errBegun = errors.New("job has begun")

// coalesce lets a review or a red check become part of a command's job that was
// asked for in the same moment and has not begun.
func (h *handling) coalesce(ctx context.Context, job jobs.Job, holder jobs.JobID) (bool, error) {
	if job.Kind != jobs.KindReviewFollowup && job.Kind != jobs.KindCheckRepair {
		return false, nil
	}
	if part, err := h.sameReview(ctx, job, holder); part || err != nil {
		return part, err
	}
	_, err := h.cfg.Store.UpdateJob(ctx, holder, func(r *store.JobRecord) error {
		apart := job.CreatedAt.Sub(r.Job.CreatedAt).Abs()
		if r.State != jobs.Queued || r.Attempts > 0 || r.Job.Kind != jobs.KindFix || r.Job.Internal != job.Internal || apart > jobs.CoalesceWindow {
			return errBegun
		}
		r.Job.Check = job.Check
		if job.Kind == jobs.KindReviewFollowup {
			r.Job.Kind, r.Job.Review, r.Job.Partial, r.Job.Also, r.Job.Command.Text = job.Kind, job.Review, job.Partial, r.Job.Command.Text, job.Command.Text
			r.Job.Requester, r.Job.Permission = job.Requester, min(r.Job.Permission, job.Permission) // of two, the lower
		}
		return nil
	})
	if errors.Is(err, errBegun) || errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, h.merge(ctx, job, holder)
}

// sameReview lets a remark become part of the job of the review that another
// remark has begun: that job waits out the window before it reads what it
// answers (rules R1, T9).
func (h *handling) sameReview(ctx context.Context, job jobs.Job, holder jobs.JobID) (bool, error) {
	if !job.Partial {
		return false, nil
	}
	rec, err := h.cfg.Store.Job(ctx, holder)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	first := rec.Job
	if err != nil || !first.Partial || !first.Requester.Is(job.Requester) || first.Internal != job.Internal || job.CreatedAt.Sub(first.CreatedAt).Abs() > jobs.CoalesceWindow {
		return false, err
	}
	return true, h.merge(ctx, job, holder)
}

// merge notes that a job is part of another.
func (h *handling) merge(ctx context.Context, job jobs.Job, holder jobs.JobID) error {
	h.log.Info("two triggers are one job", "job_id", job.ID, "holder", holder)
	_, err := h.cfg.Store.MoveJob(ctx, job.ID, jobs.Canceled, "became part of job "+string(holder), func(r *store.JobRecord) { r.Into = holder })
	return err
}

// joins reports whether a job may become a message to the live run, which
// takes it for an instruction. A review or a red check is none; a run that only
// answers would swallow work; and nobody directs a run that they could not
// have started: where policy opens `ask` to more people than `fix`, their
// questions are no part of a fix.
func (h *handling) joins(ctx context.Context, job jobs.Job, holder jobs.JobID) (bool, error) {
	if job.Kind == jobs.KindReviewFollowup || job.Kind == jobs.KindCheckRepair {
		return false, nil
	}
	rec, err := h.cfg.Store.Job(ctx, holder)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || job.Kind.Changes() && !rec.Job.Kind.Changes() || job.Internal != rec.Job.Internal {
		return false, err
	}
	may := h.rules.Policy.Decide(policy.Request{
		Actor: job.Requester, Self: h.rules.Self, Repo: job.Thread.Repo, Verb: rec.Job.Command.Verb, Permission: job.Permission, PermissionKnown: true,
	})
	return may.Allowed(), nil
}

// wait lets a job wait for its thread.
func (h *handling) wait(ctx context.Context, job jobs.Job, holder jobs.JobID) error {
	h.log.Info("thread is busy, job waits", "job_id", job.ID, "holder", holder)
	if err := h.cfg.Store.PushPending(ctx, job); err != nil {
		return err
	}
	now, err := h.cfg.Store.ThreadJob(ctx, job.Thread)
	if err != nil || now != "" {
		return err
	}
	return h.Next(ctx, job.Thread) // the holder ended before this one waited
}

// breaker: at most so many jobs per thread and hour (rule L3). It says so
// once, in the thread, whoever caused the job.
func (h *handling) breaker(ctx context.Context, job jobs.Job) (stopped bool, err error) {
	n, err := h.cfg.Store.Count(ctx, "jobs:"+job.Thread.Key(), string(job.ID), time.Hour)
	limit := h.rules.Policy.JobsPerHour
	if err != nil || n <= limit {
		return false, err
	}
	cause := fmt.Sprintf("more than %d jobs on this thread within an hour; this one was not started", limit)
	h.log.Warn("breaker is open", "job_id", job.ID, "thread", job.Thread.Key())
	if n == limit+1 {
		body := "Not started: " + cause + ". Ask again in the next hour, or raise `policy.jobs_per_hour`."
		if err := h.say(ctx, job.Thread, job.EventKey+"|breaker", body); err != nil {
			return true, err
		}
	}
	_, err = h.cfg.Store.MoveJob(ctx, job.ID, jobs.Refused, cause, nil)
	return true, err
}

// sayQueued begins the job's comment when every worker is busy: without it the
// thread would be silent until one is free. It is said before the job can
// start, so that it never covers what the run says.
func (h *handling) sayQueued(ctx context.Context, job jobs.Job) error {
	if h.cfg.Workers == 0 {
		return nil
	}
	cause, err := h.whyQueued(ctx)
	if err != nil || cause == "" {
		return err
	}
	if waiting, err := h.cfg.Queue.JobWaiting(ctx, job.ID); err != nil || waiting {
		return err // enqueued when the event was handled before
	}
	status := progress.Status{Job: job, State: jobs.Queued, Cause: cause}
	_, err = h.forge.PutComment(ctx, job.Thread, progress.Sticky(job, status.Markdown()))
	if err != nil {
		return fromForge("saying that a job waits", err)
	}
	return nil
}

// whyQueued is why a job will not begin at once; empty if it will.
func (h *handling) whyQueued(ctx context.Context) (string, error) {
	text, on, err := h.cfg.Store.Maintenance(ctx)
	if err != nil {
		return "", err
	}
	if on {
		return "it begins by itself when maintenance is over: " + text, nil
	}
	depth, err := h.cfg.Queue.Depth(ctx)
	if err != nil || depth.RunsWaiting == 0 && depth.RunsActive < h.cfg.Workers {
		return "", err
	}
	return fmt.Sprintf("jobs before it: %d", depth.RunsWaiting+depth.RunsActive), nil
}

// enqueue stores the job.
func (h *handling) enqueue(ctx context.Context, job jobs.Job) error {
	if err := h.sayQueued(ctx, job); err != nil {
		return err
	}
	duplicate, err := h.cfg.Queue.EnqueueJob(ctx, job)
	if err != nil {
		return err
	}
	h.log.Info("job accepted", "job_id", job.ID, "kind", job.Kind, "thread", job.Thread.Key(), "duplicate", duplicate)
	return nil
}
