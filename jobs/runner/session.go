package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/greenwright/greenwright/sandbox/layout"

	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/agent/tool/symbols"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/actions"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/publish"
	"github.com/greenwright/greenwright/jobs/repoconfig"
	"github.com/greenwright/greenwright/jobs/verify"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// session is one run of one job. It is used by one goroutine; only status is
// shared, under its lock.
type session struct {
	*Runner
	job   jobs.Job
	ctl   Control
	log   *slog.Logger
	begun time.Time
	dir   string
	held  *os.File // the lock on dir

	records *journal.Writer
	status  *board
	state   jobs.State

	// What prepare finds out.
	forge vcs.Forge
	self  vcs.Actor
	repo  vcs.Repo
	subject
	mirror  *git.Mirror
	base    string // commit
	baseRef string // branch that a new pull request goes into
	config  repoconfig.Config
	plan    verify.Plan
	furnishings
	guides string // maintainers' instruction files

	proof             *room               // where commands prove
	proofUsed         bool                // whether a commit of ours has been in it
	rooms             int                 // opened so far
	work              *room               // where the agent works
	index             *symbols.Repository // the names in the work room's files
	builder           *outline.Builder    // what it is made with
	before, afterRuns []journal.CheckRan
	who               []worker      // who works, in turn
	spent             bool          // whether a model has been asked
	used              journal.Spent // by this attempt and those before

	// What work and verify leave behind.
	change    *git.ChangeSet
	diff      string
	commit    string
	verdict   journal.Verdict
	replies   map[string]string
	target    *publish.Target
	published *ending
	pull      int
	url       string
	answer    string
}

func (r *Runner) newSession(job jobs.Job, ctl Control) *session {
	if ctl.Watch == nil {
		ctl.Watch = func(progress.Status) {}
	}
	if ctl.Move == nil {
		ctl.Move = func(context.Context, jobs.State, string) error { return nil }
	}
	s := &session{Runner: r, job: job, ctl: ctl, used: ctl.Carried, begun: r.cfg.Now(), state: jobs.Queued, replies: map[string]string{}}
	s.log = r.cfg.Log.With("job_id", job.ID, "run_id", ctl.Run, "repo", job.Thread.Repo.FullName())
	s.records = journal.NewWriter(ctl.Run, ctl.Journal, r.cfg.Now, r.cfg.Redact)
	s.status = &board{watch: ctl.Watch, begun: s.begun, now: r.cfg.Now, status: progress.Status{Job: job, Run: ctl.Run, State: jobs.Queued}}
	s.dir = filepath.Join(r.cfg.RunsDir, string(ctl.Run))
	return s
}

// begin opens the journal and looks up who and what is concerned.
func (s *session) begin(ctx context.Context) error {
	started := journal.Started{Job: s.job, Attempt: s.ctl.Attempt, Version: s.cfg.Version, Sandbox: s.cfg.Sandbox.Name()}
	if s.ctl.Carried != (journal.Spent{}) {
		started.Carried = &s.ctl.Carried
	}
	if err := s.records.Append(ctx, journal.TypeStarted, started); err != nil {
		return err
	}
	if err := s.move(ctx, jobs.Preparing, fmt.Sprintf("attempt %d", s.ctl.Attempt+1)); err != nil {
		return err
	}
	forge, ok := s.cfg.Forges[s.job.Thread.Repo.Forge]
	if !ok {
		return fmt.Errorf("%w: no forge %q is configured", vcs.ErrInvalid, s.job.Thread.Repo.Forge)
	}
	s.forge = forge
	var err error
	s.held, err = HoldDir(s.dir)
	return err
}

// move changes the state: journal first, then the owner's record, then the
// thread.
func (s *session) move(ctx context.Context, to jobs.State, cause string) error {
	if err := s.state.To(to); err != nil {
		return err
	}
	if err := s.records.Append(ctx, journal.TypeState, journal.StateChanged{From: s.state, To: to, Cause: cause}); err != nil {
		return err
	}
	s.state = to
	if err := s.ctl.Move(ctx, to, cause); err != nil {
		return err
	}
	s.status.change(func(st *progress.Status) { st.State, st.Cause, st.Now = to, cause, "" })
	s.log.Info("state changed", "state", to, "cause", cause)
	return nil
}

// note records something worth telling.
func (s *session) note(ctx context.Context, kind, format string, args ...any) error {
	return s.records.Append(ctx, journal.TypeNote, journal.Note{Kind: kind, Text: fmt.Sprintf(format, args...)})
}

func (s *session) publisher() *publish.Publisher {
	prefix := s.cfg.BranchPrefix
	if s.config.Branch != "" {
		prefix = s.config.Branch
	}
	return &publish.Publisher{
		Forge: s.forge, Mirror: s.mirror, Log: actions.New(s.records), Now: s.cfg.Now, Job: s.job, Run: s.ctl.Run,
		Repo: s.repo, Self: s.self, BranchPrefix: prefix,
	}
}

// conclude records the end, keeps what was not published, and makes the
// report out of the records.
func (s *session) conclude(ctx context.Context, e *ending) (Result, error) {
	if err := s.salvage(ctx, e); err != nil {
		s.log.Error("change could not be kept", "error", err)
	}
	s.log.Info("run ended", "state", e.state, "cause", e.cause, "error", e.err)
	if err := s.records.Append(ctx, journal.TypeEnded, journal.Ended{State: e.state, Cause: e.cause, Advice: e.advice}); err != nil {
		return Result{}, jobs.Classify(jobs.Retryable, err)
	}
	report, err := journal.Fold(s.records.Records())
	if err != nil {
		return Result{}, fmt.Errorf("folding the journal: %w", err)
	}
	res := Result{State: e.state, Cause: e.cause, Report: report, Commit: s.commit, Pull: s.pull, Diff: s.diff}
	if s.target != nil {
		res.Branch = s.target.Branch
	}
	s.status.change(func(st *progress.Status) {
		st.State, st.Cause, st.Report, st.URL, st.Answer = e.state, e.cause, report.Markdown(), s.url, s.answer
	})
	res.Status = s.status.read()
	return res, nil
}

// patchName is the artifact that keeps an unpublished change.
const patchName = "change.patch"

// salvage keeps a change that did not reach the forge (rule O6).
func (s *session) salvage(ctx context.Context, e *ending) error {
	if e.state == jobs.Verified || e.state == jobs.Unverified || e.state == jobs.NoChange || e.state == jobs.Answered {
		return nil
	}
	if s.diff == "" {
		s.diff = s.lastDiff(ctx)
	}
	if s.diff == "" {
		return nil
	}
	if err := s.cfg.Archive.Save(s.ctl.Run, patchName, s.redacted([]byte(s.diff))); err != nil {
		return err
	}
	return s.note(ctx, journal.NoteNotice, "the change so far is kept as %s of run %s", patchName, s.ctl.Run)
}

func (s *session) redacted(p []byte) []byte {
	if s.cfg.Redact == nil {
		return p
	}
	return s.cfg.Redact(p)
}

// close releases everything the run holds.
func (s *session) close(ctx context.Context) {
	var errs []error
	for _, r := range []*room{s.work, s.proof} {
		if r != nil {
			errs = append(errs, r.close(ctx))
		}
	}
	s.unfurnish()
	errs = append(errs, layout.RemoveTree(s.dir))
	if s.held != nil {
		errs = append(errs, s.held.Close())
	}
	if err := errors.Join(errs...); err != nil {
		s.log.Error("run left something behind", "error", err)
	}
}
