package agent

import (
	"context"
	"errors"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/stuck"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/plan"
	"github.com/greenwright/greenwright/agent/window"
)

const (
	// lastStepGrace is how long the last step, the one without tools, may
	// take beyond the wall clock.
	lastStepGrace = 2 * time.Minute
	// recordTimeout is how long one record may take once the run is canceled.
	recordTimeout = 10 * time.Second
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

// errTimeLimit is the cause of a context that the wall clock ended.
var errTimeLimit = errors.New("the run's wall clock ended")

// run is the state of one task being worked on. It is for one goroutine.
type run struct {
	agent   *Agent
	task    Task
	limits  Limits
	started time.Time // by Config.Now, for budgets
	softEnd time.Time // by the system's clock, for deadlines: no tool runs after it
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
	proofs   map[string]proof
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
	notices                    []string // of the platform, said after the results of this step
	late                       []string // messages that came with a submission, said after its results
	status                     string   // the last status line
}

// hardEnd is when even the last step is cut off.
func (r *run) hardEnd() time.Time { return r.softEnd.Add(lastStepGrace) }

func (r *run) end(state State, reason string) {
	r.out.State, r.out.Reason = state, reason
}

// endBy turns an error into the state that it stands for.
func (r *run) endBy(ctx context.Context, err error) {
	switch {
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
	r.refreshTree(ctx, false)
	if err := r.snapshot(ctx); err != nil {
		return err
	}
	r.first = taskMessage(r.task, r.window.Bytes(window.FixedShare))
	if err := r.say(ctx, r.first); err != nil {
		return err
	}
	for r.out.State == "" {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// step is one request and what it asks for.
func (r *run) step(ctx context.Context) error {
	if _, err := r.takeInbox(ctx); err != nil {
		return err
	}
	if used := r.spent(); used.share >= 1 {
		return r.lastStep(ctx, used)
	} else if used.share >= wrapUpShare && !r.wrapUpSaid {
		r.wrapUpSaid = true
		if err := r.say(ctx, model.Text(model.RoleUser, wrapUpText(used))); err != nil {
			return err
		}
	}
	r.out.Steps++
	reply, err := r.ask(ctx, false)
	if err != nil {
		return err
	}
	return r.take(ctx, reply)
}

// lastStep lets the model write up without tools, then ends the run with what
// is there.
func (r *run) lastStep(ctx context.Context, used spending) error {
	if err := r.say(ctx, model.Text(model.RoleUser, lastStepText(used))); err != nil {
		return err
	}
	r.out.Steps++
	reply, err := r.ask(ctx, true)
	if _, refused := errors.AsType[*model.Error](err); err != nil && !refused {
		return err // the journal, or the clock
	}
	if err == nil {
		r.out.Summary = reply.Message.Plain()
		if r.task.Kind == KindAnswer {
			r.out.Answer = r.out.Summary
		}
	}
	r.end(used.state, used.reason)
	return nil
}

// takeInbox appends messages that arrived and says whether there were any.
func (r *run) takeInbox(ctx context.Context) (bool, error) {
	if r.agent.cfg.Inbox == nil {
		return false, nil
	}
	arrived, err := r.agent.cfg.Inbox.Messages(ctx)
	if err != nil {
		return false, err
	}
	for _, m := range arrived {
		if err := r.say(ctx, model.Text(model.RoleUser, r.hear(m))); err != nil {
			return false, err
		}
	}
	return len(arrived) > 0, nil
}

// hear keeps a person's message, which no compaction may lose, and gives it as
// it joins the transcript.
func (r *run) hear(m Message) string {
	text, _ := tool.Cut(inboxText(m), r.window.ItemBytes(), 0.7)
	r.people = append(r.people, text)
	return text
}
