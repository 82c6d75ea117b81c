package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/untrusted"
	"github.com/greenwright/greenwright/vcs"
)

// earlier is the run that a job goes on from, as its journal tells it. What is
// gone of it is done without.
type earlier struct {
	run   jobs.RunID
	past  past
	files bool // its files can be had
}

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
	return nil
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

// tellEarlier is what the agent is told of the run before.
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
