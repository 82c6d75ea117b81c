package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/verify"
	"github.com/greenwright/greenwright/sandbox"
)

// checkIdle is how long a verifying command may say nothing: as the operator
// has set it, else as long as it may run, since a compiler can be silent for
// long.
func (s *session) checkIdle() time.Duration {
	if set := s.cfg.Box.Limits.Idle; set > 0 {
		return set
	}
	return s.cfg.Box.Limits.WithDefaults().WallClock
}

// baseline runs the verifying commands before any edit, so that "was already
// red" is a fact.
func (s *session) baseline(ctx context.Context) error {
	if !s.job.Kind.Changes() {
		return nil
	}
	if s.past.baseline {
		return s.pastBaseline()
	}
	if err := s.move(ctx, jobs.Baseline, fmt.Sprintf("%d verifying commands", len(s.plan.Commands))); err != nil {
		return err
	}
	if s.job.Command.Options.NoVerify {
		s.plan.Commands = nil
		return s.note(ctx, journal.NoteNotice, "verification was switched off by %s (--no-verify)", s.job.Requester.Login)
	}
	if len(s.plan.Commands) == 0 {
		return nil
	}
	var err error
	if s.proof, err = s.openRoom(ctx, proofRoom, s.base, seed{}); err != nil {
		return err
	}
	s.before, err = s.runChecks(ctx, journal.Before, s.base)
	return err
}

// runChecks runs every verifying command in the proof room and records each.
func (s *session) runChecks(ctx context.Context, phase journal.Phase, commit string) ([]journal.CheckRan, error) {
	var out []journal.CheckRan
	for i, c := range s.plan.Commands {
		if err := s.yield(); err != nil {
			return nil, err
		}
		s.status.change(func(st *progress.Status) { st.Now = c.Line() })
		res, err := s.proof.box.Exec(ctx, sandbox.Cmd{Script: c.Script, Shell: c.Shell, Dir: c.Dir, Env: c.Env, Idle: s.checkIdle()})
		if err != nil {
			return nil, fmt.Errorf("running %q: %w", c.Name, err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		output := verify.Reduce(res.Output.String())
		ran := journal.CheckRan{
			Phase: phase, Name: c.Name, Command: strings.TrimSpace(c.Script), Dir: c.Dir, Source: c.Source, Commit: commit,
			ExitCode: res.ExitCode, Cause: string(res.Cause), Duration: res.Duration, Output: output,
			Environment: verify.Environment(res.ExitCode, output),
		}
		if phase == journal.After && i < len(s.before) && s.before[i].Environment == "" {
			ran.Environment = "" // it could run before the change: what it says now is the change's own
		}
		if err := s.records.Append(ctx, journal.TypeCheck, ran); err != nil {
			return nil, err
		}
		s.log.Info("verifying command ran", "phase", phase, "command", c.Name, "exit_code", res.ExitCode, "cause", res.Cause, "duration", res.Duration)
		s.status.change(func(st *progress.Status) { st.Done = doneLine(ran) })
		out = append(out, ran)
	}
	return out, nil
}

// doneLine says in a line how a command ended.
func doneLine(r journal.CheckRan) string {
	how := fmt.Sprintf("exit %d", r.ExitCode)
	switch {
	case r.Environment != "":
		how = r.Environment
	case r.Cause != string(sandbox.Exited):
		how = r.Cause
	}
	return fmt.Sprintf("%s: %s, %s", r.Name, how, r.Duration.Round(100*time.Millisecond))
}

// facts are the verifying commands as the agent is told of them.
func (s *session) facts(runs []journal.CheckRan) []model.Check {
	var out []model.Check
	for i, r := range runs[:min(len(runs), len(s.plan.Commands))] {
		c := s.plan.Commands[i]
		out = append(out, model.Check{
			Name: c.Name, Command: c.Line(), Dir: c.Dir, Env: c.Env, ExitCode: r.ExitCode, Output: r.Output,
			Red: !r.Green() && r.Environment == "", Unable: r.Environment,
		})
	}
	return out
}

func anyRed(checks []model.Check) bool {
	for _, c := range checks {
		if c.Red {
			return true
		}
	}
	return false
}

// makeCommit commits a tree on the base. What was committed before comes out as
// the same commit, on another machine as well.
func (s *session) makeCommit(ctx context.Context, tree string) error {
	was, again := s.past.commitOf(tree, s.base)
	made := journal.Committed{Tree: tree, Parent: s.base, When: s.cfg.Now().UTC().Truncate(time.Second)}
	if again {
		made.When = was.When
	}
	var err error
	if made.Commit, err = s.publisher().Commit(ctx, tree, s.base, s.subjectLine(), s.commitBody(), made.When); err != nil {
		return err
	}
	s.commit = made.Commit
	if made.Commit == was.Commit {
		return nil
	}
	return s.records.Append(ctx, journal.TypeCommit, made)
}

// provedBefore takes the verdict of a worker before this one, which is on the
// same files.
func (s *session) provedBefore(ctx context.Context) error {
	s.past.settled = false
	if _, same := s.past.commitOf(s.change.Tree, s.base); !same {
		return &lostError{what: "the restored files are not those that were proved"}
	}
	s.afterRuns, s.verdict = s.past.after, *s.past.verdict
	return s.makeCommit(ctx, s.change.Tree)
}

// prove commits the change and runs the commands on that commit, in a room
// that the agent has never been in.
func (s *session) prove(ctx context.Context) error {
	if s.past.settled { // by the worker before this one
		return s.provedBefore(ctx)
	}
	if err := s.move(ctx, jobs.Verifying, fmt.Sprintf("%d changed files", len(s.change.Files))); err != nil {
		return err
	}
	if err := s.makeCommit(ctx, s.change.Tree); err != nil {
		return err
	}
	var err error
	var after []journal.CheckRan
	if len(s.plan.Commands) > 0 {
		if err := s.proofOf(ctx, s.commit); err != nil {
			return err
		}
		if after, err = s.runChecks(ctx, journal.After, s.commit); err != nil {
			return err
		}
	}
	s.afterRuns = after
	s.verdict = verify.Judge(s.before, after)
	if s.job.Command.Options.NoVerify {
		s.verdict.Why = "verification was switched off"
	}
	return s.records.Append(ctx, journal.TypeVerdict, s.verdict)
}
