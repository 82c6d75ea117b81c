package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/sandbox/image"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// Images brings a container image to this machine.
type Images interface {
	Pull(ctx context.Context, ref string) (*image.Image, error)
}

// Config is what a Runner is made of.
type Config struct {
	Forges  map[vcs.ForgeName]vcs.Forge
	Git     *git.Store
	Sandbox sandbox.Driver
	// Box is what every sandbox gets besides its directories.
	Box sandbox.Spec
	// Egress is where set-up commands may connect to.
	Egress egress.Policy
	// Resolver answers the names of Egress; nil is the system's.
	Resolver egress.Resolver
	// Images brings container images.
	Images Images
	// Image is what every repository gets; empty is the worker's own system.
	Image string
	// AllowedImages are globs over what repositories may choose.
	AllowedImages []string
	Models        Models
	// Model is the default, "endpoint/model"; Mechanic for none.
	Model string
	// Roles are other models for a part of the work.
	Roles  RoleModels
	Policy policy.Config
	Limits agent.Limits
	// Ceilings are what runs may spend together.
	Ceilings Ceilings
	// RunsDir holds a directory per live run; every account must be able to
	// pass through it.
	RunsDir string
	Archive *journal.Archive
	// Redact takes the worker's secrets out of what is kept; nil keeps all.
	Redact       func([]byte) []byte
	BranchPrefix string
	Version      string
	Log          *slog.Logger
	Now          func() time.Time
}

// Runner runs jobs. It is safe for concurrent use.
type Runner struct{ cfg Config }

// New makes a Runner.
func New(cfg Config) *Runner { return &Runner{cfg: cfg} }

// Control is how the owner of a job takes part in its run.
type Control struct {
	Run     jobs.RunID
	Attempt int
	// Resumable says that there is a queue to which the job may go back: to wait
	// for a service, or for another worker to go on.
	Resumable bool
	// Past is the run's journal so far, checked; empty for a run that begins.
	Past []journal.Record
	// Worker and Token name who works under which lease, and Why says why now.
	Worker string
	Token  int64
	Why    string
	// Fence is asked before every effect outside whether the lease still holds;
	// nil holds always.
	Fence func(context.Context) error
	// Yield is asked at every boundary: its error, jobs.ErrShutdown, hands the
	// run over. Nil never does.
	Yield func() error
	// History reads the journal of another run; nil when there is none to go on
	// from.
	History func(ctx context.Context, run jobs.RunID) ([]journal.Record, error)
	// Approvals asks people; nil means that nobody can be asked.
	Approvals approvals
	// Budget bounds what runs spend together; nil bounds nothing.
	Budget Budget
	// Journal takes the records.
	Journal journal.Sink
	// Inbox hands over later messages; nil for none.
	Inbox agent.Inbox
	// Watch is shown every change of status; it must not block.
	Watch func(progress.Status)
	// Move records a state; its error ends the run.
	Move func(ctx context.Context, to jobs.State, cause string) error
	// Verify are commands to prove the change by, instead of any found.
	Verify []string
}

// Result is how a run ended.
type Result struct {
	State  jobs.State
	Cause  string
	Report journal.Report
	Status progress.Status
	Branch string
	Commit string
	Pull   int
	Diff   string
}

// ending is how a phase ends the run before the last one: not an error of the
// code, but an end of the job.
type ending struct {
	state  jobs.State
	cause  string
	advice string
	err    error // what is behind it, for the log
}

func (e *ending) Error() string {
	if e.err != nil {
		return e.cause + ": " + e.err.Error()
	}
	return e.cause
}

func (e *ending) Unwrap() error { return e.err }

func end(state jobs.State, advice, cause string, args ...any) error {
	return &ending{state: state, cause: fmt.Sprintf(cause, args...), advice: advice}
}

