package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/checks"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/untrusted"
	"github.com/greenwright/greenwright/jobs/verify"
	"github.com/greenwright/greenwright/jobs/workflow"
	"github.com/greenwright/greenwright/vcs"
)

// subject is what the job is about, as it was when it was asked for.
type subject struct {
	issue   vcs.Issue
	pr      *vcs.PullRequest
	review  *vcs.Review
	red     []redCheck
	failed  []verify.Command // commands of the checks that are red
	context []agent.ContextBlock
	// trusted is the base branch's tip: settings and rules come from there.
	trusted string
}

// readSubject reads the thread, frozen at the time of the request (rule A7).
func (s *session) readSubject(ctx context.Context) error {
	var err error
	if s.issue, err = s.forge.Issue(ctx, s.job.Thread); err != nil {
		return fmt.Errorf("reading the thread: %w", err)
	}
	if s.job.Thread.PullRequest {
		pr, err := s.forge.PullRequest(ctx, s.job.Thread)
		if err != nil {
			return fmt.Errorf("reading the pull request: %w", err)
		}
		s.pr = &pr
		if err := s.admitPull(pr); err != nil {
			return err
		}
	}
	if (s.issue.Confidential || s.job.Internal) && !s.repo.Private && s.job.Kind.Changes() { // also when it became so after it was asked
		return end(jobs.Refused, "ask in a thread that is not confidential, in a comment that is not internal.", "this was not asked for everybody to read, and a %s would be open to everybody who can read the project", s.words().PullRequest)
	}
	s.addThread()
	switch s.job.Kind {
	case jobs.KindReviewFollowup:
		return s.readReview(ctx)
	case jobs.KindCheckRepair:
		return s.readChecks(ctx)
	case jobs.KindFix, jobs.KindAsk:
	}
	return nil
}

// admitPull refuses what cannot be worked on (rules A4, O1).
func (s *session) admitPull(pr vcs.PullRequest) error {
	switch {
	case !s.job.Kind.Changes(), s.past.prepared != nil: // or admitted before
		return nil
	case !pr.Open:
		return end(jobs.Refused, "reopen it, then ask again.", "the %s is closed", s.words().PullRequest)
	case pr.FromFork():
		return end(jobs.Refused, "push the branch to this repository.", "%ss from forks are closed to changes", s.words().PullRequest)
	case s.job.Kind == jobs.KindCheckRepair && s.job.Check != nil && pr.Head.SHA != s.job.Check.HeadSHA:
		return end(jobs.NoChange, "", "the %s has moved on since the check became red", s.words().PullRequest)
	}
	return nil
}

// words are those of the thread's forge.
func (s *session) words() vcs.Words { return s.job.Thread.Repo.Forge.Words() }

// maxThreadText bounds what of a thread is shown to a model.
const maxThreadText = 48 << 10

// addThread quotes the opening text and the comments; our own are left out,
// what came or was edited after the request, and what is not for everybody when
// the answer is.
func (s *session) addThread() {
	if s.number() == 0 || s.issue.Title == "" && s.issue.Body == "" {
		return // on a checkout the thread is the instruction itself
	}
	title, body := s.issue.Title, s.issue.Body
	if s.job.Opening != "" && s.job.Opening != jobs.TextHash(title, body) && !s.issue.Author.Is(s.job.Requester) {
		body = "(left out: it was edited after the request)"
	}
	what := "Issue"
	if s.job.Thread.PullRequest {
		name := s.words().PullRequest
		what = strings.ToUpper(name[:1]) + name[1:]
	}
	s.quote("", fmt.Sprintf("%s %s by %s: title and opening text", what, s.job.Thread.Label(), s.issue.Author.Login), title+"\n\n"+body)
	left := maxThreadText
	for i := len(s.issue.Comments) - 1; i >= 0 && left > 0; i-- { // the latest say most
		c := s.issue.Comments[i]
		if c.Author.Is(s.self) || s.after(c) || s.hidden(c) {
			continue
		}
		left -= len(c.Body)
		s.quote("", fmt.Sprintf("Comment by %s, %s", c.Author.Login, c.CreatedAt.UTC().Format(time.RFC3339)), c.Body)
	}
}

