package runner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/publish"
)

// approvals is where people are asked and where their answers are.
type approvals interface {
	AskApproval(ctx context.Context, a jobs.Approval) (jobs.Approval, error)
	Approvals(ctx context.Context, job jobs.JobID) ([]jobs.Approval, error)
}

// approvalOf finds what people said of something that is named by a hash, and
// asks them when nobody has been asked.
func (s *session) approvalOf(ctx context.Context, kind jobs.ApprovalKind, shown, reason string, bound ...string) (jobs.Approval, error) {
	parts := append([]string{string(s.job.ID), string(kind), shown}, bound...)
	hash := boundTo(parts)
	for n := 1; s.usedUpApproval(hash); n++ { // once each: the next time, people are asked again
		hash = boundTo(append(parts, strconv.Itoa(n)))
	}
	for _, a := range s.approvals {
		if a.Hash == hash && a.Decision != jobs.Expired {
			return a, nil
		}
	}
	now := s.cfg.Now().UTC()
	a, err := s.ctl.Approvals.AskApproval(ctx, jobs.Approval{
		Job: s.job.ID, Run: s.ctl.Run, Kind: kind, Hash: hash, Shown: shown, Reason: reason, AskedAt: now, Expires: now.Add(jobs.ApprovalLife),
	})
	if err != nil {
		return a, fmt.Errorf("asking for approval: %w", err)
	}
	return a, s.tookApproval(ctx, a)
}

// usedUpApproval reports whether what was approved under a hash was done.
func (s *session) usedUpApproval(hash string) bool {
	return slices.ContainsFunc(s.approvals, func(a jobs.Approval) bool { return a.Hash == hash && a.Used })
}

