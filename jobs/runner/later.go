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
	"github.com/greenwright/greenwright/vcs"
)

// How long a job waits in the queue for a service.
const (
	// outagePause is for a model's service that does not say when to come back:
	// what was tried for ten minutes is not back in one.
	outagePause = 5 * time.Minute
	// longestPause: who waits for longer than that is told instead.
	longestPause = 2 * time.Hour
	// forgePause is the first wait for a forge, doubled with each attempt that
	// came no further: with maxAttempts, about eight minutes.
	forgePause = 15 * time.Second
)

// maxAttempts is how often a run is taken up without getting any further before
// it is given up.
const maxAttempts = 6

// ErrSuspended is a run that waits for a person. No worker holds it.
var ErrSuspended = errors.New("waits for a person")

// tryAgain decides whether the job goes on later instead of ending: when this
// worker stops or has lost the lease, when a person is asked, when a service
// takes no requests for a while. Nil means that it ends.
func (s *session) tryAgain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, jobs.ErrLeaseLost), errors.Is(err, jobs.ErrLeaseLost):
		return jobs.Classify(jobs.Retryable, jobs.ErrLeaseLost) // nothing more is this worker's to say
	case errors.Is(cause, jobs.ErrStopped):
		return nil
	case errors.Is(err, jobs.ErrUnavailable): // the journal cannot be written
		return jobs.Classify(jobs.Retryable, err)
	case errors.Is(cause, jobs.ErrShutdown), errors.Is(err, jobs.ErrShutdown):
		s.pause(ctx, jobs.Paused, "the worker shuts down; another goes on")
		return jobs.Classify(jobs.InterruptClass, jobs.ErrShutdown)
	case errors.Is(err, ErrSuspended):
		return s.suspend(ctx)
	case !s.ctl.Resumable:
		return nil
	}
	wait := s.waitForModel(err)
	if wait == nil {
		wait = s.waitForForge(err)
	}
	if wait == nil {
		return nil
	}
	s.pause(ctx, jobs.Paused, fmt.Sprintf("%s; the job goes on by itself at %s", wait.why, wait.until.UTC().Format("2006-01-02 15:04:05 MST")))
	return &jobs.ClassError{Class: jobs.Retryable, RetryAt: wait.until, Err: err}
}

// wait is why and until when a job waits.
type wait struct {
	why   string
	until time.Time
}

func asModelError(err error) (*model.Error, bool) { return errors.AsType[*model.Error](err) }

// waitForModel says whether the job waits for a model's service. Attempts,
// tokens and money bound it.
func (s *session) waitForModel(err error) *wait {
	e, ok := asModelError(err)
	if !ok || e.Class != model.ClassRetryable || s.ctl.Attempt >= maxAttempts-1 {
		return nil
	}
	pause := e.RetryAfter
	if pause <= 0 {
		pause = outagePause
	}
	if pause > longestPause || s.usedUp() != "" {
		return nil
	}
	return &wait{"the model's service takes no requests now", s.cfg.Now().Add(pause)}
}

// waitForForge says whether the job waits for the forge.
func (s *session) waitForForge(err error) *wait {
	if !errors.Is(err, vcs.ErrUnavailable) || s.ctl.Attempt >= maxAttempts-1 {
		return nil
	}
	until := s.cfg.Now().Add(forgePause << s.ctl.Attempt)
	if limited, ok := errors.AsType[*vcs.RateLimitError](err); ok && limited.RetryAt.After(until) {
		until = limited.RetryAt
	}
	if until.Sub(s.cfg.Now()) > longestPause {
		return nil
	}
	return &wait{"the forge does not answer", until}
}

// pause records that nobody works on the run. When even that cannot be
// recorded, the reconciler finds it by its lease.
func (s *session) pause(ctx context.Context, state jobs.State, cause string) {
	ctx = context.WithoutCancel(ctx)
	if err := s.transit(ctx, state, cause); err != nil {
		s.log.Warn("pause could not be recorded", "error", err)
		s.status.change(func(st *progress.Status) { st.State, st.Cause, st.Now = state, cause, "" })
	}
	s.log.Info("run pauses", "state", state, "cause", cause)
}

// remember takes up what the journal says.
func (s *session) remember(p past) {
	s.past = p
	if !p.begun {
		return
	}
	s.state, s.spent, s.approvals = p.report.State, p.spent, p.approvals
	s.used, s.requests = p.report.Spent(), p.report.Steps
	for _, k := range p.snaps {
		s.kept[k.ID] = k.Sum
	}
	s.replies = map[string]string{}
	if p.ended != nil {
		for id, text := range p.ended.Replies {
			s.replies[id] = text
		}
	}
}

// again begins the work anew in the same journal, since what was done is lost.
func (s *session) again(ctx context.Context, why *lostError) *session {
	s.log.Warn("run begins anew", "why", why.what, "error", why.err)
	if err := s.leaveRooms(ctx); err != nil {
		s.log.Error("run left something behind", "error", err)
	}
	n := s.newSession(s.job, s.ctl)
	n.records, n.status, n.held, n.rooms = s.records, s.status, s.held, s.rooms
	n.past = s.past
	n.past.takeResumed(journal.Resumed{Anew: why.what})
	n.state, n.used, n.spent, n.approvals, n.requests, n.anew = s.state, s.used, s.spent, s.approvals, s.requests, why.what
	s.work, s.proof, s.held = nil, nil, nil
	return n
}
