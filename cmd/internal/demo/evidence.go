package demo

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
)

// evidence is what a scene left behind, read where it lies.
type evidence struct {
	comment  vcs.Comment // the job's, at its end
	pull     *vcs.PullRequest
	tip      string // of the pull request's branch, in the repository
	diff     string
	journal  string // the file
	report   journal.Report
	verified string // what `greenwright journal verify` says
	outside  ran    // the check on a fresh clone of the branch
}

// gather reads the evidence of a scene. What is not there stays empty: judge
// names it.
func (s *stage) gather(ctx context.Context, o *outcome) error {
	o.comment, _ = s.progress(o)
	o.pull = s.pullOf(o)
	if err := s.findJournal(ctx, o); err != nil {
		return err
	}
	if o.pull == nil {
		return nil
	}
	tips, err := o.repo.Branches()
	if err != nil {
		return fmt.Errorf("reading the branches: %w", err)
	}
	o.tip = tips[o.pull.Head.Name]
	if o.tip == "" {
		return nil
	}
	from := o.before
	if from == "" {
		from = tips["main"]
	}
	o.diff, err = gitOutput(ctx, s.opts.Environ, "", "--git-dir", o.repo.Dir(), "diff", "--no-color", "--no-ext-diff", from, o.tip, "--")
	return err
}

// pullOf is the person's pull request, or the one that Greenwright opened.
func (s *stage) pullOf(o *outcome) *vcs.PullRequest {
	for _, p := range o.repo.Pulls() {
		if o.head != "" && p.Number == o.thread || o.head == "" && p.Author.Is(s.forge.Bot()) {
			return &p
		}
	}
	return nil
}

// findJournal looks through the archive for the journal of the thread's job,
// and lets the program verify it.
func (s *stage) findJournal(ctx context.Context, o *outcome) error {
	files, err := filepath.Glob(filepath.Join(s.dir, dataDir, "artifacts", "*", "journal.jsonl"))
	if err != nil {
		return fmt.Errorf("looking for journals: %w", err)
	}
	for _, file := range files {
		records, err := journal.LoadFile(file)
		if err != nil {
			return err
		}
		report, err := journal.Fold(records)
		if err != nil {
			return err
		}
		if t := report.Started.Job.Thread; t.Repo.FullName() != o.repo.Ref().FullName() || t.Number != o.thread {
			continue
		}
		o.journal, o.report = file, report
		o.verified, err = s.verifyJournal(ctx, file)
		return err
	}
	return nil
}

// verifyJournal gives what the program says of a journal, also if it is bad.
func (s *stage) verifyJournal(ctx context.Context, file string) (string, error) {
	binary, err := filepath.Abs(s.opts.Greenwright)
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", s.opts.Greenwright, err)
	}
	cmd := exec.CommandContext(ctx, binary, "journal", "verify", file)
	cmd.Dir, cmd.Env = s.dir, ownEnv(s.opts.Environ)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("journal %s is not whole: %w: %s", file, err, strings.TrimSpace(out.String()))
	}
	return strings.TrimSpace(out.String()), nil
}

// judge names everything that should have come and did not.
func (s *stage) judge(shown []*outcome) error {
	var missing []string
	for _, o := range shown {
		for _, m := range s.missing(o) {
			missing = append(missing, fmt.Sprintf("%s (%s): %s", o.repo.Ref().FullName(), o.title, m))
		}
	}
	for _, f := range s.forge.Faults() {
		missing = append(missing, "the simulated forge was asked for what the real one does not have: "+f)
	}
	for _, d := range s.forge.Deliveries() {
		if d.Err != nil || d.Status < 200 || d.Status > 299 {
			missing = append(missing, fmt.Sprintf("webhook %s was answered with %d (%s) %v", d.Event, d.Status, strings.TrimSpace(d.Answer), d.Err))
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("not everything came:\n  - %s", strings.Join(missing, "\n  - "))
	}
	return nil
}

// missing is what a scene should have left and did not.
func (s *stage) missing(o *outcome) []string {
	var out []string
	want := func(ok bool, format string, args ...any) {
		if !ok {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	want(o.asked.ID == 0 || s.reacted(o), "no reaction on the comment that asked")
	want(ended(o.comment.Body) && o.comment.Body != "", "the progress comment has not ended")
	want(o.journal != "" && o.verified != "", "no journal that verifies")
	want(o.report.State == jobs.Verified, "the run ended as %q: %s", o.report.State, o.report.Cause)
	want(slices.ContainsFunc(o.report.Checks, repaired), "no check that was red before and is green after")
	for _, c := range o.report.Checks {
		want(c.After != nil && c.After.Green(), "check %q is not green after", c.Name)
		want(c.After != nil && c.After.Commit == o.tip, "check %q did not run on what was pushed", c.Name)
	}
	if o.pull == nil {
		return append(out, "no pull request")
	}
	want(o.pull.Open && !o.pull.Draft && o.pull.Base.Name == "main", "the pull request is not open into main, or a draft")
	want(o.head != "" || strings.HasPrefix(o.pull.Head.Name, "greenwright/"), "branch %s is not one of Greenwright's", o.pull.Head.Name)
	want(o.tip != "" && o.tip == o.pull.Head.SHA, "branch %s of the repository is not what the pull request shows", o.pull.Head.Name)
	want(o.tip != o.before, "nothing was pushed to branch %s", o.pull.Head.Name)
	want(o.diff != "", "the pull request has no diff")
	want(o.outside.exitCode == 0 && o.outside.commit == o.tip, "on a fresh clone the formatting check ends with exit %d", o.outside.exitCode)
	return out
}

// repaired reports a check that turned from red to green.
func repaired(c journal.Check) bool {
	return c.Before != nil && !c.Before.Green() && c.After != nil && c.After.Green()
}

func (s *stage) reacted(o *outcome) bool {
	for _, r := range o.repo.Reactions(o.thread) {
		if r.By.Is(s.forge.Bot()) && r.On == o.asked.CommentRef && r.Reaction == vcs.ReactionEyes {
			return true
		}
	}
	return false
}