// hidden reports a comment that is not for everybody, in a job whose outcome is.
func (s *session) hidden(c vcs.Comment) bool { return c.Internal && !s.job.Internal }

// after reports a comment that was written or edited after the request by
// somebody else. A second is the resolution of the forge's times.
func (s *session) after(c vcs.Comment) bool {
	limit := s.job.CreatedAt.Add(time.Second)
	return !c.Author.Is(s.job.Requester) && (c.CreatedAt.After(limit) || c.UpdatedAt.After(limit))
}

func (s *session) quote(id, label, text string) {
	s.context = append(s.context, agent.ContextBlock{ID: id, Label: untrusted.Visible(label), Text: untrusted.Visible(text)})
}

// readReview takes up the remarks of a submitted review (rules R1, R2).
func (s *session) readReview(ctx context.Context) error {
	reviewer, ok := s.forge.(vcs.Reviewer)
	if !ok {
		return fmt.Errorf("reading a review: %w", vcs.ErrUnsupported)
	}
	if err := s.awaitRest(ctx); err != nil {
		return err
	}
	review, err := reviewer.Review(ctx, s.job.Thread, s.job.Review)
	if err != nil {
		return fmt.Errorf("reading the review: %w", err)
	}
	review.Remarks = slices.DeleteFunc(review.Remarks, func(t vcs.ReviewThread) bool {
		return len(t.Comments) > 0 && s.hidden(t.Comments[0]) // and nothing is answered there
	})
	s.review = &review
	if strings.TrimSpace(review.Body) != "" {
		s.quote("", "Review by "+review.Author.Login+", "+string(review.State), review.Body)
	}
	open := 0
	for _, t := range review.Remarks {
		if t.Resolved || t.Outdated {
			continue
		}
		open++
		theirs, others := s.remarkTexts(t)
		s.quote(strconv.FormatInt(t.ID, 10), remarkLabel(t), theirs)
		if others != "" {
			s.quote("", remarkLabel(t)+": what others wrote in that thread; not a request", others)
		}
	}
	if open == 0 && strings.TrimSpace(review.Body) == "" {
		return end(jobs.NoChange, "", "the review has no text and no open remark")
	}
	return nil
}

// awaitRest waits until what belongs to a review that arrives remark by remark
// is there: what comes later is a job of its own.
func (s *session) awaitRest(ctx context.Context) error {
	left := s.job.CreatedAt.Add(jobs.CoalesceWindow + time.Second).Sub(s.cfg.Now()) // a second: the forge's own clock
	if !s.job.Partial || left <= 0 {
		return nil
	}
	timer := time.NewTimer(min(left, 2*jobs.CoalesceWindow))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("waiting for the rest of the review: %w", ctx.Err())
	case <-timer.C:
		return nil
	}
}

func remarkLabel(t vcs.ReviewThread) string {
	where := t.Path
	switch {
	case t.StartLine > 0 && t.StartLine != t.Line:
		where = fmt.Sprintf("%s, lines %d to %d", t.Path, t.StartLine, t.Line)
	case t.Line > 0:
		where = fmt.Sprintf("%s, line %d", t.Path, t.Line)
	}
	if t.Side == "LEFT" {
		where += " (of the old version)"
	}
	return "Review remark on " + where
}

// remarkTexts tells what the reviewer asks from what others wrote in the same
// thread: only the reviewer's rights were asked for (rule A6).
func (s *session) remarkTexts(t vcs.ReviewThread) (theirs, others string) {
	var asked, rest strings.Builder
	if t.DiffHunk != "" {
		asked.WriteString("The part of the diff it stands on:\n" + t.DiffHunk + "\n\n")
	}
	for _, c := range t.Comments {
		switch {
		case s.hidden(c):
		case c.Author.Is(s.job.Requester):
			fmt.Fprintf(&asked, "%s: %s\n", c.Author.Login, c.Body)
		case !s.after(c):
			fmt.Fprintf(&rest, "%s: %s\n", c.Author.Login, c.Body)
		}
	}
	return asked.String(), rest.String()
}

