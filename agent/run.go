package agent

import (
	"context"
	"errors"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/stuck"
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
	// maxFormatErrors is how many replies in a row may hold no readable call.
	maxFormatErrors = 3
	// maxCuts is how many replies in a row may be cut by the output limit.
	maxCuts = 3
)

// errTimeLimit is the cause of a context that the wall clock ended.
var errTimeLimit = errors.New("the run's wall clock ended")

// run is the state of one task being worked on. It is for one goroutine.
type run struct {
	agent    *Agent
	task     Task
	limits   Limits
	started  time.Time // by Config.Now, for budgets
	softEnd  time.Time // by the system's clock, for deadlines: no tool runs after it
	system   []string
	messages []model.Message // what the model sees; the journal has the whole
	window   *window.Window
	stuck    *stuck.Detector
	ids      *ids
	out      Outcome

	tree   string // the work tree's name now
	edits  int    // names the tree when there is no hasher
	proofs map[string]proof

	nudges, formatErrors, cuts int
	reviewed                   string // digest of the difference that a finish was answered with
	reviews                    int
	wrapUpSaid                 bool
	stuckNotes                 []string // platform notices to be said after the results of this step
	late                       []string // messages that came with a submission, said after its results
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
	r.refreshTree(ctx, true)
	if err := r.say(ctx, taskMessage(r.task)); err != nil {
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
	if err != nil && ctx.Err() != nil {
		return err
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
		if err := r.say(ctx, model.Text(model.RoleUser, inboxText(m))); err != nil {
			return false, err
		}
	}
	return len(arrived) > 0, nil
}
