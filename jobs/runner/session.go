package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	job     jobs.Job
	ctl     Control
	past    past     // of a run that is taken up
	anew    string   // why what was done is lost
	earlier *earlier // that the job goes on from
	log     *slog.Logger
	begun   time.Time
	dir     string
	held    *os.File // the lock on dir

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
	who               []worker          // who works, in turn
	spent             bool              // whether a model has been asked
	used              journal.Spent     // in the whole run
	kept              map[string]string // what the bucket has of the work room's states: their sums
	approvals         []jobs.Approval   // that were asked for in this run
	awaited           *jobs.Approval    // what the run now waits for
	requests          int               // to language models, in the whole run
	share             share

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
	s := &session{Runner: r, job: job, ctl: ctl, begun: r.cfg.Now(), state: jobs.Queued, replies: map[string]string{}, kept: map[string]string{}}
	s.log = r.cfg.Log.With("job_id", job.ID, "run_id", ctl.Run, "repo", job.Thread.Repo.FullName())
	s.records = journal.ContinueWriter(ctl.Run, ctl.Past, ctl.Journal, r.cfg.Now, r.cfg.Redact)
	s.status = &board{watch: ctl.Watch, begun: s.begun, now: r.cfg.Now, status: progress.Status{Job: job, Run: ctl.Run, State: jobs.Queued}}
	s.dir = filepath.Join(r.cfg.RunsDir, string(ctl.Run))
	if ctl.Token > 0 { // what a worker before this one had may not be gone yet
		s.dir += "-" + strconv.FormatInt(ctl.Token, 10)
	}
	return s
}

// begin opens the journal, or goes on with it, and looks up who and what is
// concerned.
func (s *session) begin(ctx context.Context) error {
	open := s.open
	if s.past.begun {
		open = s.takeUpRun
	}
	if err := open(ctx); err != nil {
		return err
	}
	if err := s.readEarlier(ctx); err != nil {
		return err
	}
	forge, ok := s.cfg.Forges[s.job.Thread.Repo.Forge]
	if !ok {
		return fmt.Errorf("%w: no forge %q is configured", vcs.ErrInvalid, s.job.Thread.Repo.Forge)
	}
	s.forge = forge
	if s.held != nil { // begun anew
		return nil
	}
	var err error
	s.held, err = HoldDir(s.dir)
	return err
}

// open begins a journal.
func (s *session) open(ctx context.Context) error {
	started := journal.Started{Job: s.job, Attempt: s.ctl.Attempt, Version: s.cfg.Version, Sandbox: s.cfg.Sandbox.Name()}
	if err := s.records.Append(ctx, journal.TypeStarted, started); err != nil {
		return err
	}
	return s.move(ctx, jobs.Preparing, fmt.Sprintf("attempt %d", s.ctl.Attempt+1))
}

// move changes the state: journal first, then the owner's record, then the
// thread; what ended a phase is archived. A run that is taken up is where it
// was already.
func (s *session) move(ctx context.Context, to jobs.State, cause string) error {
	if s.state == to && to != jobs.Preparing {
		return nil
	}
	if err := s.yield(); err != nil {
		return err
	}
	return s.transit(ctx, to, cause)
}

// transit is move for what a drain does not hold up.
func (s *session) transit(ctx context.Context, to jobs.State, cause string) error {
	if err := s.state.To(to); err != nil {
		return err
	}
	if err := s.records.Append(ctx, journal.TypeState, journal.StateChanged{From: s.state, To: to, Cause: cause, Actor: s.ctl.Worker}); err != nil {
		return err
	}
	s.state = to
	if err := s.ctl.Move(ctx, to, cause); err != nil {
		return err
	}
	s.archive(ctx)
	s.status.change(func(st *progress.Status) { st.Was, st.State, st.Cause, st.Now = st.State, to, cause, "" })
	s.log.Info("state changed", "state", to, "cause", cause)
	return nil
}

// archive keeps the journal so far outside of Redis. That it could not is no
// reason to stop: the stream still has it.
func (s *session) archive(ctx context.Context) {
	if !s.ctl.Resumable {
		return
	}
	lines, err := journal.Lines(s.records.Records())
	if err == nil {
		err = s.overtaken(ctx) // whose successor's journal is longer
	}
	if err == nil {
		err = s.cfg.Archive.Put(ctx, s.ctl.Run, lines)
	}
	if err != nil {
		s.log.Warn("journal so far could not be archived", "error", err)
	}
}

