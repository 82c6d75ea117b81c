package trigger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
)

var (
	self   = vcs.Actor{ID: 1, Login: "greenwright[bot]", Kind: vcs.KindBot}
	person = vcs.Actor{ID: 2, Login: "somebody", Kind: vcs.KindUser}
	other  = vcs.Actor{ID: 4, Login: "another", Kind: vcs.KindUser}
	bot    = vcs.Actor{ID: 3, Login: "ci[bot]", Kind: vcs.KindBot}
	repo   = vcs.Repo{RepoRef: vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}, ID: 9}
	start  = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func rules() trigger.Rules {
	return trigger.Rules{Self: self, Parser: command.Parser{Prefix: "/agent", Login: "greenwright"}, Policy: policy.Config{}.WithDefaults(), BranchPrefix: "greenwright/"}
}

func comment(body string, change func(*vcs.Event)) vcs.Event {
	ev := vcs.Event{
		Forge: vcs.GitHub, Name: "issue_comment", Action: "created", Kind: vcs.EventComment, Repo: repo, Actor: person,
		Thread:  vcs.Thread{Repo: repo.RepoRef, Number: 5},
		Comment: &vcs.Comment{CommentRef: vcs.CommentRef{Kind: vcs.IssueComment, ID: 7}, Author: person, Body: body, CreatedAt: start, UpdatedAt: start},
	}
	if change != nil {
		change(&ev)
	}
	return ev
}

func review(state vcs.ReviewState, body string, author vcs.Actor) vcs.Event {
	return vcs.Event{
		Forge: vcs.GitHub, Name: "pull_request_review", Action: "submitted", Kind: vcs.EventReview, Repo: repo, Actor: person,
		Thread:      vcs.Thread{Repo: repo.RepoRef, Number: 5, PullRequest: true},
		PullRequest: &vcs.PullRequest{Author: author, Open: true}, Review: &vcs.Review{ID: 8, State: state, Body: body},
	}
}

func check(conclusion vcs.Conclusion, branch string, pulls ...int) vcs.Event {
	return vcs.Event{
		Forge: vcs.GitHub, Name: "check_run", Action: "completed", Kind: vcs.EventCheck, Repo: repo, Actor: bot,
		Check: &vcs.Check{ID: 3, Name: "test", Completed: true, Conclusion: conclusion, HeadBranch: branch, PullRequests: pulls},
	}
}

// checkOf is a red check of ours, changed.
func checkOf(change func(*vcs.Check)) vcs.Event {
	ev := check(vcs.ConclusionFailure, "greenwright/5-x", 6)
	change(ev.Check)
	return ev
}

// checkBy is a red check of ours that the forge says somebody caused: GitHub
// names whoever pushed.
func checkBy(actor vcs.Actor) vcs.Event {
	ev := check(vcs.ConclusionFailure, "greenwright/5-x", 6)
	ev.Actor = actor
	return ev
}

// remark is one remark of a review that arrives remark by remark.
func remark(action, body string, author vcs.Actor) vcs.Event {
	ev := review(vcs.ReviewCommented, body, author)
	ev.Forge, ev.Name, ev.Action, ev.Review.Partial = vcs.GitLab, "Note Hook", action, true
	ev.Comment = &vcs.Comment{CommentRef: vcs.CommentRef{Kind: vcs.ReviewRemark, ID: 8}, Author: person, Body: body, CreatedAt: start, UpdatedAt: start}
	return ev
}

// TestWhatIsAskedInANoteCountsOnce: GitLab does not tell what a note said
// before it was edited.
func TestWhatIsAskedInANoteCountsOnce(t *testing.T) {
	for name, c := range map[string]struct {
		event vcs.Event
		once  bool
	}{
		"a comment on GitHub": {comment("/agent stop", nil), false},
		"a note":              {comment("/agent stop", func(ev *vcs.Event) { ev.Forge = vcs.GitLab }), true},
		"a remark":            {remark("created", "/agent ask why?", self), true},
	} {
		if got := rules().Decide(c.event); len(got) != 1 || got[0].Once != c.once {
			t.Errorf("%s: %+v, want once: %v", name, got, c.once)
		}
	}
}

