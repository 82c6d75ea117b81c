package journal

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
)

// Check is one verifying command before and after; a nil side did not run.
type Check struct {
	Name, Command, Dir, Source string
	Before, After              *CheckRan
}

// Action is one effect outside and what became of it.
type Action struct {
	ActionIntended
	Done   bool
	Result string
	URL    string
	Error  string
}

// Report is what a journal says, folded.
type Report struct {
	Run     jobs.RunID
	Started Started
	State   jobs.State
	Cause   string
	Advice  string
	Begin   time.Time
	End     time.Time // of the last record

	Models  []ModelChosen
	Checks  []Check
	Box     Box
	Setups  []SetupRan
	Change  *Changed
	Verdict *Verdict
	Actions []Action
	Notes   []Note

	Steps     int
	Calls     map[string]int // by tool
	CallFails int
	Usage     model.Usage
	// Cost is what the replies cost, in millionths of a US dollar; those of
	// models without a known price are not in it.
	Cost int64
	// ByModel is the same for each model that answered, in the order of its
	// first reply.
	ByModel []ModelSpent
	// Outcomes are how the models' work ended, with their own accounts of it,
	// which are claims, not facts.
	Outcomes []AgentEnded
	// Approvals are what people were asked, with the last that is known of each.
	Approvals []jobs.Approval
	// Resumed is how often another worker took the run up, and Lost how often of
	// that the one before had not paused it.
	Resumed, Lost int
	// Ended is the last record of a run that has ended.
	Ended *Ended

	Records int
	Head    string // hash of the last record
}

// ModelSpent is what one model was used for.
type ModelSpent struct {
	Model string
	Spent
}

// Fold reads a report out of records, which Parse has checked.
func Fold(records []Record) (Report, error) {
	rep := Report{Calls: map[string]int{}, State: jobs.Queued}
	for _, r := range records {
		if err := rep.take(r); err != nil {
			return rep, fmt.Errorf("reading record %d (%s): %w", r.Seq, r.Type, err)
		}
		if rep.Begin.IsZero() {
			rep.Begin = r.Time
		}
		rep.Run, rep.End, rep.Head = r.Run, r.Time, r.Hash
		rep.Records++
	}
	return rep, nil
}

// decode reads a record's data and hands it on.
func decode[T any](raw json.RawMessage, use func(T)) error {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	use(v)
	return nil
}

func (r *Report) take(rec Record) error {
	switch rec.Type {
	case TypeStarted:
		return json.Unmarshal(rec.Data, &r.Started)
	case TypeResumed:
		return decode(rec.Data, r.takeResumed)
	case TypeState:
		return decode(rec.Data, func(s StateChanged) { r.State, r.Cause = s.To, s.Cause })
	case TypeModel:
		return decode(rec.Data, func(m ModelChosen) { r.Models = append(r.Models, m) })
	case TypeOutcome:
		return decode(rec.Data, func(o AgentEnded) { r.Outcomes = append(r.Outcomes, o) })
	case TypeCheck:
		return decode(rec.Data, r.takeCheck)
	case TypeSetupDue, TypePrepared, TypeCommit, TypeTarget: // what came of it follows
	case TypeApproval:
		return decode(rec.Data, r.takeApproval)
	case TypeBox:
		return decode(rec.Data, func(b Box) { r.Box = b })
	case TypeSetup:
		return decode(rec.Data, func(s SetupRan) { r.Setups = append(r.Setups, s) })
	case TypeAgent:
		return decode(rec.Data, r.takeEntry)
	case TypeChange:
		return decode(rec.Data, func(c Changed) { r.Change = &c })
	case TypeVerdict:
		return decode(rec.Data, func(v Verdict) { r.Verdict = &v })
	case TypeIntended:
		return decode(rec.Data, r.takeIntended)
	case TypeDone:
		return decode(rec.Data, r.takeDone)
	case TypeNote:
		return decode(rec.Data, r.takeNote)
	case TypeEnded:
		return decode(rec.Data, func(e Ended) { r.State, r.Cause, r.Advice, r.Ended = e.State, e.Cause, e.Advice, &e })
	}
	return nil // a type of a later version: not a fact this one can report
}

