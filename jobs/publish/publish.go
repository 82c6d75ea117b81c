package publish

import (
	"context"
	"fmt"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/actions"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// Publisher publishes the change of one run.
type Publisher struct {
	Forge  vcs.Forge
	Mirror *git.Mirror
	Log    *actions.Log
	Job    jobs.Job
	Run    jobs.RunID
	Repo   vcs.Repo
	Self   vcs.Actor
	// BranchPrefix begins the names of new branches, e.g. "greenwright/".
	BranchPrefix string
}

// Aim chooses the target: the head of the pull request that the job is on
// (rule O1), else a new branch into base, named after number and title.
func (p *Publisher) Aim(ctx context.Context, pull *vcs.PullRequest, base, title string) (Target, error) {
	if pull != nil {
		return onPull(*pull, p.Repo)
	}
	remote, err := p.Forge.Remote(ctx, p.Repo.RepoRef, vcs.Read)
	if err != nil {
		return Target{}, fmt.Errorf("choosing a branch: %w", err)
	}
	branch, err := freeBranch(ctx, p.Mirror, remote, p.branchName(title))
	if err != nil {
		return Target{}, err
	}
	if branch == p.Repo.DefaultBranch {
		return Target{}, fmt.Errorf("%w: %s is the default branch", ErrTarget, branch)
	}
	return Target{Branch: branch, Base: base}, nil
}

// branchName is that of a new branch, unless it is taken.
func (p *Publisher) branchName(title string) string {
	if n := p.Job.Thread.Number; n > 0 && p.Repo.Forge != vcs.Local {
		return fmt.Sprintf("%s%d-%s", p.BranchPrefix, n, Slug(title))
	}
	return p.BranchPrefix + Slug(title)
}

// Refused asks a forge that tells its rules why it would refuse what the run is
// going to push (rule P7); empty when it would not, or does not tell.
func (p *Publisher) Refused(ctx context.Context, pull *vcs.PullRequest, title, subject, body string) (reason string, err error) {
	forge, ok := p.Forge.(vcs.PushChecker)
	if !ok {
		return "", nil
	}
	push := vcs.Push{Branch: p.branchName(title), New: true, Message: p.message(subject, body), AuthorEmail: p.noreply(p.Self)}
	if pull != nil {
		push.Branch, push.New = pull.Head.Name, false
	}
	return forge.PushRefused(ctx, p.Repo.RepoRef, push)
}

// PushKey is the key of the action that pushes a commit to a branch.
func PushKey(branch, commit string) string { return "push:" + branch + ":" + commit }

// Push moves the target to the commit and gives the head as read back.
// vcs.ErrConflict means that somebody pushed meanwhile, ErrTarget that the
// target may not be one.
func (p *Publisher) Push(ctx context.Context, t Target, commit string) (string, error) {
	if t.Branch == p.Repo.DefaultBranch {
		return "", fmt.Errorf("pushing %s: %w: it is the default branch", t.Branch, ErrTarget)
	}
	action := journal.ActionIntended{Key: PushKey(t.Branch, commit), Kind: "push", Target: t.Branch}
	done, err := p.Log.Do(ctx, action, func(ctx context.Context) (actions.Done, error) {
		remote, err := p.Forge.Remote(ctx, p.Repo.RepoRef, vcs.Write)
		if err != nil {
			return actions.Done{}, err
		}
		head, err := p.Mirror.Push(ctx, remote, git.PushSpec{Commit: commit, Branch: t.Branch, Expect: t.Expect})
		return actions.Done{Result: head}, err
	})
	if err != nil {
		return "", fmt.Errorf("pushing %s: %w", t.Branch, err)
	}
	return done.Result, nil
}

// maxTitle is GitHub's limit for a title, in characters (rule O7).
const maxTitle = 256

// Proposal is the text of a pull request. The title may be somebody else's.
type Proposal struct {
	Title, Body string
	Draft       bool
}

// Open opens the pull request of a new branch, or finds the one that is open.
func (p *Publisher) Open(ctx context.Context, t Target, prop Proposal) (vcs.PullRequest, error) {
	opener, ok := p.Forge.(vcs.PullRequestOpener)
	if !ok {
		return vcs.PullRequest{}, fmt.Errorf("opening a pull request: %w", vcs.ErrUnsupported)
	}
	var pr vcs.PullRequest
	action := journal.ActionIntended{Key: "open:" + t.Branch, Kind: "open_pull_request", Target: t.Branch + " into " + t.Base}
	_, err := p.Log.Do(ctx, action, func(ctx context.Context) (actions.Done, error) {
		var err error
		pr, err = opener.OpenPullRequest(ctx, vcs.NewPullRequest{Repo: p.Repo.RepoRef, Head: t.Branch, Base: t.Base, Title: oneLine(harmless(prop.Title), maxTitle), Body: prop.Body, Draft: prop.Draft})
		return actions.Done{Result: pr.Label(), URL: pr.URL}, err
	})
	if err != nil {
		return pr, fmt.Errorf("opening a pull request: %w", err)
	}
	return pr, nil
}

// Describe replaces the text of a pull request of ours (rule R4).
func (p *Publisher) Describe(ctx context.Context, pr vcs.PullRequest, body string) error {
	opener, ok := p.Forge.(vcs.PullRequestOpener)
	if !ok {
		return nil
	}
	action := journal.ActionIntended{Key: fmt.Sprintf("describe:%d:%s", pr.Number, p.Run), Kind: "edit_pull_request", Target: pr.Label()}
	_, err := p.Log.Do(ctx, action, func(ctx context.Context) (actions.Done, error) {
		return actions.Done{Result: "description replaced"}, opener.EditPullRequest(ctx, pr.Thread, "", body)
	})
	return err
}

// Answer replies in a review thread (rule R3).
func (p *Publisher) Answer(ctx context.Context, thread vcs.Thread, remark int64, text string) error {
	reviewer, ok := p.Forge.(vcs.Reviewer)
	if !ok {
		return fmt.Errorf("answering a review: %w", vcs.ErrUnsupported)
	}
	marker := fmt.Sprintf("remark:%d:%s", remark, p.Job.ID)
	action := journal.ActionIntended{Key: marker, Kind: "reply", Target: fmt.Sprintf("review thread %d", remark), Text: text}
	_, err := p.Log.Do(ctx, action, func(ctx context.Context) (actions.Done, error) {
		c, err := reviewer.ReplyToRemark(ctx, thread, remark, vcs.StickyComment{Marker: marker, Body: text})
		return actions.Done{Result: "answered", URL: c.URL}, err
	})
	return err
}

// AskReview asks a reviewer to look again (rule R5).
func (p *Publisher) AskReview(ctx context.Context, thread vcs.Thread, reviewer vcs.Actor) error {
	forge, ok := p.Forge.(vcs.Reviewer)
	if !ok {
		return fmt.Errorf("asking for a review: %w", vcs.ErrUnsupported)
	}
	action := journal.ActionIntended{Key: fmt.Sprintf("ask_review:%d:%s", reviewer.ID, p.Job.ID), Kind: "request_review", Target: reviewer.Login}
	_, err := p.Log.Do(ctx, action, func(ctx context.Context) (actions.Done, error) {
		return actions.Done{Result: "asked to look again"}, forge.RequestReview(ctx, thread, reviewer)
	})
	return err
}
