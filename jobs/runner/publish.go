package runner

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/progress"
	"github.com/greenwright/greenwright/jobs/publish"
	"github.com/greenwright/greenwright/jobs/verify"
	"github.com/greenwright/greenwright/vcs"
)

// publish puts the proved commit where it belongs.
func (s *session) publish(ctx context.Context) error {
	if err := s.worthPublishing(); err != nil {
		return err
	}
	if err := s.move(ctx, jobs.Publishing, s.verdict.Why); err != nil {
		return err
	}
	p := s.publisher()
	if err := s.aim(ctx, p); err != nil {
		return err
	}
	target := s.target
	s.status.change(func(st *progress.Status) { st.Branch, st.HeadSHA = target.Branch, s.commit })
	if err := s.push(ctx, p); err != nil {
		return err
	}
	if s.pr != nil {
		return s.reportOnPull(ctx, p)
	}
	return s.openPull(ctx, p)
}

// aim settles where the change goes, once in a run.
func (s *session) aim(ctx context.Context, p *publish.Publisher) error {
	if t := s.past.target; t != nil {
		s.target = &publish.Target{Branch: t.Branch, Expect: t.Expect, Base: t.Base, Pull: s.pr}
		return nil
	}
	target, err := p.Aim(ctx, s.pr, s.baseRef, s.title())
	if errors.Is(err, publish.ErrTarget) {
		return end(jobs.NeedsHuman, "apply the kept patch by hand.", "%s", err)
	}
	if err != nil {
		return err
	}
	s.target = &target
	return s.records.Append(ctx, journal.TypeTarget, journal.Aimed{Branch: target.Branch, Base: target.Base, Expect: target.Expect})
}

// worthPublishing holds back what would make things worse: on somebody's pull
// request only a proved improvement is pushed.
func (s *session) worthPublishing() error {
	if s.job.Command.Options.DryRun {
		s.answer = "This is what would be published:\n\n" + journal.Fence("diff", s.diff)
		return end(jobs.NeedsHuman, "ask again without `--dry-run` to publish it.", "dry run: nothing was published; %s", s.verdict.Why)
	}
	if len(s.verdict.NewlyRed) > 0 {
		return end(jobs.NeedsHuman, "look at the kept patch.", "the change was not published: %s", s.verdict.Why)
	}
	if s.job.Kind == jobs.KindCheckRepair && !s.verdict.Verified && len(s.verdict.Fixed) == 0 {
		return end(jobs.NeedsHuman, "look at the kept patch, or repair it by hand.", "no red command became green: %s", s.verdict.Why)
	}
	return nil
}

// maxCatchUps is how often a run follows somebody else's pushes.
const maxCatchUps = 2

// push moves the branch; when a person has pushed meanwhile, it follows if the
// two changes touch different files (rule P6).
func (s *session) push(ctx context.Context, p *publish.Publisher) error {
	if err := s.findPushed(ctx); err != nil {
		return err
	}
	for try := 0; ; try++ {
		if err := s.yield(); err != nil {
			return err
		}
		head, err := p.Push(ctx, *s.target, s.commit)
		switch {
		case err == nil:
			s.commit = head
			return nil
		case !errors.Is(err, vcs.ErrConflict):
			return s.pushFailed(err)
		case try == maxCatchUps || s.pr == nil:
			return end(jobs.NeedsHuman, "ask again: the next run begins at the branch's new head.", "branch %s moved again and again while the change was made", s.target.Branch)
		}
		if err := s.catchUp(ctx); err != nil {
			return err
		}
	}
}

func (s *session) pushFailed(err error) error {
	if errors.Is(err, vcs.ErrForbidden) {
		return &ending{state: jobs.NeedsHuman, err: err, cause: "the forge refused the push: " + err.Error(), advice: "give the App or token write access to contents (and workflows, if the change touches them), or apply the kept patch by hand."}
	}
	return err
}

// catchUp carries the change over to the branch's new head and proves it
// again.
func (s *session) catchUp(ctx context.Context) error {
	remote, err := s.forge.Remote(ctx, s.repo.RepoRef, vcs.Read)
	if err != nil {
		return fmt.Errorf("asking for read access: %w", err)
	}
	ref := "refs/heads/" + s.target.Branch
	tips, err := s.mirror.Fetch(ctx, remote, ref)
	if err != nil {
		return fmt.Errorf("fetching what was pushed meanwhile: %w", err)
	}
	tree, conflicts, err := s.mirror.MergeTrees(ctx, s.base, s.commit, tips[ref])
	if err != nil {
		return fmt.Errorf("carrying the change over: %w", err)
	}
	if len(conflicts) > 0 {
		return end(jobs.NeedsHuman, "ask again: the next run begins at the branch's new head.", "somebody pushed to %s meanwhile and changed the same files: %s", s.target.Branch, strings.Join(conflicts, ", "))
	}
	if err := s.note(ctx, journal.NoteNotice, "somebody pushed to %s meanwhile; the change was carried over and proved again", s.target.Branch); err != nil {
		return err
	}
	s.base, s.target.Expect, s.change.Tree = tips[ref], tips[ref], tree
	if err := s.makeCommit(ctx, tree); err != nil {
		return err
	}
	return s.proveAgain(ctx)
}

