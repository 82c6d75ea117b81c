package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/publish"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// lostError says that what a run had done cannot be had any more: it begins
// again, in the same journal.
type lostError struct {
	what string
	err  error // for the log
}

func (e *lostError) Error() string {
	if e.err != nil {
		return e.what + ": " + e.err.Error()
	}
	return e.what
}

func (e *lostError) Unwrap() error { return e.err }

// takeUpRun goes on with the journal of a run whose worker has gone.
func (s *session) takeUpRun(ctx context.Context) error {
	p := &s.past
	if p.state != jobs.Queued && p.state != jobs.Preparing && p.prepared == nil && s.anew == "" {
		return &lostError{what: "its journal was begun by an older version"}
	}
	if err := s.records.Append(ctx, journal.TypeResumed, journal.Resumed{Worker: s.ctl.Worker, Token: s.ctl.Token, Cause: s.ctl.Why, Anew: s.anew}); err != nil {
		return err
	}
	if err := s.hearApprovals(ctx); err != nil {
		return err
	}
	if p.state == jobs.Queued || p.state == jobs.Preparing || s.state == jobs.Preparing {
		return s.transit(ctx, jobs.Preparing, fmt.Sprintf("attempt %d", s.ctl.Attempt+1))
	}
	if s.state != p.state {
		return s.transit(ctx, p.state, "taken up")
	}
	s.status.change(func(st *progress.Status) { st.State, st.Cause = p.state, "taken up by another worker" })
	return nil
}

// pinned brings the commits that the run works on, wherever the branches are
// by now.
func (s *session) pinned(ctx context.Context, remote vcs.Remote) error {
	return s.pinTo(ctx, remote, *s.past.prepared)
}

func (s *session) pinTo(ctx context.Context, remote vcs.Remote, p journal.Prepared) error {
	for _, commit := range []string{p.Base, p.Trusted} {
		if _, err := s.mirror.ListFiles(ctx, commit, ""); err == nil {
			continue
		}
		if _, err := s.mirror.Fetch(ctx, remote, commit); err != nil {
			if errors.Is(err, vcs.ErrUnavailable) {
				return fmt.Errorf("fetching the commit that the run works on: %w", err)
			}
			return &lostError{"the commit that it worked on is gone from the forge", err}
		}
	}
	s.base, s.trusted, s.baseRef = p.Base, p.Trusted, p.BaseRef
	if s.pr != nil {
		s.pr.Head.SHA = p.Base
	}
	s.status.change(func(st *progress.Status) { st.HeadSHA = s.base })
	return nil
}

// pastBaseline takes the results of a baseline that ended.
func (s *session) pastBaseline() error {
	if s.job.Command.Options.NoVerify {
		s.plan.Commands = nil
	}
	s.before = s.past.before
	if len(s.before) != len(s.plan.Commands) {
		return &lostError{what: fmt.Sprintf("it was begun with %d verifying commands, and there are %d now", len(s.before), len(s.plan.Commands))}
	}
	for i, c := range s.plan.Commands {
		if s.before[i].Name != c.Name {
			return &lostError{what: "its verifying commands are others now"}
		}
	}
	return nil
}

// restoreWork brings the work room to the last state that the journal names, or
// that of the run which this one goes on from.
func (s *session) restoreWork(ctx context.Context) error {
	if s.work.snaps == nil {
		return nil
	}
	var kept []git.Kept
	snaps := s.past.snaps
	if e := s.earlier; e != nil && e.files {
		before, err := s.fetchEarlier(ctx, e)
		if err != nil {
			return err
		}
		kept, snaps = before, append(e.past.snaps[:len(e.past.snaps):len(e.past.snaps)], snaps...)
	}
	if len(snaps) == 0 {
		return nil
	}
	own, err := s.fetchKept(ctx, s.ctl.Run, s.past.snaps)
	if err != nil {
		return err
	}
	kept = append(kept, own...)
	if err := s.work.snaps.Import(ctx, kept); err != nil {
		return &lostError{"the kept states of its files cannot be used", err}
	}
	last := snaps[len(snaps)-1]
	if at, ok := agent.LastSnapshot(s.past.entries); ok { // one behind a call that did not finish is passed over
		last = at
	}
	got, err := s.work.snaps.Resume(ctx, last.ID)
	if err != nil {
		return &lostError{"the last state of its files could not be restored", err}
	}
	if len(got.Left) > 0 {
		s.log.Warn("not everything was restored", "left", len(got.Left), "first", got.Left[0].Path)
	}
	tree, err := s.work.side.TreeHash(ctx)
	if err != nil {
		return fmt.Errorf("naming the restored files: %w", err)
	}
	if last.Tree != "" && tree != last.Tree {
		return &lostError{what: "the restored files are not those that were kept"}
	}
	s.log.Info("files are restored", "snapshot", last.ID, "tree", tree)
	return nil
}

// pastOutcome is how a model's turn ended, as the journal says.
func pastOutcome(e journal.AgentEnded) agent.Outcome {
	return agent.Outcome{
		State: agent.State(e.State), Reason: e.Reason, Summary: e.Claim, Answer: e.Answer, Question: e.Question, Replies: e.Replies, CostMicroUSD: e.CostMicroUSD,
	}
}

// findPushed looks whether a worker before this one has pushed: its commit is
// then on the branch, though perhaps not the one that this worker would make.
func (s *session) findPushed(ctx context.Context) error {
	if len(s.past.actions) == 0 {
		return nil
	}
	remote, err := s.forge.Remote(ctx, s.repo.RepoRef, vcs.Read)
	if err != nil {
		return fmt.Errorf("asking for read access: %w", err)
	}
	head, err := s.mirror.RemoteRef(ctx, remote, "refs/heads/"+s.target.Branch)
	if errors.Is(err, vcs.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking where branch %s is: %w", s.target.Branch, err)
	}
	for _, c := range s.past.commits {
		if c.Commit == head && s.past.intended(publish.PushKey(s.target.Branch, head)) {
			s.commit = head
			return nil
		}
	}
	return nil
}

// yield says that this worker drains: the run stops at this boundary, and
// another goes on.
func (s *session) yield() error {
	if s.ctl.Yield == nil {
		return nil
	}
	return s.ctl.Yield()
}
