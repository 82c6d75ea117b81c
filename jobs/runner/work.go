package runner

import (
	"context"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/publish"
	"github.com/greenwright/greenwright/jobs/untrusted"
)

// choose settles who works, before anything costs time: a key that is missing
// is named at once.
func (s *session) choose(context.Context) error {
	var err error
	if s.who, err = s.workers(); err != nil {
		return err
	}
	counted := s.cfg.Limits.CostMicroUSD > 0 || s.ctl.Budget != nil && s.cfg.Ceilings.money()
	for _, w := range s.who {
		if w.choice.Unpriced && counted { // rule B1: what is not known cannot be held to a budget
			return end(jobs.Refused, "the operator: set models.prices for it, or take the ceilings in money away; or name another model with `--model`.", "the price of model %s is not known, and money is counted", w.name)
		}
	}
	return nil
}

// workAndVerify lets the models work until the change is proved, or turns run
// out.
func (s *session) workAndVerify(ctx context.Context) error {
	checks := s.facts(s.before)
	if err := s.nothingToDo(s.who[0], checks); err != nil {
		return err
	}
	done, err := s.settlePast(ctx)
	if err != nil || done {
		return err
	}
	s.past.settled = false
	var feedback string
	if s.past.turns > 0 && s.past.verdict != nil {
		s.afterRuns, s.verdict = s.past.after, *s.past.verdict
		checks, feedback = s.facts(s.afterRuns), s.feedback()
	}
	for round := s.past.turns; round < len(s.who); round++ {
		w := s.who[round]
		if s.state != jobs.Working {
			if err := s.move(ctx, jobs.Working, fmt.Sprintf("turn %d, %s", round+1, w.name)); err != nil {
				return err
			}
		}
		outcome, err := s.let(ctx, w, checks, feedback)
		if err != nil {
			return err
		}
		last := round == len(s.who)-1
		done, err := s.takeUp(ctx, w, outcome, last)
		if err != nil || done {
			return err
		}
		checks, feedback = s.facts(s.afterRuns), s.feedback()
	}
	return nil
}

// settlePast takes up what the last turn of a model left when its worker was
// lost before it was settled.
func (s *session) settlePast(ctx context.Context) (done bool, err error) {
	p := s.past
	if p.turns == 0 || len(p.entries) > 0 || p.settled && p.state == jobs.Working {
		return false, nil // none has ended, or the next has begun
	}
	round := min(p.turns, len(s.who)) - 1
	return s.takeUp(ctx, s.who[round], pastOutcome(*p.ended), round == len(s.who)-1)
}

// nothingToDo ends a job that the mechanic alone is set to and that has no red
// command.
func (s *session) nothingToDo(first worker, checks []model.Check) error {
	if first.name != Mechanic || anyRed(checks) {
		return nil
	}
	configure := "configure a language model (`models.default`), or name one with `--model`, for work that no tool can do by itself."
	switch s.job.Kind {
	case jobs.KindAsk:
		return end(jobs.Refused, configure, "no language model is configured, and the mechanic answers no questions")
	case jobs.KindReviewFollowup:
		return end(jobs.NeedsHuman, configure, "no language model is configured, and the mechanic does not read reviews")
	case jobs.KindCheckRepair:
		return end(jobs.NoChange, "run the check again: it may be flaky, or need what the sandbox does not have.", "the red check could not be reproduced: its command is green here, or cannot run here")
	case jobs.KindFix:
	}
	if lacks := unable(checks); lacks != "" {
		return end(jobs.NeedsHuman, "the operator: put what is missing where the sandbox sees it (below /usr, or by sandbox.mounts and sandbox.path), or name other commands under `verify`.", "not every verifying command can run in the sandbox, and the others are green: %s", lacks)
	}
	if len(checks) == 0 {
		return end(jobs.NoChange, "name the commands that prove a change under `verify` in .greenwright.yml.", "no verifying command is known, so the mechanic has nothing to repair")
	}
	return end(jobs.NoChange, configure, "every verifying command is green, and no language model is configured")
}

// unable names the commands that cannot run here, and what they lack.
func unable(checks []model.Check) string {
	var out []string
	for _, c := range checks {
		if c.Unable != "" {
			out = append(out, c.Name+" "+c.Unable)
		}
	}
	return strings.Join(out, "; ")
}

// ends are the outcomes of an agent that are the end of the job as well,
// unless there is a change to show.
var ends = map[agent.State]struct {
	state  jobs.State
	advice string
}{
	agent.StateRefused:          {jobs.Refused, "put the task in other words, or name another model."},
	agent.StateAwaitingApproval: {jobs.NeedsHuman, "approve or do it by hand."},
	agent.StateAsked:            {jobs.NeedsHuman, "answer the question in a new request."},
	agent.StateOutOfBudget:      {jobs.NeedsHuman, "raise the budget, or ask for a smaller step."},
	agent.StateStepLimit:        {jobs.NeedsHuman, "ask for a smaller step."},
	agent.StateCallLimit:        {jobs.NeedsHuman, "ask for a smaller step."},
	agent.StateTimeLimit:        {jobs.NeedsHuman, "ask for a smaller step."},
	agent.StateContextExhausted: {jobs.NeedsHuman, "ask for a smaller step."},
	agent.StateLooped:           {jobs.NeedsHuman, "say more about how it could be done, or name another model."},
	agent.StateStalled:          {jobs.NeedsHuman, "say more about how it could be done, or name another model."},
	agent.StateFormatErrors:     {jobs.Failed, "name another model: this one does not keep to the tools' format."},
	agent.StateOutputLimit:      {jobs.Failed, "name another model, or ask for a smaller step."},
	agent.StateFailed:           {jobs.Failed, "the operator: the worker's log has the run's id and the error."},
	agent.StateCanceled:         {jobs.Canceled, ""},
}

