// Package trigger says what an event asks for: at most one answer per command,
// from pure code over the event, the operator's policy and who we are.
//
// It knows no permission and no state: jobs/dispatch asks the forge for the
// one and the store for the other, and turns a job for a thread that is busy
// into a message. The HTTP receiver uses the same function to drop what
// nothing reacts to, and `greenwright event explain` to show it.
//
// To add a trigger: a case in [Rules.Decide] and its rule's number.
package trigger

import (
	"strings"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/vcs"
)

// Decision is what is done about an event or a command.
type Decision string

// The decisions. The zero value is not one; nothing is done about it.
const (
	Job     Decision = "job"
	Message Decision = "message" // input for what runs on the thread
	Control Decision = "control" // of a job that is there: stop, retry, approve …
	Reply   Decision = "reply"
	Ignored Decision = "ignored"
)

// Proposal is one thing to do.
type Proposal struct {
	Decision Decision
	// Kind is the job's kind, or for a reply what it answers.
	Kind    jobs.Kind
	Command jobs.Command
	Problem *command.Problem // for a reply to something that is no command
	Reason  string
	// Once is set for what stands in a comment that can be edited without our
	// being told what it said before: what was asked there counts once.
	Once bool
	// Label is the reason as one of a closed set of few words, for metrics.
	Label string
}

// Verb is what policy is asked about; something that is no command needs what
// `help` needs.
func (p Proposal) Verb() jobs.Verb {
	if p.Problem != nil {
		return jobs.VerbHelp
	}
	return p.Command.Verb
}

// Rules are what proposals depend on besides the event.
type Rules struct {
	Self   vcs.Actor // zero ID while it is not known
	Parser command.Parser
	Policy policy.Config
	// BranchPrefix begins the names of Greenwright's own branches.
	BranchPrefix string
	// Provisional lets pass what depends on Self while that is not known:
	// somebody who knows it will decide again.
	Provisional bool
}

// kindUnknown is what a reply to something that is no command answers.
const kindUnknown jobs.Kind = "unknown"

func ignored(label, reason string) []Proposal {
	return []Proposal{{Decision: Ignored, Label: label, Reason: reason}}
}

// Decide gives the proposals of an event, in order; never none.
func (r Rules) Decide(ev vcs.Event) []Proposal {
	if ev.Actor.Is(r.Self) && ev.Kind != vcs.EventCheck { // of a check it is who pushed, not who judged
		return ignored("own_event", "own event")
	}
	switch ev.Kind {
	case vcs.EventComment:
		return r.comment(ev)
	case vcs.EventOpened:
		return r.opened(ev)
	case vcs.EventReview:
		return r.review(ev)
	case vcs.EventCheck:
		return r.check(ev)
	case vcs.EventPing:
		return ignored("ping", "ping")
	case vcs.EventPush, vcs.EventClosed, vcs.EventLabeled, vcs.EventAssigned, vcs.EventInstall, vcs.EventUnsupported:
		return ignored("unsupported", "nothing reacts to "+strings.TrimSpace(ev.Name+" "+ev.Action))
	}
	return ignored("unsupported", "nothing reacts to "+strings.TrimSpace(ev.Name+" "+ev.Action))
}

// editWindow is how long after a comment was written an edit may still add a
// command to it (rule T6).
const editWindow = 15 * time.Minute

func (r Rules) comment(ev vcs.Event) []Proposal {
	c := ev.Comment
	if c == nil {
		return ignored("incomplete", "no comment in the event")
	}
	if !ev.Edited() && !spoke(ev.Actor, c.Author) {
		return ignored("not_author", "the comment is somebody else's")
	}
	parsed := r.Parser.Parse(c.Body)
	if ev.Edited() {
		if reason := r.editRefused(ev); reason != "" {
			return ignored("edit", reason)
		}
		parsed = added(parsed, r.Parser.Parse(ev.PreviousBody))
	}
	out := r.commands(ev, parsed)
	for i := range out {
		out[i].Once = forgetful(ev)
	}
	return out
}

// forgetful reports a comment whose earlier text the forge does not tell when
// it is edited: GitLab's notes.
func forgetful(ev vcs.Event) bool {
	return ev.Forge == vcs.GitLab && ev.Comment.Kind != vcs.ThreadBody
}

func (r Rules) editRefused(ev vcs.Event) string {
	c := ev.Comment
	switch {
	case ev.PreviousBody == "" && !forgetful(ev):
		return "edit without the text before it"
	case !ev.Actor.Is(c.Author):
		return "edited by somebody else than the author"
	case c.UpdatedAt.Sub(c.CreatedAt) > editWindow:
		return "edited more than 15 minutes after it was written"
	}
	return ""
}

// added leaves the commands that were not there before.
func added(now, before command.Parsed) command.Parsed {
	seen := map[jobs.Command]int{}
	for _, c := range before.Commands {
		seen[c]++
	}
	out := command.Parsed{}
	for _, c := range now.Commands {
		if seen[c] > 0 {
			seen[c]--
			continue
		}
		out.Commands = append(out.Commands, c)
	}
	return out
}

// commands proposes what a text of a person asks for (rules T1–T4).
func (r Rules) commands(ev vcs.Event, parsed command.Parsed) []Proposal {
	if parsed.Empty() {
		return ignored("no_command", "no command")
	}
	if d := r.Policy.Admit(ev.Actor, r.Self, ev.Repo.RepoRef); !d.Allowed() && !d.Reply {
		return ignored("policy", d.Reason)
	}
	var out []Proposal
	for _, c := range parsed.Commands {
		out = append(out, propose(c))
	}
	if len(parsed.Problems) > 0 { // one reply per comment
		out = append(out, Proposal{Decision: Reply, Kind: kindUnknown, Problem: &parsed.Problems[0], Reason: parsed.Problems[0].Message})
	}
	return out
}