// overtaken is jobs.ErrLeaseLost when the run is another worker's by now: asked
// before anything is put into the bucket.
func (s *session) overtaken(ctx context.Context) error {
	if s.ctl.Fence == nil {
		return nil
	}
	if err := s.ctl.Fence(ctx); errors.Is(err, jobs.ErrLeaseLost) {
		return err
	}
	return nil // a Redis that does not answer is the journal's to tell
}

// note records something worth telling, once.
func (s *session) note(ctx context.Context, kind, format string, args ...any) error {
	n := journal.Note{Kind: kind, Text: fmt.Sprintf(format, args...)}
	if slices.Contains(s.past.report.Notes, n) {
		return nil
	}
	return s.records.Append(ctx, journal.TypeNote, n)
}

func (s *session) publisher() *publish.Publisher {
	prefix := s.cfg.BranchPrefix
	if s.config.Branch != "" {
		prefix = s.config.Branch
	}
	return &publish.Publisher{
		Forge: s.forge, Mirror: s.mirror, Job: s.job, Run: s.ctl.Run,
		Log:  actions.New(s.records, actions.WithPast(s.past.finished), actions.WithFence(s.ctl.Fence)),
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
	if err := s.state.To(e.state); err != nil {
		s.log.Error("run cannot end like this", "error", err)
		e = &ending{state: jobs.Failed, cause: "something went wrong on the worker; its log has it under run " + string(s.ctl.Run)}
	}
	ended := journal.Ended{State: e.state, Cause: e.cause, Advice: e.advice, Actor: s.ctl.Worker, Commit: s.commit, Pull: s.pull, URL: s.url, Answer: s.answer}
	if s.target != nil {
		ended.Branch = s.target.Branch
	}
	if err := s.records.Append(ctx, journal.TypeEnded, ended); err != nil {
		return Result{}, jobs.Classify(jobs.Retryable, err)
	}
	report, err := journal.Fold(s.records.Records())
	if err != nil {
		return Result{}, fmt.Errorf("folding the journal: %w", err)
	}
	res := resultOf(s.job, report)
	res.Diff = s.diff
	s.status.change(func(st *progress.Status) {
		st.State, st.Cause, st.Report, st.URL, st.Answer = e.state, e.cause, report.Markdown(), s.url, s.answer
	})
	res.Status = s.status.read()
	return res, nil
}

// resultOf is how a run ended, as its journal says.
func resultOf(job jobs.Job, report journal.Report) Result {
	e := report.Ended
	if e == nil {
		e = &journal.Ended{}
	}
	return Result{
		State: e.State, Cause: e.Cause, Report: report, Branch: e.Branch, Commit: e.Commit, Pull: e.Pull,
		Status: progress.Status{Job: job, Run: report.Run, State: e.State, Cause: e.Cause, Report: report.Markdown(), URL: e.URL, Answer: e.Answer},
	}
}

// keptNote says where the work of a run is that ends without a room.
const keptNote = "the files as run %s left them are kept; the command `continue` goes on from there"

// salvage keeps a change that did not reach the forge (rule O6).
func (s *session) salvage(ctx context.Context, e *ending) error {
	if e.state == jobs.Verified || e.state == jobs.Unverified || e.state == jobs.NoChange || e.state == jobs.Answered {
		return nil
	}
	if s.diff == "" {
		s.diff = s.lastDiff(ctx)
	}
	if s.diff == "" {
		if len(s.past.snaps) == 0 || s.work != nil {
			return nil
		}
		return s.note(ctx, journal.NoteNotice, keptNote, s.ctl.Run)
	}
	if err := s.overtaken(ctx); err != nil {
		return err
	}
	if err := s.cfg.Archive.Save(ctx, s.ctl.Run, journal.PatchName, s.redacted([]byte(s.diff))); err != nil {
		return err
	}
	return s.note(ctx, journal.NoteNotice, "the change so far is kept as %s of run %s", journal.PatchName, s.ctl.Run)
}

func (s *session) redacted(p []byte) []byte {
	if s.cfg.Redact == nil {
		return p
	}
	return s.cfg.Redact(p)
}

// close releases everything the run holds.
func (s *session) close(ctx context.Context) {
	errs := []error{s.leaveRooms(ctx), layout.RemoveTree(s.dir)}
	if s.held != nil {
		errs = append(errs, s.held.Close())
	}
	if err := errors.Join(errs...); err != nil {
		s.log.Error("run left something behind", "error", err)
	}
}

// leaveRooms closes what a run works in.
func (s *session) leaveRooms(ctx context.Context) error {
	var errs []error
	for _, r := range []*room{s.work, s.proof} {
		if r != nil {
			errs = append(errs, r.close(ctx))
		}
	}
	s.unfurnish()
	return errors.Join(errs...)
}