// takeUp reads what a model left behind and, if there is a change, proves it.
// done is whether no other turn is needed.
func (s *session) takeUp(ctx context.Context, w worker, o agent.Outcome, last bool) (done bool, err error) {
	for id, text := range o.Replies {
		s.replies[id] = text
	}
	if s.job.Kind == jobs.KindAsk {
		return true, s.takeAnswer(o)
	}
	if o.State == agent.StateAsked { // what is changed so far is kept as a patch
		return true, s.endOf(o)
	}
	if err := s.readChange(ctx); err != nil {
		return false, err
	}
	if s.change.Empty() {
		if w.name == Mechanic && !last {
			return false, nil
		}
		return true, s.noChange(w, o)
	}
	if endsWork(o.State) && s.used.Usage == (model.Usage{}) && s.used.Steps <= 1 { // no request was sent: what is there is the work of the run before
		return true, s.endOf(o)
	}
	if endsWork(o.State) { // rule B2: it stops with what is good, and says so
		if err := s.note(ctx, journal.NoteNotice, "the model stopped before it was done: %s", o.Reason); err != nil {
			return false, err
		}
	}
	if faults := publish.Inspect(s.cfg.Policy, s.change, s.diff); len(faults) > 0 {
		if err := s.approvedChange(ctx, faults); err != nil {
			return true, err
		}
	}
	if err := s.prove(ctx); err != nil {
		return false, err
	}
	red := len(s.verdict.StillRed) + len(s.verdict.NewlyRed)
	return red == 0 || endsWork(o.State), nil // what another turn could turn green
}

// endsWork: a model that has run out of something gets no further turn.
func endsWork(st agent.State) bool {
	e, isEnd := ends[st]
	return isEnd && e.state != jobs.Canceled
}

func (s *session) takeAnswer(o agent.Outcome) error {
	if o.State != agent.StateAnswered {
		return s.endOf(o)
	}
	s.answer = o.Answer
	if s.answer == "" {
		s.answer = o.Summary
	}
	return end(jobs.Answered, "", "")
}

// endOf is the end that an agent's state means.
func (s *session) endOf(o agent.Outcome) error {
	e, known := ends[o.State]
	if !known {
		return end(jobs.Failed, "ask again, or name another model.", "the agent ended %s: %s", o.State, o.Reason)
	}
	if o.State == agent.StateAsked {
		return end(e.state, e.advice, "the agent asks: %s", untrusted.Visible(o.Question))
	}
	return end(e.state, e.advice, "%s", o.Reason)
}

// noChange ends a job whose workspace is as it was.
func (s *session) noChange(w worker, o agent.Outcome) error {
	if _, isEnd := ends[o.State]; isEnd {
		return s.endOf(o)
	}
	if w.name == Mechanic {
		return end(jobs.NeedsHuman, "configure a language model (`models.default`), or repair it by hand.", "the mechanic knows no repair for what is red: %s", strings.Join(s.redNames(), ", "))
	}
	return end(jobs.NoChange, "say what should be different, if something should.", "the model found nothing to change")
}

func (s *session) redNames() []string {
	var out []string
	for _, c := range s.before {
		if !c.Green() {
			out = append(out, c.Name)
		}
	}
	return out
}

// readChange compares the workspace with its base, on the trusted side.
func (s *session) readChange(ctx context.Context) error {
	if err := s.openWork(ctx); err != nil {
		return err
	}
	var err error
	s.work.ws.Forget() // a file can be changed through a mapping without a trace in its times
	if s.change, err = s.work.ws.Changes(ctx); err != nil {
		return fmt.Errorf("reading the change: %w", err)
	}
	if s.diff, err = s.work.ws.Diff(ctx, s.change); err != nil {
		return fmt.Errorf("reading the diff: %w", err)
	}
	rec := journal.Changed{Base: s.base, Tree: s.change.Tree}
	for _, f := range s.change.Files {
		rec.Files = append(rec.Files, journal.File{Path: strings.ToValidUTF8(f.Path, "\uFFFD"), Kind: string(f.Kind), Added: f.Added, Deleted: f.Deleted, Binary: f.Binary})
	}
	for _, n := range s.change.Notes {
		rec.Notes = append(rec.Notes, strings.ToValidUTF8(n.Path, "\uFFFD")+": "+n.Text)
	}
	return s.records.Append(ctx, journal.TypeChange, rec)
}

// lastDiff is what the work room holds, for a run that ends early.
func (s *session) lastDiff(ctx context.Context) string {
	if s.work == nil || s.work.ws == nil {
		return ""
	}
	set, err := s.work.ws.Changes(ctx)
	if err != nil {
		return ""
	}
	diff, err := s.work.ws.Diff(ctx, set)
	if err != nil {
		return ""
	}
	return diff
}

// refuseChange keeps a change that may not be published.
func (s *session) refuseChange(ctx context.Context, faults []publish.Fault) error {
	var texts []string
	for _, f := range faults {
		texts = append(texts, f.Text)
		if err := s.note(ctx, journal.NoteRefusal, "%s", f.Text); err != nil {
			return err
		}
	}
	return end(jobs.NeedsHuman, "look at the kept patch and apply it by hand, or change `policy.protected_paths`.", "the change was not published: %s", strings.Join(texts, "; "))
}

// feedback tells the next turn what verification showed.
func (s *session) feedback() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Your change was verified by the platform and is not done: %s.\n", s.verdict.Why)
	for _, c := range s.afterRuns {
		if !c.Green() && c.Environment == "" {
			fmt.Fprintf(&b, "\n$ %s\nexit %d (%s)\n%s\n", c.Command, c.ExitCode, c.Cause, c.Output)
		}
	}
	return b.String()
}
