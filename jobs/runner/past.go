package runner

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
)

// past is what the journal says of a run that is taken up: the fold of its
// records, as far as it decides what is left to do. The zero value is a run
// that has not begun.
type past struct {
	records  []journal.Record
	report   journal.Report
	begun    bool
	state    jobs.State // where it stood, whether or not it was paused there
	prepared *journal.Prepared
	box      *journal.Box
	before   []journal.CheckRan // of a baseline that ended
	baseline bool               // the baseline has ended

	turns   int                  // of models, that have ended
	turn    journal.Spent        // what the models of that turn have used
	entries []agent.Entry        // of the turn that has not
	model   *journal.ModelChosen // of that turn
	ended   *journal.AgentEnded  // of the last turn that ended
	settled bool                 // what that turn left was proved, or there was nothing to prove
	after   []journal.CheckRan   // of its proof
	verdict *journal.Verdict
	spent   bool // a language model has been asked
	snaps   []agent.SnapshotRecord

	commits  []journal.Committed
	target   *journal.Aimed
	actions  []journal.ActionIntended
	finished map[string]journal.ActionFinished // by key, of those that went well

	approvals []jobs.Approval
}

// readPast folds the records of a run.
func readPast(records []journal.Record) (past, error) {
	p := past{state: jobs.Queued, finished: map[string]journal.ActionFinished{}}
	report, err := journal.Fold(records)
	if err != nil {
		return p, fmt.Errorf("folding the journal: %w", err)
	}
	p.records, p.report, p.begun = records, report, len(records) > 0
	for _, r := range records {
		if err := p.take(r); err != nil {
			return p, fmt.Errorf("reading record %d (%s): %w", r.Seq, r.Type, err)
		}
	}
	return p, nil
}

// with decodes a record's data and hands it on.
func with[T any](raw json.RawMessage, use func(T)) error {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	use(v)
	return nil
}

func (p *past) take(r journal.Record) error {
	switch r.Type {
	case journal.TypeResumed:
		return with(r.Data, p.takeResumed)
	case journal.TypePrepared:
		return with(r.Data, func(d journal.Prepared) { p.prepared = &d })
	case journal.TypeBox:
		return with(r.Data, func(d journal.Box) { p.box = &d })
	case journal.TypeState:
		return with(r.Data, p.takeState)
	case journal.TypeCheck:
		return with(r.Data, p.takeCheck)
	case journal.TypeModel:
		return with(r.Data, func(d journal.ModelChosen) { p.model = &d })
	case journal.TypeAgent:
		return with(r.Data, p.takeEntry)
	case journal.TypeOutcome:
		return with(r.Data, p.takeOutcome)
	case journal.TypeCommit:
		return with(r.Data, func(d journal.Committed) { p.commits = append(p.commits, d) })
	case journal.TypeVerdict:
		return with(r.Data, func(d journal.Verdict) { p.verdict, p.settled = &d, true })
	case journal.TypeTarget:
		return with(r.Data, func(d journal.Aimed) { p.target = &d })
	case journal.TypeIntended:
		return with(r.Data, func(d journal.ActionIntended) { p.actions = append(p.actions, d) })
	case journal.TypeDone:
		return with(r.Data, p.takeDone)
	case journal.TypeApproval:
		return with(r.Data, p.takeApproval)
	default: // no fact that decides anything
		return nil
	}
}

// takeResumed: what was under way when the worker was lost is done again; what
// is lost altogether never happened.
func (p *past) takeResumed(d journal.Resumed) {
	if d.Anew != "" {
		*p = past{records: p.records, report: p.report, begun: true, state: jobs.Queued, spent: p.spent, finished: p.finished, approvals: p.approvals, actions: p.actions, target: p.target}
		return
	}
	if !p.baseline {
		p.before = nil
	}
	if !p.settled {
		p.after = nil
	}
}

func (p *past) takeState(d journal.StateChanged) {
	switch d.To {
	case jobs.Paused, jobs.AwaitingApproval: // nobody works; where it stood is where it goes on
		return
	case jobs.Working:
		p.baseline = true
	case jobs.Verifying:
		if d.From == jobs.Working { // and not after a pause
			p.after, p.settled = nil, false
		}
	default:
	}
	p.state = d.To
}

func (p *past) takeCheck(d journal.CheckRan) {
	if d.Phase == journal.Before {
		p.before = append(p.before, d)
		return
	}
	if len(p.after) > 0 && p.after[0].Commit != d.Commit { // carried over, and proved again
		p.after = nil
	}
	p.after = append(p.after, d)
}

func (p *past) takeEntry(e agent.Entry) {
	switch {
	case e.Snapshot != nil:
		p.snaps = append(p.snaps, *e.Snapshot)
	case e.Reply != nil:
		p.spent = p.spent || e.Reply.Model != Mechanic
		p.turn = p.turn.Add(journal.Spent{Steps: 1, Usage: e.Reply.Usage, CostMicroUSD: e.Reply.CostMicroUSD})
	}
	if e.Kind != agent.EntryNotice || len(p.entries) > 0 { // the platform's words between two turns begin none
		p.entries = append(p.entries, e)
	}
}

func (p *past) takeOutcome(d journal.AgentEnded) {
	p.turns++
	p.ended, p.entries, p.model, p.turn = &d, nil, nil, journal.Spent{}
	p.settled, p.verdict, p.after = false, nil, nil
}

func (p *past) takeDone(d journal.ActionFinished) {
	if d.Error == "" {
		p.finished[d.Key] = d
	}
}

func (p *past) takeApproval(a jobs.Approval) {
	for i := range p.approvals {
		if p.approvals[i].ID == a.ID {
			p.approvals[i] = a
			return
		}
	}
	p.approvals = append(p.approvals, a)
}

// commitOf is the commit that was made of a tree on a parent, if one was.
func (p *past) commitOf(tree, parent string) (journal.Committed, bool) {
	i := slices.IndexFunc(p.commits, func(c journal.Committed) bool { return c.Tree == tree && c.Parent == parent })
	if i < 0 {
		return journal.Committed{}, false
	}
	return p.commits[i], true
}

// intended reports whether an action was about to be done.
func (p *past) intended(key string) bool {
	return slices.ContainsFunc(p.actions, func(a journal.ActionIntended) bool { return a.Key == key })
}

// fruitless counts how often the run was taken up at the end of its journal
// without anything having come of it.
func (p *past) fruitless() int {
	n := 0
	for _, r := range slices.Backward(p.records) {
		switch r.Type {
		case journal.TypeResumed:
			n++
		case journal.TypeState, journal.TypeNote, journal.TypeApproval, journal.TypeStarted: // words about it
		default:
			return n
		}
	}
	return n
}