// takeResumed: what was begun and is done again counts once.
func (r *Report) takeResumed(res Resumed) {
	r.Resumed++
	if r.State != jobs.Paused && r.State != jobs.AwaitingApproval {
		r.Lost++
	}
	switch {
	case res.Anew != "":
		r.Checks, r.Setups, r.Change, r.Verdict, r.Outcomes, r.Models = nil, nil, nil, nil, nil, nil
		r.takeNote(Note{Kind: NoteNotice, Text: "the work was begun again: " + res.Anew})
	case r.State == jobs.Baseline:
		r.Checks = nil
	case r.State == jobs.Verifying && r.Verdict == nil:
		for i := range r.Checks {
			r.Checks[i].After = nil
		}
	}
}

func (r *Report) takeApproval(a jobs.Approval) {
	for i := range r.Approvals {
		if r.Approvals[i].ID == a.ID {
			r.Approvals[i] = a
			return
		}
	}
	r.Approvals = append(r.Approvals, a)
}

// takeNote keeps a note once: a run that is taken up comes by some places
// again.
func (r *Report) takeNote(n Note) {
	if !slices.Contains(r.Notes, n) {
		r.Notes = append(r.Notes, n)
	}
}

func (r *Report) takeCheck(c CheckRan) {
	for i := range r.Checks {
		if r.Checks[i].Name == c.Name && r.Checks[i].Command == c.Command && r.Checks[i].Dir == c.Dir {
			r.Checks[i].set(c)
			return
		}
	}
	check := Check{Name: c.Name, Command: c.Command, Dir: c.Dir, Source: c.Source}
	check.set(c)
	r.Checks = append(r.Checks, check)
}

func (c *Check) set(ran CheckRan) {
	if ran.Phase == After {
		c.After = &ran
		return
	}
	c.Before = &ran
}

func (r *Report) takeEntry(e agent.Entry) {
	switch e.Kind {
	case agent.EntryReply:
		if e.Reply != nil {
			r.takeReply(*e.Reply)
		}
	case agent.EntryFinished:
		if e.Call != nil {
			r.Calls[e.Call.Call.Name]++
			if e.Call.Result != nil && !e.Call.Result.OK {
				r.CallFails++
			}
		}
	case agent.EntryMessage, agent.EntryRequest, agent.EntryIntended, agent.EntrySnapshot, agent.EntrySuspended, agent.EntryCheckpoint, agent.EntryNotice:
	}
}

func (r *Report) takeReply(reply model.Response) {
	r.Usage, r.Cost = r.Usage.Add(reply.Usage), r.Cost+reply.CostMicroUSD
	r.Steps++
	name := reply.Model
	if name == "" && len(r.Models) > 0 { // in records of old
		name = r.Models[len(r.Models)-1].Model
	}
	one := Spent{Steps: 1, Usage: reply.Usage, CostMicroUSD: reply.CostMicroUSD}
	for i := range r.ByModel {
		if r.ByModel[i].Model == name {
			r.ByModel[i].Spent = r.ByModel[i].Add(one)
			return
		}
	}
	r.ByModel = append(r.ByModel, ModelSpent{Model: name, Spent: one})
}

// Spent is what this run and the attempts before it have used.
func (r Report) Spent() Spent {
	own := Spent{Steps: r.Steps, Usage: r.Usage, CostMicroUSD: r.cost()}
	if r.Started.Carried == nil {
		return own
	}
	return own.Add(*r.Started.Carried)
}

// cost is what the replies tell; journals of old have it at the end only.
func (r Report) cost() int64 {
	if r.Cost > 0 {
		return r.Cost
	}
	var sum int64
	for _, o := range r.Outcomes {
		sum += o.CostMicroUSD
	}
	return sum
}

// takeIntended: an action that is looked up again after its worker was lost is
// one action.
func (r *Report) takeIntended(in ActionIntended) {
	for i := range r.Actions {
		if r.Actions[i].Key == in.Key && !r.Actions[i].Done {
			r.Actions[i] = Action{ActionIntended: in}
			return
		}
	}
	r.Actions = append(r.Actions, Action{ActionIntended: in})
}

func (r *Report) takeDone(d ActionFinished) {
	for i := range r.Actions {
		if a := &r.Actions[i]; a.Key == d.Key && !a.Done {
			a.Done, a.Result, a.URL, a.Error = true, d.Result, d.URL, d.Error
			return
		}
	}
}

// Duration is the time from the first to the last record.
func (r Report) Duration() time.Duration { return r.End.Sub(r.Begin) }

// ToolCalls is how many calls ran.
func (r Report) ToolCalls() int {
	n := 0
	for _, c := range r.Calls {
		n += c
	}
	return n
}