// boundTo names what an answer is bound to.
func boundTo(parts []string) string {
	sum := sha256.New()
	for _, p := range parts {
		_, _ = fmt.Fprintf(sum, "%d:%s\n", len(p), p)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// tookApproval records an approval as it is now.
func (s *session) tookApproval(ctx context.Context, a jobs.Approval) error {
	for i := range s.approvals {
		if s.approvals[i].ID == a.ID {
			s.approvals[i] = a
			return s.records.Append(ctx, journal.TypeApproval, a)
		}
	}
	s.approvals = append(s.approvals, a)
	return s.records.Append(ctx, journal.TypeApproval, a)
}

// hearApprovals takes up what people have answered since the run was
// suspended. What they have not answered suspends it again.
func (s *session) hearApprovals(ctx context.Context) error {
	if s.ctl.Approvals == nil {
		return nil
	}
	all, err := s.ctl.Approvals.Approvals(ctx, s.job.ID)
	if err != nil {
		return err
	}
	for _, a := range all {
		if a.Run != s.ctl.Run {
			continue
		}
		if !s.knows(a) {
			if err := s.tookApproval(ctx, a); err != nil {
				return err
			}
		}
		if s.state != jobs.AwaitingApproval {
			continue
		}
		switch a.Decision {
		case jobs.Waiting:
			s.awaited = &a
			return ErrSuspended
		case jobs.Expired:
			return end(jobs.Lapsed, "ask again, and answer within a day.", "nobody answered approval %s in time", a.ID)
		case jobs.Approved, jobs.Denied:
		}
	}
	return nil
}

func (s *session) knows(a jobs.Approval) bool {
	for _, k := range s.approvals {
		if k.ID == a.ID {
			return k.Used || k.Decision == a.Decision
		}
	}
	return false
}

// mayRun asks about a command (rule P5): shown in full, and bound to the
// directory and to the files as they are.
func (s *session) mayRun(ctx context.Context, d Decided) (tool.Result, bool) {
	if why := hides(d.Script, maxCommandLine); why != "" {
		return tool.Failf(tool.CodePolicyDenied, "a person would have to be asked (%s), and the command cannot be shown as it is: %s", d.Reason, why), false
	}
	tree, err := s.work.side.TreeHash(ctx)
	if err != nil {
		return tool.Failf(tool.CodeInternal, "not run: the files could not be named: %v", err), false
	}
	reason := d.Reason + " (rule " + d.Rule + ")"
	if d.Dir != "" {
		reason += fmt.Sprintf("; it would run in %q", d.Dir)
	}
	a, err := s.approvalOf(ctx, jobs.ApproveCommand, d.Script, reason, d.Tool, d.Dir, tree)
	if err != nil {
		return tool.Failf(tool.CodeInternal, "not run: nobody could be asked: %v", err), false
	}
	if a.Decision == jobs.Approved {
		a.Used = true
		if err := s.tookApproval(ctx, a); err != nil {
			return tool.Failf(tool.CodeInternal, "not run: that it was approved could not be recorded: %v", err), false
		}
	}
	return s.answered(a)
}

// answered is what an approval means for the call that needs it.
func (s *session) answered(a jobs.Approval) (tool.Result, bool) {
	switch a.Decision {
	case jobs.Approved:
		return tool.Result{}, true
	case jobs.Denied:
		return tool.Failf(tool.CodePolicyDenied, "%s", denial(a)), false
	case jobs.Waiting, jobs.Expired:
	}
	s.awaited = &a
	return tool.Failf(tool.CodeApprovalNeeded, "not run yet: a person is asked (approval %s)", a.ID), false
}

func denial(a jobs.Approval) string {
	text := "denied by " + a.By.Login
	if a.Why != "" {
		text += ": " + a.Why
	}
	return text
}

// maxShown is the longest text that people are asked about, in bytes: what does
// not fit into a comment beside the rest (rule O7) cannot be shown in full.
const maxShown = 40_000

// The longest lines that people are asked about, in bytes: what goes off to the
// right of a box is not seen.
const (
	maxCommandLine = 300
	maxDiffLine    = 2_000
)

// hides says why a text does not look like what it is, empty if it does.
func hides(text string, line int) string {
	if len(text) > maxShown {
		return "it is too long"
	}
	for l := range strings.Lines(text) {
		if len(l) > line {
			return fmt.Sprintf("it has a line of more than %d characters", line)
		}
	}
	for _, r := range text {
		odd := r != '\n' && r != '\t' && r != ' ' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.IsSpace(r))
		if odd || r == unicode.ReplacementChar {
			return fmt.Sprintf("it has the invisible or ambiguous character %U", r)
		}
	}
	return ""
}

// approvedChange asks about a change of what policy protects. Nil means that it
// may be published.
func (s *session) approvedChange(ctx context.Context, faults []publish.Fault) error {
	var reasons []string
	for _, f := range faults {
		if !f.Approvable {
			return s.refuseChange(ctx, faults)
		}
		reasons = append(reasons, f.Text)
	}
	if s.ctl.Approvals == nil || !s.cfg.Policy.Approves() || hides(s.diff, maxDiffLine) != "" {
		return s.refuseChange(ctx, faults)
	}
	a, err := s.approvalOf(ctx, jobs.ApproveChange, s.diff, strings.Join(reasons, "; "), s.base, s.change.Tree)
	if err != nil {
		return err
	}
	switch a.Decision {
	case jobs.Approved:
		return nil
	case jobs.Denied:
		return end(jobs.NeedsHuman, "look at the kept patch.", "the change was not published: %s", denial(a))
	case jobs.Waiting, jobs.Expired:
	}
	s.awaited = &a
	return ErrSuspended
}

// suspend lets the run wait for a person; no worker holds it meanwhile.
func (s *session) suspend(ctx context.Context) error {
	if s.awaited == nil {
		return errors.New("suspended without a question")
	}
	if s.awaited.Kind == jobs.ApproveChange && s.diff != "" { // rule O6, whatever becomes of the question
		if err := s.cfg.Archive.Save(context.WithoutCancel(ctx), s.ctl.Run, journal.PatchName, s.redacted([]byte(s.diff))); err != nil {
			s.log.Warn("change could not be kept", "error", err)
		}
	}
	if s.state != jobs.AwaitingApproval {
		s.pause(ctx, jobs.AwaitingApproval, fmt.Sprintf("waits for approval %s: %s", s.awaited.ID, s.awaited.Reason))
	}
	s.status.change(func(st *progress.Status) { st.State, st.Approval = jobs.AwaitingApproval, s.awaited })
	return jobs.Classify(jobs.CanceledClass, ErrSuspended)
}
