package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/untrusted"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// earlier is the run that a job goes on from, as its journal tells it. What is
// gone of it is done without.
type earlier struct {
	run   jobs.RunID
	past  past
	files bool // its files can be had
	// before are the runs that it went on from itself, the first one first: what
	// they had kept, it did not keep again.
	before []keptBy
}

// keptBy are the states that a run has kept.
type keptBy struct {
	run   jobs.RunID
	snaps []agent.SnapshotRecord
}

// MaxBefore bounds how far back the states of a run are looked for.
const MaxBefore = 16

// readEarlier looks up the run that the job goes on from.
func (s *session) readEarlier(ctx context.Context) error {
	run := s.job.Continues
	if run == "" || s.ctl.History == nil {
		return nil
	}
	records, err := s.ctl.History(ctx, run)
	if err == nil && len(records) == 0 {
		err = vcs.ErrNotFound
	}
	var p past
	if err == nil {
		p, err = readPast(records)
	}
	if errors.Is(err, jobs.ErrUnavailable) {
		return err
	}
	if err != nil {
		s.log.Warn("run to go on from cannot be read", "earlier_run", run, "error", err)
		return s.note(ctx, journal.NoteNotice, "run %s, to go on from, is not kept any more: the work begins from the base", run)
	}
	s.earlier = &earlier{run: run, past: p, files: p.prepared != nil && len(p.snaps) > 0 && s.anew == ""}
	if !s.earlier.files {
		return nil
	}
	s.earlier.before, err = s.readBefore(ctx, p)
	return err
}

// readBefore looks up what a run went on from, as long as that is kept and
// worked on the same commit.
func (s *session) readBefore(ctx context.Context, p past) ([]keptBy, error) {
	var out []keptBy
	base := p.prepared.Base
	for range MaxBefore {
		run := p.report.Started.Job.Continues
		if run == "" {
			break
		}
		records, err := s.ctl.History(ctx, run)
		if errors.Is(err, jobs.ErrUnavailable) {
			return nil, err
		}
		if err == nil {
			p, err = readPast(records)
		}
		if err != nil {
			s.log.Warn("run before the one to go on from cannot be read", "earlier_run", run, "error", err)
			break
		}
		if p.prepared == nil || p.prepared.Base != base { // or it is gone
			break
		}
		out = append(out, keptBy{run, p.snaps})
	}
	slices.Reverse(out)
	return out, nil
}

// fetchEarlier reads the states of the run before and of those that it went on
// from. Whether one of these that is gone is missed shows when they are used.
func (s *session) fetchEarlier(ctx context.Context, e *earlier) ([]git.Kept, error) {
	var out []git.Kept
	for _, k := range e.before {
		kept, err := s.fetchKept(ctx, k.run, k.snaps)
		if err != nil {
			s.log.Warn("states of a run before cannot be had", "earlier_run", k.run, "error", err)
			continue
		}
		out = append(out, kept...)
	}
	own, err := s.fetchKept(ctx, e.run, e.past.snaps)
	return append(out, own...), err
}

// pinnedEarlier puts the run on the commits of the one before it, whose files
// it takes over; done says that it has.
func (s *session) pinnedEarlier(ctx context.Context, remote vcs.Remote) (done bool, err error) {
	if s.earlier == nil || !s.earlier.files {
		return false, nil
	}
	err = s.pinTo(ctx, remote, *s.earlier.past.prepared)
	if lost, ok := errors.AsType[*lostError](err); ok {
		s.earlier.files = false
		return false, s.note(ctx, journal.NoteNotice, "the files of run %s are not taken over: %s", s.earlier.run, lost.what)
	}
	if err != nil {
		return false, err
	}
	return true, s.records.Append(ctx, journal.TypePrepared, *s.earlier.past.prepared)
}

// maxEarlier bounds what is told of the run before.
const maxEarlier = 8 << 10

// tell is what the agent is told of the run before.
func (e *earlier) tell() agent.ContextBlock {
	var b strings.Builder
	r := e.past.report
	fmt.Fprintf(&b, "It ended as %s: %s\n", strings.ReplaceAll(string(r.State), "_", " "), r.Cause)
	if e.files {
		b.WriteString("The workspace holds its files as it left them.\n")
	}
	for _, o := range r.Outcomes {
		if o.Claim != "" {
			b.WriteString("\nIts own account:\n" + o.Claim + "\n")
		}
		if o.Question != "" {
			b.WriteString("\nIt asked:\n" + o.Question + "\n")
		}
	}
	if v := r.Verdict; v != nil {
		b.WriteString("\nThe platform's verdict: " + v.Why + "\n")
	}
	text := b.String()
	if len(text) > maxEarlier {
		text = strings.ToValidUTF8(text[:maxEarlier], "") + "\n[cut]"
	}
	return agent.ContextBlock{Label: "What the run before this one came to", Text: untrusted.Visible(text)}
}
