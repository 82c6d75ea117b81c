package github

import (
	"context"
	"fmt"
	"net/http"

	gh "github.com/google/go-github/v60/github"

	"github.com/greenwright/greenwright/vcs"
)

// PullRequest reads a pull request.
func (f *Forge) PullRequest(ctx context.Context, t vcs.Thread) (vcs.PullRequest, error) {
	doing := fmt.Sprintf("reading %s", t)
	c, err := f.pullClient(ctx, t, vcs.Read)
	if err != nil {
		return vcs.PullRequest{}, err
	}
	p, _, err := c.PullRequests.Get(ctx, t.Repo.Owner, t.Repo.Name, t.Number)
	if err != nil {
		return vcs.PullRequest{}, f.mapError(doing, err)
	}
	out, err := pullOf(t, p)
	return out, f.mapError(doing, err)
}

func (f *Forge) pullClient(ctx context.Context, t vcs.Thread, a vcs.Access) (client, error) {
	if err := validateThread(t); err != nil {
		return client{}, err
	}
	return f.client(ctx, t.Repo, grantPulls(a))
}

// OpenPullRequest returns the open pull request of the head and base, or opens
// one.
func (f *Forge) OpenPullRequest(ctx context.Context, n vcs.NewPullRequest) (vcs.PullRequest, error) {
	doing := fmt.Sprintf("opening a pull request in %s", n.Repo.FullName())
	for _, b := range []string{n.Head, n.Base} {
		if err := vcs.ValidateBranch(b); err != nil {
			return vcs.PullRequest{}, f.mapError(doing, err)
		}
	}
	c, err := f.client(ctx, n.Repo, grantPulls(vcs.Write))
	if err != nil {
		return vcs.PullRequest{}, err
	}
	p, err := f.findPull(ctx, c, n)
	if err == nil && p == nil {
		p, err = f.createPull(ctx, c, n)
	}
	if err != nil {
		return vcs.PullRequest{}, f.mapError(doing, err)
	}
	out, err := pullOf(vcs.Thread{Repo: n.Repo, Number: p.GetNumber()}, p)
	return out, f.mapError(doing, err)
}

// findPull is nil when there is no open one.
func (f *Forge) findPull(ctx context.Context, c client, n vcs.NewPullRequest) (*gh.PullRequest, error) {
	got, _, err := c.PullRequests.List(ctx, n.Repo.Owner, n.Repo.Name, &gh.PullRequestListOptions{
		State: "open", Head: n.Repo.Owner + ":" + n.Head, Base: n.Base,
	})
	if err != nil {
		return nil, fmt.Errorf("listing pull requests: %w", err)
	}
	for _, p := range got {
		// GitHub ignores a head that it cannot read as owner:branch.
		if p.GetHead().GetRef() == n.Head && p.GetBase().GetRef() == n.Base {
			return p, nil
		}
	}
	return nil, nil
}

// createPull opens one; somebody else opening it meanwhile is no error.
func (f *Forge) createPull(ctx context.Context, c client, n vcs.NewPullRequest) (*gh.PullRequest, error) {
	p, _, err := c.PullRequests.Create(ctx, n.Repo.Owner, n.Repo.Name, &gh.NewPullRequest{
		Title: gh.String(cutTitle(n.Title)), Head: &n.Head, Base: &n.Base,
		Body: gh.String(cutBody(n.Body, maxBody)), Draft: &n.Draft,
	})
	if !hasStatus(err, http.StatusUnprocessableEntity) {
		return p, err
	}
	if found, findErr := f.findPull(ctx, c, n); findErr == nil && found != nil {
		return found, nil
	}
	return nil, err
}

// EditPullRequest replaces title and body; empty leaves as it is.
func (f *Forge) EditPullRequest(ctx context.Context, t vcs.Thread, title, body string) error {
	doing := fmt.Sprintf("editing %s", t)
	c, err := f.pullClient(ctx, t, vcs.Write)
	if err != nil {
		return err
	}
	var edit gh.PullRequest
	if title != "" {
		edit.Title = gh.String(cutTitle(title))
	}
	if body != "" {
		edit.Body = gh.String(cutBody(body, maxBody))
	}
	if edit.Title == nil && edit.Body == nil {
		return nil
	}
	_, _, err = c.PullRequests.Edit(ctx, t.Repo.Owner, t.Repo.Name, t.Number, &edit)
	return f.mapError(doing, err)
}

// RequestReview asks the reviewer to look again.
func (f *Forge) RequestReview(ctx context.Context, t vcs.Thread, reviewer vcs.Actor) error {
	doing := fmt.Sprintf("requesting a review of %s", t)
	if !validLogin(reviewer.Login) {
		return f.mapError(doing, fmt.Errorf("%w: account %q", vcs.ErrInvalid, reviewer.Login))
	}
	c, err := f.pullClient(ctx, t, vcs.Write)
	if err != nil {
		return err
	}
	_, _, err = c.PullRequests.RequestReviewers(ctx, t.Repo.Owner, t.Repo.Name, t.Number,
		gh.ReviewersRequest{Reviewers: []string{reviewer.Login}})
	return f.mapError(doing, err)
}