// Run runs the job, or goes on with a run that another worker had begun. The
// error is set when the job has not ended: ErrSuspended when it waits for a
// person, else it should be tried again (its class says when). The Result then
// holds the status only; every end is a Result.
func (r *Runner) Run(ctx context.Context, job jobs.Job, ctl Control) (Result, error) {
	p, err := readPast(ctl.Past)
	if err != nil {
		return Result{}, err
	}
	if p.report.Ended != nil { // all that is left is to tell it
		return resultOf(job, p.report), nil
	}
	s := r.newSession(job, ctl)
	s.remember(p)
	defer func() { s.close(context.WithoutCancel(ctx)) }()
	err = s.run(ctx)
	if lost, ok := errors.AsType[*lostError](err); ok && s.anew == "" {
		s = s.again(context.WithoutCancel(ctx), lost)
		err = s.run(ctx)
	}
	if again := s.tryAgain(ctx, err); again != nil {
		return Result{Status: s.status.read()}, again
	}
	return s.conclude(context.WithoutCancel(ctx), s.endingOf(ctx, err))
}

// run goes through the phases.
func (s *session) run(ctx context.Context) error {
	for _, phase := range []func(context.Context) error{s.begin, s.choose, s.prepare, s.baseline, s.workAndVerify, s.publish} {
		if err := phase(ctx); err != nil {
			return err
		}
	}
	return nil
}

// endingOf reads how the run ended; nil is the success of all phases.
func (s *session) endingOf(ctx context.Context, err error) *ending {
	var e *ending
	switch {
	case errors.Is(context.Cause(ctx), jobs.ErrStopped):
		return &ending{state: jobs.Canceled, cause: context.Cause(ctx).Error()}
	case err == nil:
		return s.published
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return &ending{state: jobs.Canceled, cause: "interrupted"}
	}
	advice := advise(err)
	if s.job.Thread.Repo.Forge == vcs.Local {
		advice = "run it again with --verbose to see what happened before."
	}
	return &ending{state: jobs.Failed, cause: s.tellable(err), advice: advice, err: err}
}

// plain says of an error what anybody may know. The rest of its text can hold
// paths, addresses and names of the worker.
var plain = []struct {
	kind error
	text string
}{
	{sandbox.ErrUnavailable, "the sandbox could not be started on the worker"},
	{git.ErrEmpty, "the repository has no commit yet"},
	{git.ErrTooLarge, "the repository, or something in it, is over a limit"},
	{git.ErrCorrupt, "the worker's copy of the repository is damaged; the next run makes a new one"},
	{vcs.ErrUnavailable, "the forge did not answer"},
	{vcs.ErrNotFound, "the forge does not show us something that is needed"},
	{vcs.ErrConflict, "something on the forge changed meanwhile"},
	{vcs.ErrUnsupported, "the forge has no such thing"},
	{jobs.ErrUnavailable, "the worker's queue did not answer"},
}

// tellable is an error's text for the thread: in full on the operator's own
// checkout, and where it names a right that is missing.
func (s *session) tellable(err error) string {
	if s.job.Thread.Repo.Forge == vcs.Local || errors.Is(err, vcs.ErrForbidden) {
		return err.Error()
	}
	if text, known := inPlainWords(err); known {
		return text
	}
	return fmt.Sprintf("something went wrong on the worker; its log has it under run %s", s.ctl.Run)
}

// inPlainWords is what anybody may know of an error, if anything is.
func inPlainWords(err error) (text string, known bool) {
	for _, p := range plain {
		if errors.Is(err, p.kind) {
			return p.text, true
		}
	}
	return "", false
}

// advise says what a person can do about an error.
func advise(err error) string {
	switch {
	case errors.Is(err, sandbox.ErrUnavailable):
		return "the operator: run `greenwright doctor` on the worker; no command is run without a sandbox."
	case errors.Is(err, vcs.ErrForbidden):
		return "the operator: give the App or token the permission that is named, then ask again."
	case errors.Is(err, vcs.ErrUnavailable):
		return "ask again when the forge answers."
	case errors.Is(err, git.ErrEmpty):
		return "push a first commit, then ask again."
	case errors.Is(err, git.ErrTooLarge):
		return "the operator: raise the limit, or exclude the repository."
	case errors.Is(err, vcs.ErrNotFound):
		return "the operator: check that the App or token can see this repository."
	}
	return "the operator: the worker's log has the run's id and the error."
}