// proveAgain runs the commands on a commit that was carried over.
func (s *session) proveAgain(ctx context.Context) error {
	if len(s.plan.Commands) == 0 {
		return nil
	}
	if err := s.proofOf(ctx, s.commit); err != nil {
		return err
	}
	after, err := s.runChecks(ctx, journal.After, s.commit)
	if err != nil {
		return err
	}
	s.verdict = verify.Judge(s.before, after)
	if err := s.records.Append(ctx, journal.TypeVerdict, s.verdict); err != nil {
		return err
	}
	return s.worthPublishing()
}

// ended settles how a published change is called.
func (s *session) ended() {
	advice := "look at the change before you merge it."
	for _, c := range s.afterRuns {
		if how := verify.Remedy(c.Environment); how != "" {
			advice += " For the next time, the operator: " + how
			break
		}
	}
	s.published = &ending{state: jobs.Unverified, cause: s.verdict.Why, advice: advice}
	if s.verdict.Verified {
		s.published = &ending{state: jobs.Verified}
	}
}

// title is the pull request's.
func (s *session) title() string {
	switch {
	case s.issue.Title != "":
		return s.issue.Title
	case s.job.Command.Text != "":
		line, _, _ := strings.Cut(s.job.Command.Text, "\n")
		return line
	}
	return "Repair the red checks"
}

// openPull opens the pull request of a new branch, where there are any.
func (s *session) openPull(ctx context.Context, p *publish.Publisher) error {
	s.ended()
	if _, ok := s.forge.(vcs.PullRequestOpener); !ok {
		return nil
	}
	body, err := s.pullBody(ctx)
	if err != nil {
		return err
	}
	pr, err := p.Open(ctx, *s.target, publish.Proposal{Title: s.title(), Body: body, Draft: !s.verdict.Verified || s.config.Draft})
	if err != nil {
		s.published = nil
		return &ending{
			state: jobs.NeedsHuman, err: err, cause: fmt.Sprintf("the change is pushed as branch %s, but the %s could not be opened: %s", s.target.Branch, s.words().PullRequest, s.tellable(err)),
			advice: "open one from the branch by hand; the operator: check that the App may write pull requests, or that the token has the scope api and the role Developer.",
		}
	}
	s.pull, s.url = pr.Number, pr.URL
	return nil
}

// templates are where a forge looks for a pull request's template.
func templates(forge vcs.ForgeName) []string {
	if forge == vcs.GitLab {
		return []string{".gitlab/merge_request_templates/Default.md", ".gitlab/merge_request_templates/default.md"}
	}
	return []string{".github/PULL_REQUEST_TEMPLATE.md", ".github/pull_request_template.md", "PULL_REQUEST_TEMPLATE.md", "docs/PULL_REQUEST_TEMPLATE.md"}
}

// maxTemplate bounds it.
const maxTemplate = 16 << 10

// pullBody is what the pull request says: the report so far, the thread that
// it closes, and the repository's own template.
func (s *session) pullBody(ctx context.Context) (string, error) {
	report, err := s.reportSoFar()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if n := s.number(); n > 0 && s.pr == nil {
		fmt.Fprintf(&b, "Closes #%d\n\n", n)
	}
	b.WriteString(report)
	for _, name := range templates(s.repo.Forge) {
		content, err := s.mirror.ReadFile(ctx, s.trusted, name, maxTemplate)
		if err == nil {
			b.WriteString("\n\n---\n\n" + strings.TrimSpace(string(content)))
			break
		}
	}
	return b.String(), nil
}

// reportSoFar is the audit summary with the end as it will be.
func (s *session) reportSoFar() (string, error) {
	report, err := journal.Fold(s.records.Records())
	if err != nil {
		return "", fmt.Errorf("folding the journal: %w", err)
	}
	report.State, report.Cause, report.Advice = s.published.state, s.published.cause, s.published.advice
	return report.Markdown(), nil
}

// reportOnPull answers what asked: the review's threads, and the description
// of a pull request of ours.
func (s *session) reportOnPull(ctx context.Context, p *publish.Publisher) error {
	s.ended()
	s.pull, s.url = s.pr.Number, s.pr.URL
	if s.review != nil {
		s.answerReview(ctx, p)
	}
	if !s.pr.Author.Is(s.self) {
		return nil
	}
	body, err := s.pullBody(ctx)
	if err != nil {
		return err
	}
	if err := p.Describe(ctx, *s.pr, body); err != nil {
		s.log.Warn("description could not be replaced", "error", err)
	}
	return nil
}

// answerReview gives each open thread its own answer (rule R3). A thread that
// cannot be answered is in the report; the change stands all the same.
func (s *session) answerReview(ctx context.Context, p *publish.Publisher) {
	for _, t := range s.review.Remarks {
		if t.Resolved || t.Outdated {
			continue
		}
		text := fmt.Sprintf("Taken up in %s.", s.commit)
		if reply := s.replies[strconv.FormatInt(t.ID, 10)]; reply != "" {
			text += "\n\n" + journal.Inert(reply)
		} else {
			text = fmt.Sprintf("%s was pushed after this review; nothing was said about this remark in particular.", s.commit)
		}
		if err := p.Answer(ctx, s.job.Thread, t.ID, text); err != nil {
			s.log.Warn("review thread could not be answered", "thread_id", t.ID, "error", err)
		}
	}
	if s.review.State != vcs.ReviewChangesRequested || !s.verdict.Verified {
		return
	}
	if err := p.AskReview(ctx, s.job.Thread, s.review.Author); err != nil { // rule R5
		s.log.Warn("review could not be asked for again", "error", err)
	}
}
