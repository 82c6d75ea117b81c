package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
)

// Played is a run's journal with its steps. A step is one reply of a model that
// works, and what follows from it; steps are counted over all turns of a run,
// from 1.
type Played struct {
	Records []journal.Record
	Step    []int // of each record; 0 before the first
	Steps   int

	job     jobs.Job
	base    string
	image   string
	setUp   bool               // it ran set-up commands
	checks  []journal.CheckRan // of the baseline, as far as it counts
	turns   []turn
	answers map[string]bool // commands that a person was asked about, and whether they were approved
}

// turn is what one model did, between two proofs.
type turn struct {
	model   string
	entries []agent.Entry
	steps   []int // of each entry
	first   int   // number of its first step, 0 for none
	last    int
	checks  []journal.CheckRan // of the proof before it
	anew    bool               // what came before it was lost
}

// Played reads a run: a journal file, or one that is named by its id or its
// job's. The chain must hold.
func (r *Runs) Played(ctx context.Context, name string) (Played, error) {
	content, err := journal.ReadFile(name)
	lines := journal.SplitLines(content)
	if errors.Is(err, os.ErrNotExist) {
		var run jobs.RunID
		if _, run, err = r.find(ctx, name); err != nil {
			return Played{}, err
		}
		lines, err = r.lines(ctx, run)
	}
	if err != nil {
		return Played{}, fmt.Errorf("reading the journal of %s: %w", name, err)
	}
	records, err := journal.Parse(lines)
	if err != nil {
		return Played{}, err
	}
	if len(records) == 0 {
		return Played{}, fmt.Errorf("%w: the journal of %s holds no record", vcs.ErrNotFound, name)
	}
	return readPlayed(records)
}

// readPlayed numbers the steps and parts the run into its turns.
func readPlayed(records []journal.Record) (Played, error) {
	p := Played{Records: records, Step: make([]int, len(records)), answers: map[string]bool{}}
	s := &reading{p: &p, asked: -1}
	for i, rec := range records {
		if err := s.take(i, rec); err != nil {
			return p, fmt.Errorf("reading record %d (%s): %w", rec.Seq, rec.Type, err)
		}
	}
	s.closeTurn(false)
	return p, nil
}

// reading is a journal while it is parted.
type reading struct {
	p     *Played
	now   turn
	after []journal.CheckRan
	asked int // where the request stands that is open, and its place among the entries; -1 for none
	entry int
	role  agent.Role
}

func (s *reading) take(i int, rec journal.Record) error {
	s.p.Step[i] = s.p.Steps
	var err error
	switch rec.Type {
	case journal.TypeStarted:
		var d journal.Started
		err = json.Unmarshal(rec.Data, &d)
		s.p.job = d.Job
	case journal.TypePrepared:
		var d journal.Prepared
		err = json.Unmarshal(rec.Data, &d)
		s.p.base = d.Base
	case journal.TypeBox:
		var d journal.Box
		err = json.Unmarshal(rec.Data, &d)
		s.p.image = d.Image
	case journal.TypeResumed:
		var d journal.Resumed
		err = json.Unmarshal(rec.Data, &d)
		s.resumed(d)
	case journal.TypeSetup:
		s.p.setUp = true
	case journal.TypeCheck:
		var d journal.CheckRan
		err = json.Unmarshal(rec.Data, &d)
		s.check(d)
	case journal.TypeModel:
		var d journal.ModelChosen
		err = json.Unmarshal(rec.Data, &d)
		s.now.model = d.Model
	case journal.TypeApproval:
		var d jobs.Approval
		err = json.Unmarshal(rec.Data, &d)
		if d.Kind == jobs.ApproveCommand && d.Decision != jobs.Waiting {
			s.p.answers[d.Shown] = d.Decision == jobs.Approved
		}
	case journal.TypeAgent:
		var e agent.Entry
		err = json.Unmarshal(rec.Data, &e)
		s.entryOf(i, e)
	case journal.TypeOutcome:
		s.closeTurn(false)
	default: // nothing that a step needs
	}
	return err
}

// resumed: a baseline that was under way runs again, and so does everything
// where what was done is lost.
func (s *reading) resumed(d journal.Resumed) {
	if d.Anew != "" {
		s.closeTurn(true)
		s.p.checks, s.after = nil, nil
	}
	if len(s.p.turns) == 0 && len(s.now.entries) == 0 {
		s.p.checks = nil
	}
}

func (s *reading) check(d journal.CheckRan) {
	if d.Phase == journal.Before {
		s.p.checks = append(s.p.checks, d)
		return
	}
	s.after = append(s.after, d)
}

// entryOf takes an entry: a reply to a request of a step begins one, with its
// request.
func (s *reading) entryOf(i int, e agent.Entry) {
	switch {
	case e.Kind == agent.EntryRequest && e.Request != nil:
		s.asked, s.entry, s.role = i, len(s.now.entries), e.Request.Role
	case e.Kind == agent.EntryReply && e.Reply != nil && works(s.role):
		s.p.Steps++
		if s.now.first == 0 {
			s.now.first = s.p.Steps
		}
		s.now.last = s.p.Steps
		s.p.Step[i] = s.p.Steps
		if s.asked >= 0 {
			s.p.Step[s.asked] = s.p.Steps
			if s.entry < len(s.now.steps) {
				s.now.steps[s.entry] = s.p.Steps
			}
		}
		s.asked = -1
	}
	s.now.entries, s.now.steps = append(s.now.entries, e), append(s.now.steps, s.p.Steps)
}

// works reports whether a request of this role is a step.
func works(role agent.Role) bool { return role != agent.RoleSummarise && role != agent.RoleReview }

// closeTurn begins the next turn, if this one has begun.
func (s *reading) closeTurn(anew bool) {
	if s.now.first > 0 {
		s.p.turns = append(s.p.turns, s.now)
	} else {
		anew = anew || s.now.anew
	}
	s.now = turn{checks: s.after, anew: anew}
	s.after = nil
}