func propose(c jobs.Command) Proposal {
	p := Proposal{Command: c, Kind: jobs.Kind(c.Verb), Reason: "command " + string(c.Verb)}
	switch {
	case !command.Ready(c.Verb):
		p.Decision, p.Reason = Reply, "this version does not do "+string(c.Verb)+" yet"
	case controls(c.Verb):
		p.Decision = Control
	case c.Verb == jobs.VerbHelp:
		p.Decision = Reply
	case c.Verb == jobs.VerbAsk && c.Text == "":
		p.Decision, p.Reason = Reply, "ask without a question"
	default:
		p.Decision = Job
	}
	return p
}

// controls reports whether a verb is about a job that is there.
func controls(v jobs.Verb) bool {
	switch v {
	case jobs.VerbStatus, jobs.VerbStop, jobs.VerbRetry, jobs.VerbContinue, jobs.VerbApprove, jobs.VerbDeny, jobs.VerbBudget, jobs.VerbUnlock:
		return true
	default:
		return false
	}
}

// spoke reports whether the actor wrote the text. Its commands are the
// author's: an issue that a maintainer transfers into a repository is "opened"
// there by the maintainer, with whatever a stranger has written into it. A
// forge that does not say who wrote is taken at the actor's word.
func spoke(actor, author vcs.Actor) bool { return author.ID == 0 || actor.Is(author) }

// opened looks for a command in the opening text (rule T5).
func (r Rules) opened(ev vcs.Event) []Proposal {
	var body string
	var author vcs.Actor
	switch {
	case ev.PullRequest != nil:
		body, author = ev.PullRequest.Body, ev.PullRequest.Author
	case ev.Issue != nil:
		body, author = ev.Issue.Body, ev.Issue.Author
	}
	if !spoke(ev.Actor, author) {
		return ignored("not_author", "the opening text is somebody else's")
	}
	return r.commands(ev, r.Parser.Parse(body))
}

// review: a submitted review is one job with all its remarks (rule R1), when
// it is on a pull request of ours; elsewhere it counts as a comment.
func (r Rules) review(ev vcs.Event) []Proposal {
	if ev.Review == nil || ev.PullRequest == nil {
		return ignored("incomplete", "no review in the event")
	}
	if !spoke(ev.Actor, ev.Review.Author) {
		return ignored("not_author", "the review is somebody else's")
	}
	if ev.Review.Partial && ev.Edited() {
		return r.comment(ev) // a remark that is edited is no new one
	}
	if parsed := r.Parser.Parse(ev.Review.Body); !parsed.Empty() {
		out := r.commands(ev, parsed)
		for i, p := range out {
			out[i].Once = ev.Comment != nil && forgetful(ev)
			if p.Decision == Job && p.Kind == jobs.KindFix && ev.PullRequest.Open && r.ours(ev.PullRequest.Author) {
				out[i].Kind = jobs.KindReviewFollowup // its remarks are taken up as well
			}
		}
		return out
	}
	switch {
	case !r.ours(ev.PullRequest.Author):
		return ignored("not_ours", "review of a pull request of somebody else")
	case ev.Review.State == vcs.ReviewApproved:
		return ignored("approval", "an approval starts nothing") // rule R5
	case ev.Review.State == vcs.ReviewDismissed:
		return ignored("dismissed", "review was dismissed")
	case !ev.PullRequest.Open:
		return ignored("closed", "pull request is closed")
	}
	if d := r.Policy.Admit(ev.Actor, r.Self, ev.Repo.RepoRef); !d.Allowed() {
		return ignored("policy", d.Reason)
	}
	return []Proposal{{
		Decision: Job, Kind: jobs.KindReviewFollowup, Reason: "review of a pull request of ours",
		Command: jobs.Command{Verb: jobs.VerbFix, Text: strings.TrimSpace(ev.Review.Body)},
	}}
}

// ours reports whether Greenwright is the author, or may be.
func (r Rules) ours(author vcs.Actor) bool {
	if r.Self.ID == 0 {
		return r.Provisional
	}
	return author.Is(r.Self)
}

// check: a red check on a pull request's head (rule T7, first form of C2).
func (r Rules) check(ev vcs.Event) []Proposal {
	c := ev.Check
	switch {
	case c == nil:
		return ignored("incomplete", "no check in the event")
	case c.Part:
		return ignored("part", "the pipeline's own end counts, when all its jobs have settled") // rule C1
	case !c.Completed:
		return ignored("running", "check has not ended")
	case !c.Conclusion.Red():
		return ignored("not_red", "check is not red: "+string(c.Conclusion))
	}
	own := r.BranchPrefix != "" && strings.HasPrefix(c.HeadBranch, r.BranchPrefix)
	switch {
	case !own && r.Policy.AutoRepair != policy.AutoRepairAll:
		return ignored("policy", "policy.auto_repair is off for pull requests of others")
	case ev.Thread.Number == 0 && len(c.PullRequests) == 0 && !c.PullRequestsUnknown:
		return ignored("no_pull_request", "check is on no open pull request of this repository")
	}
	if d := r.Policy.AdmitRepo(ev.Repo.RepoRef); !d.Allowed() {
		return ignored("policy", d.Reason)
	}
	return []Proposal{{Decision: Job, Kind: jobs.KindCheckRepair, Command: jobs.Command{Verb: jobs.VerbFix}, Reason: "check " + c.Name + " is red"}}
}
