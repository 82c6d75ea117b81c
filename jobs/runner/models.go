package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/untrusted"
)

// Mechanic is the name of the driver without a language model.
const Mechanic = "mechanic/auto"

// Models resolves "endpoint/model". Its error is for the operator: what to set.
type Models interface {
	Model(name string, tell Telling) (Choice, error)
}

// Telling is how a model says what a run should show; both may be nil.
type Telling struct {
	Waiting Waiting
	// Switched is told that another model answers from here on; cause is nil
	// when it is the preferred one again.
	Switched func(ctx context.Context, from, to string, cause error)
}

// Waiting is told that try number try has failed and how long the pause is.
type Waiting func(try int, pause time.Duration, cause error)

// Choice is a model that may work, with its fallbacks.
type Choice struct {
	Model model.Model
	// Window and MaxOutput are what the model and all its fallbacks take, in
	// tokens; zero is not known.
	Window, MaxOutput int
	// Tariff is the model's own; replies tell their cost by themselves.
	Tariff model.Tariff
	// Price is the tariff in words; empty for what costs nothing.
	Price string
	// Patches offers apply_patch instead of edit_file: for models that are
	// trained on it.
	Patches bool
	// TextEdits takes edits in the text of a reply for calls: for models
	// without working tool calls.
	TextEdits bool
	// Unpriced says that the price of the model, or of a fallback, is not known.
	Unpriced bool
}

// RoleModels are "endpoint/model" for a part of the work; empty is the default
// model, and for Review that nobody does.
type RoleModels struct {
	Plan, Edit, Summarise, Review string
}

// worker is a model that may have a go.
type worker struct {
	name   string
	model  model.Model
	roles  agent.Roles
	choice Choice // of the one that edits; its limits are those of all roles
	reason string
}

// language is the worker that a person or the configuration asks for; nil when
// that is the mechanic. A person's model plans and edits; who sums up and who
// reviews stays the operator's choice. name is the model at fault on an error.
func (s *session) language() (w *worker, name string, err error) {
	asked := s.job.Command.Options.Model
	name = s.cfg.Model
	roles := s.cfg.Roles
	if asked != "" {
		name, roles.Plan, roles.Edit = asked, "", ""
	}
	if name == "" || name == Mechanic {
		return nil, Mechanic, nil
	}
	if roles.Edit != "" {
		name = roles.Edit
	}
	w = &worker{name: name, reason: "as configured"}
	if asked != "" {
		w.reason = "asked for by " + s.job.Requester.Login
	}
	if w.choice, err = s.cfg.Models.Model(name, s.telling()); err != nil {
		return nil, name, err
	}
	w.model = w.choice.Model
	if roles.Plan == "" && roles.Edit != "" {
		roles.Plan = s.cfg.Model
	}
	for _, r := range []struct {
		name string
		into *model.Model
	}{{roles.Plan, &w.roles.Plan}, {roles.Summarise, &w.roles.Summarise}, {roles.Review, &w.roles.Review}} {
		if r.name == "" || r.name == name {
			if r.name != "" {
				*r.into = w.model
			}
			continue
		}
		c, err := s.cfg.Models.Model(r.name, s.telling())
		if err != nil {
			return nil, r.name, err
		}
		*r.into = c.Model
		w.choice.Join(c)
	}
	return w, name, nil
}

// Join narrows the limits to what another role's model takes as well: all see
// the same transcript.
func (c *Choice) Join(o Choice) {
	c.Window, c.MaxOutput = known(c.Window, o.Window), known(c.MaxOutput, o.MaxOutput)
	c.Unpriced = c.Unpriced || o.Unpriced
	c.Tariff = model.Tariff{
		Price:     dearer(c.Tariff.Price, o.Tariff.Price),
		LongAbove: int64(known(int(c.Tariff.LongAbove), int(o.Tariff.LongAbove))), Long: dearer(c.Tariff.Long, o.Tariff.Long),
	}
}

// dearer is the most of both: what is reserved must do for any of them.
func dearer(a, b model.Price) model.Price {
	return model.Price{
		Input: max(a.Input, b.Input), CacheRead: max(a.CacheRead, b.CacheRead), CacheWrite: max(a.CacheWrite, b.CacheWrite), Output: max(a.Output, b.Output),
	}
}

