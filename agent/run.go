package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/stuck"
	"github.com/greenwright/greenwright/agent/tool/plan"
	"github.com/greenwright/greenwright/agent/window"
)

const (
	// lastStepGrace is how long the last step, the one without tools, may
	// take beyond the wall clock.
	lastStepGrace = 2 * time.Minute
	// recordTimeout is how long one record may take: the journal itself has
	// patience with its store. lastRecordTimeout is that once the run is canceled.
	recordTimeout     = time.Minute
	lastRecordTimeout = 10 * time.Second
	// maxNudges is how many replies without a call are answered (RUNTIME 1.2).
	maxNudges = 2
	// maxEmpty is how often a request is sent again as it is because the reply
	// had nothing in it (RUNTIME 3.5).
	maxEmpty = 2
	// maxFormatErrors is how many replies in a row may hold no readable call.
	maxFormatErrors = 3
	// maxCuts is how many replies in a row may be cut by the output limit.
	maxCuts = 3
)

// BudgetError is what a [model.Model] returns from Complete when a ceiling that
// several runs share has no room for the request. It ends the run with
// [StateOutOfBudget].
type BudgetError struct {
	What string // the ceiling, in words: "money of this month"
}

// Error says which ceiling it is.
func (e *BudgetError) Error() string { return "the limit on " + e.What + " is used up" }

// errSuspended and errYielded end the loop between two records.
var (
	errSuspended = errors.New("a call waits for a person")
	errYielded   = errors.New("the run was asked to yield")
)

// errTimeLimit is the cause of a context that the wall clock ended.
var errTimeLimit = errors.New("the run's wall clock ended")

// run is the state of one task being worked on. It is for one goroutine.
type run struct {
	agent   *Agent
	task    Task
	limits  Limits
	since   time.Time     // by Config.Now: when this worker began
	before  time.Duration // how long the workers before it worked
	softEnd time.Time     // by the system's clock, for deadlines: no tool runs after it
	system  []string
	window  *window.Window // what the model sees; the journal has the whole
	phase   phases
	stuck   *stuck.Detector
	ids     *model.CallIDs // over the whole run, also what a compaction left out
	out     Outcome

	tree     string          // the work tree's name now
	writes   int             // names the tree when there is no hasher
	edits    int             // changes of the files that are the agent's own
	sentBack map[string]bool // checks for which the run was sent back to look
	kept     string          // the tree of the last snapshot
	proofs   map[string]Proof
	plan     plan.Plan
	syntax   map[string]string // files that an edit left with new syntax errors, and the first of them
	used     map[string]bool   // tools called since the tree last changed

	first        model.Message // the task
	people       []string      // later messages of people, as said
	summary      string        // of what was left out
	compactAgain int           // tokens below which no compaction is tried

	nudges, formatErrors, cuts int
	empty                      int    // replies in a row with nothing in them
	reviewed                   string // digest of the difference that a finish was answered with
	reviews, refusals          int
	checkRuns                  int // of the platform, at a submission
	wrapUpSaid                 bool
	notices                    []string  // of the platform, said after the results of this step
	late                       []Message // those that came with a submission, said after its results
	status                     string    // the last status line

	heard   map[string]bool // messages of the inbox that joined, by id
	begun   bool            // the opening is said
	asking  Asking          // where in a step to begin
	tape    *tape
	resumed bool
	// Of a run that goes on.
	found     string   // the tree as it was found
	arrived   bool     // it was compared with the records
	moved     bool     // it is to be told that another worker goes on
	misplaced bool     // the files are not those of the records
	afresh    bool     // the transcript could not be kept
	confirm   []string // messages that may not be taken from the inbox yet

	// For the next checkpoint.
	cellsKept    map[string]string // as in the last one
	memory       map[string]string // as recorded last
	figures      window.Figures    // of the last one
	segment      *segment          // the entries since
	line         string            // behind the last result
	counted      int               // messages at the last one
	rewritten    int               // by window.Rewritten, at the last one
	sealed       State             // how the run has ended, by the last one
	proofsOfCall []Proof           // for the next finished call
	verdict      *Verdict          // likewise
}

// hardEnd is when even the last step is cut off.
func (r *run) hardEnd() time.Time { return r.softEnd.Add(lastStepGrace) }

func (r *run) end(state State, reason string) {
	r.out.State, r.out.Reason = state, reason
}

// endBy turns an error into the state that it stands for.
func (r *run) endBy(ctx context.Context, err error) {
	budget, overBudget := errors.AsType[*BudgetError](err)
	switch {
	case errors.Is(err, errSuspended): // the state is set
	case errors.Is(err, errYielded):
		r.end(StateYielded, err.Error())
	case overBudget:
		r.end(StateOutOfBudget, budget.Error())
	case errors.Is(err, errTimeLimit) || errors.Is(context.Cause(ctx), errTimeLimit):
		r.end(StateTimeLimit, "the wall clock ended")
	case ctx.Err() != nil:
		r.end(StateCanceled, "the run was canceled")
	case errors.Is(err, model.ErrRefused):
		r.end(StateRefused, err.Error())
	case errors.Is(err, model.ErrOverflow):
		r.end(StateContextExhausted, "the transcript no longer fits the model's context")
	default:
		r.end(StateFailed, err.Error())
	}
}

// loop runs steps until one of them ends the run.
func (r *run) loop(ctx context.Context) error {
	if err := r.confirmHeard(ctx); err != nil {
		return err
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	for r.out.State == "" {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.step(ctx); err != nil {
			return err
		}
		if err := r.checkpoint(ctx, AskingNothing); err != nil {
			return err
		}
	}
	return nil
}

// open says the task, unless that was done before.
func (r *run) open(ctx context.Context) error {
	switch {
	case r.afresh:
		return r.checkpoint(ctx, AskingNothing)
	case r.begun:
		return nil
	}
	if r.kept == "" {
		r.refreshTree(ctx, false)
		if err := r.snapshot(ctx); err != nil {
			return err
		}
	} else {
		r.tree, r.writes = r.kept, 1
	}
	r.first = taskMessage(r.task, r.window.Bytes(window.FixedShare))
	if err := r.say(ctx, SaidTask, r.first); err != nil {
		return err
	}
	return r.checkpoint(ctx, AskingNothing)
}

// seal records an end that came between two steps. One for what is outside of
// the run is none: it can go on.
func (r *run) seal(ctx context.Context) error {
	switch r.out.State {
	case StateFailed, StateCanceled, StateYielded, StateAwaitingApproval, r.sealed:
		return nil
	default:
	}
	if !r.tape.dry() {
		return nil
	}
	return r.checkpoint(ctx, AskingNothing)
}

// yield asks whether the run is to stop here.
func (r *run) yield() error {
	if r.agent.cfg.Yield == nil || !r.live() {
		return nil
	}
	if err := r.agent.cfg.Yield(); err != nil {
		return fmt.Errorf("%w: %w", errYielded, err)
	}
	return nil
}