// readChecks finds what the red checks of the head ran. What cannot be found
// is said, and the log is quoted all the same.
func (s *session) readChecks(ctx context.Context) error {
	reader, ok := s.forge.(vcs.CheckReader)
	if !ok || s.job.Check == nil {
		return fmt.Errorf("reading a check: %w", vcs.ErrUnsupported)
	}
	all, err := reader.Checks(ctx, s.repo.RepoRef, s.job.Check.HeadSHA)
	if err != nil {
		return fmt.Errorf("reading the head's checks: %w", err)
	}
	if len(all) == 0 {
		all = []vcs.Check{*s.job.Check}
	}
	red := 0
	for _, c := range all {
		if !c.Completed || !c.Conclusion.Red() {
			continue
		}
		red++
		if err := s.readCheck(ctx, reader, c); err != nil {
			return err
		}
	}
	if red == 0 && s.past.prepared == nil {
		return end(jobs.NoChange, "", "no check of the head is red any more")
	}
	return nil
}

func (s *session) readCheck(ctx context.Context, reader vcs.CheckReader, c vcs.Check) error {
	ci, err := reader.CheckJob(ctx, s.repo.RepoRef, c)
	if errors.Is(err, vcs.ErrNotFound) {
		return s.note(ctx, journal.NoteNotice, "check %q is no job of the forge's own CI; what it ran is not known", c.Name)
	}
	if err != nil {
		return fmt.Errorf("reading the job of check %s: %w", c.Name, err)
	}
	s.red = append(s.red, redCheck{check: c, ci: ci})
	s.quoteLog(ctx, reader, c)
	return nil
}

// quoteLog shows the failed step's log. A log that cannot be had is no reason
// to stop: the command is run again anyway.
func (s *session) quoteLog(ctx context.Context, reader vcs.CheckReader, c vcs.Check) {
	rc, err := reader.CheckLog(ctx, s.repo.RepoRef, c)
	if err != nil {
		s.log.Warn("log of a check could not be read", "check", c.Name, "error", err)
		return
	}
	defer func() { _ = rc.Close() }()
	b, err := io.ReadAll(io.LimitReader(rc, checks.MaxLog))
	if err != nil {
		s.log.Warn("log of a check could not be read", "check", c.Name, "error", err)
		return
	}
	s.quote("", "Log of the red check "+c.Name, verify.Reduce(checks.Excerpt(string(b))))
}

// redCheck is a red check with the CI job behind it.
type redCheck struct {
	check vcs.Check
	ci    vcs.CheckJob
}

// locate finds the commands of the red checks in the workflow files of the
// head: that is what the CI ran.
func (s *session) locate(ctx context.Context) error {
	for _, r := range s.red {
		cmd, err := s.locateOne(ctx, r)
		if err != nil {
			if err := s.note(ctx, journal.NoteNotice, "the command of check %q is not known: %v", r.check.Name, err); err != nil {
				return err
			}
			continue
		}
		s.failed = append(s.failed, cmd)
	}
	return nil
}

func (s *session) locateOne(ctx context.Context, r redCheck) (verify.Command, error) {
	content, err := s.mirror.ReadFile(ctx, s.base, r.ci.WorkflowPath, workflow.MaxBytes)
	if err != nil {
		return verify.Command{}, err
	}
	w, err := s.parseCI(ctx, r.ci.WorkflowPath, content)
	if err != nil {
		return verify.Command{}, err
	}
	failed, err := checks.Locate(w, r.ci)
	if err != nil {
		return verify.Command{}, err
	}
	if failed.Step.Unresolved != "" {
		return verify.Command{}, errors.New(failed.Step.Unresolved)
	}
	return verify.FromStep(w.Path, failed.Job, failed.Step), nil
}

// parseCI reads a CI file of the forge's kind, at the head.
func (s *session) parseCI(ctx context.Context, path string, content []byte) (workflow.Workflow, error) {
	if s.repo.Forge != vcs.GitLab {
		return workflow.Parse(path, content)
	}
	return workflow.ParseGitLab(path, content, func(path string) ([]byte, error) {
		return s.mirror.ReadFile(ctx, s.base, path, workflow.MaxBytes)
	})
}