// known is the smaller of two, of which zero is not known.
func known(a, b int) int {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Limits of the window that is used.
const (
	// UsefulWindow is as much of a larger window as is used unless the operator
	// sets limits.context_tokens: each step sends all of it again, vendors charge
	// more above 100,000 to 272,000 tokens, and what is far back is found less
	// well.
	UsefulWindow = 200_000
	// replyShare of a small window is left for a reply.
	replyShare = 4
)

// limits are those of a model's turn: the operator's, fitted to the model, less
// what this job has used already.
func (s *session) limits(w worker) agent.Limits {
	l := s.cfg.Limits
	if l.ContextTokens == 0 && w.choice.Window > 0 {
		l.ContextTokens = min(w.choice.Window, UsefulWindow)
	}
	if w.choice.Window > 0 {
		l.ContextTokens = min(l.ContextTokens, w.choice.Window)
		l.MaxOutputTokens = known(l.MaxOutputTokens, min(agent.DefaultMaxOutputTokens, l.ContextTokens/replyShare))
	}
	if w.choice.MaxOutput > 0 {
		l.MaxOutputTokens = min(known(l.MaxOutputTokens, agent.DefaultMaxOutputTokens), w.choice.MaxOutput)
	}
	l.InputTokens = left(l.InputTokens, s.used.Usage.InputTotal())
	l.OutputTokens = left(l.OutputTokens, s.used.Usage.Output)
	l.CostMicroUSD = left(l.CostMicroUSD, s.used.CostMicroUSD)
	return l
}

// left is what remains of a limit; zero is no limit, and one is as good as
// nothing.
func left(limit, used int64) int64 {
	if limit <= 0 {
		return limit
	}
	return max(limit-used, 1)
}

// usedUp says which limit of the job is reached, empty if none is.
func (s *session) usedUp() string {
	l, u := s.cfg.Limits, s.used
	switch {
	case l.CostMicroUSD > 0 && u.CostMicroUSD >= l.CostMicroUSD:
		return "limits.usd"
	case l.InputTokens > 0 && u.Usage.InputTotal() >= l.InputTokens:
		return "limits.input_tokens"
	case l.OutputTokens > 0 && u.Usage.Output >= l.OutputTokens:
		return "limits.output_tokens"
	}
	return ""
}

// spend counts a model's turn.
func (s *session) spend(o agent.Outcome) {
	s.used = s.used.Add(journal.Spent{Steps: o.Steps, Usage: o.Usage, CostMicroUSD: o.CostMicroUSD})
}

// chosen is the journal's record of who works.
func (w worker) chosen() journal.ModelChosen {
	return journal.ModelChosen{Model: w.name, Reason: w.reason, Price: w.choice.Price, Unpriced: w.choice.Unpriced}
}

func (s *session) telling() Telling { return Telling{Waiting: s.waiting, Switched: s.switched} }

// waiting shows that a model's service does not answer, which otherwise looks
// as if the run hung.
func (s *session) waiting(try int, pause time.Duration, cause error) {
	s.log.Warn("model does not answer, trying again", "try", try, "pause", pause, "error", cause)
	s.status.change(func(st *progress.Status) {
		st.Now = fmt.Sprintf("the model does not answer; try %d in %s", try+1, pause.Round(time.Second))
	})
}

// switched records that another model answers, and why.
func (s *session) switched(ctx context.Context, from, to string, cause error) {
	why := from + " can be asked again"
	reason := "preferred, and can be asked again"
	if cause != nil {
		why = from + " cannot answer (" + modelFault(cause) + ")"
		reason = "in place of " + from
	}
	s.log.Warn("another model answers", "from", from, "model", to, "error", cause)
	s.status.change(func(st *progress.Status) { st.Model = to })
	ctx = context.WithoutCancel(ctx)
	if err := s.note(ctx, journal.NoteNotice, "%s: %s goes on", why, to); err != nil {
		s.log.Error("change of model could not be recorded", "error", err) // the next record fails, too, and ends the run
		return
	}
	if err := s.records.Append(ctx, journal.TypeModel, journal.ModelChosen{Model: to, Reason: reason}); err != nil {
		s.log.Error("change of model could not be recorded", "error", err)
	}
}

// modelFault is a failed request in words, without what is only for the log.
func modelFault(err error) string {
	e, ok := asModelError(err)
	if !ok {
		return "it failed"
	}
	why := string(e.Class)
	if e.Status != 0 {
		why += fmt.Sprintf(", status %d", e.Status)
	}
	if e.Message != "" {
		why += ": " + untrusted.Visible(e.Message)
	}
	return why
}

// workers says who works on the job, in turn, three times at the most (rule
// C7). The mechanic has the first go at a red check, and the only one where no
// language model is set (decision 9).
func (s *session) workers() ([]worker, error) {
	lang, name, err := s.language()
	if err != nil {
		return nil, end(jobs.Failed, "the operator: "+remedyOf(err)+"; or name another model, as `--model endpoint/name`.", "model %s cannot be used: %s", name, err)
	}
	mech, err := s.cfg.Models.Model(Mechanic, Telling{})
	if err != nil {
		return nil, fmt.Errorf("making the mechanic: %w", err)
	}
	mechanic := worker{name: Mechanic, model: mech.Model, reason: "knows how formatters and linters mend what they complain about"}
	if lang == nil {
		mechanic.reason = "no language model is configured"
		return []worker{mechanic}, nil
	}
	if s.job.Kind == jobs.KindCheckRepair {
		mechanic.reason = "has the first go at a red check"
		return []worker{mechanic, *lang, *lang}, nil
	}
	return []worker{*lang, *lang, *lang}, nil
}

// remedyOf is what to set, which a model's error names by itself where it is
// not a key.
func remedyOf(err error) string {
	if strings.Contains(err.Error(), "_KEY") {
		return "set the key in the environment of greenwright, or in a file that key_file names"
	}
	return "mend models in greenwright.yml, `greenwright doctor` helps"
}
