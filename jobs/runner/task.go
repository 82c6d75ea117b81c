package runner

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/untrusted"
	"github.com/greenwright/greenwright/vcs"
)

// task is what the agent is asked.
func (s *session) task(checks []model.Check, feedback string) agent.Task {
	t := agent.Task{
		ID: string(s.ctl.Run), Instruction: s.instruction(), Context: s.context, Kind: agent.KindChange, Checks: checks,
		RepoFacts: s.repoFacts(), Instructions: s.guides, Limits: s.cfg.Limits,
	}
	if !s.job.Kind.Changes() {
		t.Kind = agent.KindAnswer
	}
	if s.earlier != nil {
		t.Context = append(t.Context[:len(t.Context):len(t.Context)], s.earlier.tell())
	}
	if len(s.failedSetup) > 0 {
		t.Context = append(t.Context[:len(t.Context):len(t.Context)], agent.ContextBlock{Label: "Set-up commands that failed, though they had the network", Text: untrusted.Visible(strings.Join(s.failedSetup, "\n"))})
	}
	if feedback != "" {
		t.Context = append(t.Context[:len(t.Context):len(t.Context)], agent.ContextBlock{Label: "Result of the platform's verification of your last change, which is still in the workspace", Text: untrusted.Visible(feedback)})
	}
	return t
}

// instruction is the request of the entitled person, in the platform's words
// where there are none of his.
func (s *session) instruction() string {
	asked := untrusted.Visible(s.job.Command.Text)
	who := s.job.Requester.Login
	where := "this repository"
	if s.number() > 0 {
		where = "the quoted thread " + s.job.Thread.Label()
	}
	switch s.job.Kind {
	case jobs.KindAsk:
		return fmt.Sprintf("%s asks about %s:\n\n%s", who, where, asked)
	case jobs.KindCheckRepair:
		return fmt.Sprintf("A check on this %s is red. Find the cause and repair it, without weakening any test or check.", s.words().PullRequest)
	case jobs.KindReviewFollowup:
		text := fmt.Sprintf("%s has reviewed this %s. Act on each quoted remark that has an id, and give an answer to each by its id when you finish: what you did, or a question, or why not.", who, s.words().PullRequest)
		if also := untrusted.Visible(s.job.Also); also != "" {
			text += "\n\nBeside it was asked:\n\n" + also
		}
		return text
	case jobs.KindFix:
	}
	if asked == "" {
		return fmt.Sprintf("%s asks you to fix what %s describes.", who, where)
	}
	return fmt.Sprintf("%s asks, about %s:\n\n%s", who, where, asked)
}

func (s *session) repoFacts() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Repository %s, at commit %s of %s.", s.repo.FullName(), s.base, branchWords(s.headName()))
	if s.pr != nil {
		fmt.Fprintf(&b, " The %s goes into %s.", s.words().PullRequest, branchWords(s.baseRef))
	}
	b.WriteString(" Commands run without network.")
	return b.String()
}

// plainBranch is what a branch's name may have to stand among the platform's own
// words: who opens a pull request chooses the name of its branch.
var plainBranch = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$`)

func branchWords(name string) string {
	if !plainBranch.MatchString(name) {
		return "a branch whose name is not repeated here"
	}
	return "branch " + name
}

func (s *session) headName() string {
	if s.pr != nil {
		return s.pr.Head.Name
	}
	return s.baseRef
}

// reference is how forges recognise an issue's number in text: after a word
// like "Fix" it would close that issue.
var reference = regexp.MustCompile(`#(\d)`)

// subjectLine is the first line of the commit.
func (s *session) subjectLine() string { return reference.ReplaceAllString(s.subjectText(), "no. $1") }

func (s *session) subjectText() string {
	switch {
	case s.job.Kind == jobs.KindCheckRepair && len(s.red) > 0:
		return "Repair check " + s.red[0].check.Name // a pipeline's event has no name of a check
	case s.job.Kind == jobs.KindCheckRepair && s.job.Check != nil:
		return "Repair check " + s.job.Check.Name
	case s.job.Kind == jobs.KindReviewFollowup && s.review != nil:
		return "Act on the review of " + s.review.Author.Login
	case s.issue.Title != "":
		return "Fix: " + s.issue.Title
	case s.job.Command.Text != "":
		return "Fix: " + s.job.Command.Text
	}
	return "Fix"
}

// commitBody says where the request came from.
func (s *session) commitBody() string {
	if s.number() > 0 {
		return fmt.Sprintf("Asked for in %s.", s.job.Thread.Label())
	}
	return ""
}

// number is the thread's, 0 where there is no forge to know it.
func (s *session) number() int {
	if s.repo.Forge == vcs.Local {
		return 0
	}
	return s.job.Thread.Number
}