func TestDecide(t *testing.T) {
	edited := func(before string, change func(*vcs.Event)) func(*vcs.Event) {
		return func(ev *vcs.Event) {
			ev.Action, ev.PreviousBody = "edited", before
			ev.Comment.UpdatedAt = start.Add(time.Minute)
			if change != nil {
				change(ev)
			}
		}
	}
	all := func(r *trigger.Rules) { r.Policy.AutoRepair = policy.AutoRepairAll }
	cases := []struct {
		name   string
		event  vcs.Event
		change func(*trigger.Rules)
		want   trigger.Decision
		kind   jobs.Kind
		reason string
	}{
		{"fix", comment("/agent fix", nil), nil, trigger.Job, jobs.KindFix, ""},
		{"ask", comment("/agent ask why?", nil), nil, trigger.Job, jobs.KindAsk, ""},
		{"ask nothing", comment("/agent ask", nil), nil, trigger.Reply, jobs.KindAsk, "question"},
		{"status", comment("/agent status", nil), nil, trigger.Control, "status", ""},
		{"help", comment("/agent help", nil), nil, trigger.Reply, "help", ""},
		{"stop", comment("/agent stop", nil), nil, trigger.Control, "stop", ""},
		{"retry", comment("/agent retry", nil), nil, trigger.Control, "retry", ""},
		{"continue", comment("/agent continue with the docs", nil), nil, trigger.Control, "continue", ""},
		{"approve", comment("/agent approve 1", nil), nil, trigger.Control, "approve", ""},
		{"deny", comment("/agent deny 1 no", nil), nil, trigger.Control, "deny", ""},
		{"budget", comment("/agent budget +2", nil), nil, trigger.Control, "budget", ""},
		{"unlock", comment("/agent unlock", nil), nil, trigger.Control, "unlock", ""},
		{"not yet", comment("/agent rebase", nil), nil, trigger.Reply, "rebase", "does not do rebase yet"},
		{"unknown verb", comment("/agent fxi", nil), nil, trigger.Reply, "unknown", "fxi"},
		{"no command", comment("hello", nil), nil, trigger.Ignored, "", "no command"},
		{"own comment", comment("/agent fix", func(ev *vcs.Event) { ev.Actor = self }), nil, trigger.Ignored, "", "own event"},
		{"bot", comment("/agent fix", func(ev *vcs.Event) { ev.Actor, ev.Comment.Author = bot, bot }), nil, trigger.Ignored, "", "policy.bots"},
		{"named bot", comment("/agent fix", func(ev *vcs.Event) { ev.Actor, ev.Comment.Author = bot, bot }), func(r *trigger.Rules) { r.Policy.Bots = []string{"ci[bot]"} }, trigger.Job, jobs.KindFix, ""},
		{"edit adds a command", comment("/agent fix", edited("hello", nil)), nil, trigger.Job, jobs.KindFix, ""},
		{"edit keeps a command", comment("/agent fix\n", edited("/agent fix", nil)), nil, trigger.Ignored, "", "no command"},
		{"edit by another", comment("/agent fix", edited("hello", func(ev *vcs.Event) { ev.Actor = other })), nil, trigger.Ignored, "", "somebody else"},
		{"late edit", comment("/agent fix", edited("hello", func(ev *vcs.Event) { ev.Comment.UpdatedAt = start.Add(16 * time.Minute) })), nil, trigger.Ignored, "", "15 minutes"},
		{"edit of unknown", comment("/agent fix", edited("", nil)), nil, trigger.Ignored, "", "without the text before"},
		{"opened with a command", vcs.Event{Kind: vcs.EventOpened, Repo: repo, Actor: person, Issue: &vcs.Issue{Body: "It breaks.\n\n/agent fix"}}, nil, trigger.Job, jobs.KindFix, ""},
		{"transferred with somebody else's command", vcs.Event{Kind: vcs.EventOpened, Repo: repo, Actor: person, Issue: &vcs.Issue{Body: "/agent fix", Author: other}}, nil, trigger.Ignored, "", "somebody else"},
		{"somebody else's pull request", vcs.Event{Kind: vcs.EventOpened, Repo: repo, Actor: person, PullRequest: &vcs.PullRequest{Body: "/agent fix", Author: other}}, nil, trigger.Ignored, "", "somebody else"},
		{"somebody else's comment", comment("/agent fix", func(ev *vcs.Event) { ev.Comment.Author = other }), nil, trigger.Ignored, "", "somebody else"},
		{"push", vcs.Event{Kind: vcs.EventPush, Name: "push", Repo: repo, Actor: person}, nil, trigger.Ignored, "", "nothing reacts to push"},
		{"zero event", vcs.Event{}, nil, trigger.Ignored, "", "nothing reacts"},

		{"review of ours", review(vcs.ReviewChangesRequested, "please", self), nil, trigger.Job, jobs.KindReviewFollowup, ""},
		{"review with remarks only", review(vcs.ReviewCommented, "", self), nil, trigger.Job, jobs.KindReviewFollowup, ""},
		{"approval", review(vcs.ReviewApproved, "nice", self), nil, trigger.Ignored, "", "approval"},
		{"review of others", review(vcs.ReviewChangesRequested, "please", other), nil, trigger.Ignored, "", "somebody else"},
		{"review of ours with a command", review(vcs.ReviewCommented, "/agent fix it", self), nil, trigger.Job, jobs.KindReviewFollowup, ""},
		{"approval of ours with a question", review(vcs.ReviewApproved, "/agent ask why?", self), nil, trigger.Job, jobs.KindAsk, ""},
		{"review of others with a command", review(vcs.ReviewCommented, "/agent fix", other), nil, trigger.Job, jobs.KindFix, ""},
		{"review while self is unknown", review(vcs.ReviewCommented, "", vcs.Actor{}), func(r *trigger.Rules) { r.Self = vcs.Actor{} }, trigger.Ignored, "", "somebody else"},

		{"review while self is unknown, to be decided again", review(vcs.ReviewCommented, "", vcs.Actor{ID: 77}), func(r *trigger.Rules) { r.Self, r.Provisional = vcs.Actor{}, true }, trigger.Job, jobs.KindReviewFollowup, ""},

		{"note edited, the text before it unknown", comment("/agent fix", edited("", func(ev *vcs.Event) { ev.Forge, ev.Action = vcs.GitLab, "updated" })), nil, trigger.Job, jobs.KindFix, ""},
		{"note edited by another", comment("/agent fix", edited("", func(ev *vcs.Event) { ev.Forge, ev.Action, ev.Actor = vcs.GitLab, "updated", other })), nil, trigger.Ignored, "", "somebody else"},
		{"note edited late", comment("/agent fix", edited("", func(ev *vcs.Event) {
			ev.Forge, ev.Action, ev.Comment.UpdatedAt = vcs.GitLab, "updated", start.Add(16*time.Minute)
		})), nil, trigger.Ignored, "", "15 minutes"},
		{"description edited, the text before it unknown", comment("/agent fix", edited("", func(ev *vcs.Event) { ev.Forge, ev.Comment.Kind = vcs.GitLab, vcs.ThreadBody })), nil, trigger.Ignored, "", "without the text before"},
		{"remark of ours", remark("created", "better names please", self), nil, trigger.Job, jobs.KindReviewFollowup, ""},
		{"remark of ours with a question", remark("created", "/agent ask why?", self), nil, trigger.Job, jobs.KindAsk, ""},
		{"remark of others", remark("created", "better names please", other), nil, trigger.Ignored, "", "somebody else"},
		{"remark that is edited", remark("updated", "better names, please", self), nil, trigger.Ignored, "", "no command"},

		{"red pipeline, pull request not told", checkOf(func(c *vcs.Check) { c.PullRequests, c.PullRequestsUnknown = nil, true }), nil, trigger.Job, jobs.KindCheckRepair, ""},
		{"red job of a pipeline that goes on", checkOf(func(c *vcs.Check) { c.Part = true }), nil, trigger.Ignored, "", "the pipeline's own end counts"},

		{"red check of ours", check(vcs.ConclusionFailure, "greenwright/5-x", 6), nil, trigger.Job, jobs.KindCheckRepair, ""},
		{"red check of our own push", checkBy(self), nil, trigger.Job, jobs.KindCheckRepair, ""},
		{"red check of others", check(vcs.ConclusionFailure, "feature", 6), nil, trigger.Ignored, "", "auto_repair"},
		{"red check of others, policy all", check(vcs.ConclusionFailure, "feature", 6), all, trigger.Job, jobs.KindCheckRepair, ""},
		{"timed out", check(vcs.ConclusionTimedOut, "feature", 6), all, trigger.Job, jobs.KindCheckRepair, ""},
		{"green check", check(vcs.ConclusionSuccess, "feature", 6), all, trigger.Ignored, "", "not red"},
		{"canceled check", check(vcs.ConclusionCanceled, "feature", 6), all, trigger.Ignored, "", "not red"},
		{"red without a pull request", check(vcs.ConclusionFailure, "main"), all, trigger.Ignored, "", "no open pull request"},
		{"repository not enabled", check(vcs.ConclusionFailure, "feature", 6), func(r *trigger.Rules) { all(r); r.Policy.Repositories = []string{"x/y"} }, trigger.Ignored, "", "policy.repositories"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := rules()
			if c.change != nil {
				c.change(&r)
			}
			got := r.Decide(c.event)
			if len(got) == 1 && got[0].Decision == trigger.Ignored && got[0].Label == "" {
				t.Error("ignored without a label")
			}
			if len(got) != 1 || got[0].Decision != c.want || got[0].Kind != c.kind || !strings.Contains(got[0].Reason, c.reason) {
				t.Errorf("got %+v, want %s %s because of %q", got, c.want, c.kind, c.reason)
			}
		})
	}
}

func TestSeveralCommandsInOrder(t *testing.T) {
	got := rules().Decide(comment("/agent stop\n/agent fix it\n/agent fxi\n/agent xyz", nil))
	var what []string
	for _, p := range got {
		what = append(what, string(p.Decision)+" "+string(p.Kind))
	}
	if s := strings.Join(what, ", "); s != "control stop, job fix, reply unknown" {
		t.Errorf("got %s", s)
	}
}
