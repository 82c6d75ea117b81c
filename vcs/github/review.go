package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v60/github"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/sticky"
)

// Review reads a submitted review with the threads that it has a remark in,
// their replies included.
func (f *Forge) Review(ctx context.Context, t vcs.Thread, id int64) (vcs.Review, error) {
	doing := fmt.Sprintf("reading a review of %s", t)
	c, err := f.pullClient(ctx, t, vcs.Read)
	if err != nil {
		return vcs.Review{}, err
	}
	r, _, err := c.PullRequests.GetReview(ctx, t.Repo.Owner, t.Repo.Name, t.Number, id)
	if err != nil {
		return vcs.Review{}, f.mapError(doing, err)
	}
	out, err := reviewOf(r)
	if err != nil {
		return vcs.Review{}, f.mapError(doing, err)
	}
	remarks, err := f.remarks(ctx, c, t)
	if err != nil {
		return vcs.Review{}, f.mapError(doing, err)
	}
	if out.Remarks, err = threadsOf(remarks, id); err != nil || len(out.Remarks) == 0 {
		return out, f.mapError(doing, err)
	}
	return out, f.mapError(doing, f.markResolved(ctx, c, t, out.Remarks))
}

func reviewOf(r *gh.PullRequestReview) (vcs.Review, error) {
	author, err := actorOf(r.User)
	if err != nil {
		return vcs.Review{}, err
	}
	state := vcs.ReviewState(strings.ToLower(r.GetState()))
	switch state {
	case vcs.ReviewApproved, vcs.ReviewChangesRequested, vcs.ReviewCommented, vcs.ReviewDismissed:
	default: // a pending one has not been submitted
		return vcs.Review{}, fmt.Errorf("%w: review in state %q", vcs.ErrNotFound, r.GetState())
	}
	if sha := r.GetCommitID(); sha != "" {
		if err := vcs.ValidateSHA(sha); err != nil {
			return vcs.Review{}, err
		}
	}
	return vcs.Review{
		ID: r.GetID(), Author: author, State: state, Body: r.GetBody(), CommitSHA: r.GetCommitID(),
		SubmittedAt: timeOf(r.SubmittedAt), URL: r.GetHTMLURL(),
	}, nil
}

// remarks lists every line comment of a pull request, oldest first. The
// listing per review has neither replies nor line numbers.
func (f *Forge) remarks(ctx context.Context, c client, t vcs.Thread) ([]*gh.PullRequestComment, error) {
	var out []*gh.PullRequestComment
	opts := gh.PullRequestListCommentsOptions{Sort: "created", Direction: "asc", ListOptions: gh.ListOptions{PerPage: perPage}}
	for range maxPages {
		got, resp, err := c.PullRequests.ListComments(ctx, t.Repo.Owner, t.Repo.Name, t.Number, &opts)
		if err != nil {
			return nil, fmt.Errorf("listing remarks: %w", err)
		}
		out = append(out, got...)
		if resp.NextPage == 0 {
			return out, nil
		}
		opts.Page = resp.NextPage
	}
	return out, nil
}

// threadsOf groups remarks and keeps the threads that the review wrote in.
func threadsOf(all []*gh.PullRequestComment, reviewID int64) ([]vcs.ReviewThread, error) {
	index, wanted := map[int64]int{}, map[int64]bool{}
	var threads []vcs.ReviewThread
	for _, c := range all {
		cm, err := remarkOf(c)
		if err != nil {
			return nil, err
		}
		opening := c.GetInReplyTo()
		if opening == 0 {
			opening = c.GetID()
		}
		i, known := index[opening]
		if !known { // an opening comment, or a reply whose opening was deleted
			i = len(threads)
			index[opening] = i
			threads = append(threads, threadOf(opening, c))
		}
		threads[i].Comments = append(threads[i].Comments, cm)
		wanted[opening] = wanted[opening] || c.GetPullRequestReviewID() == reviewID
	}
	out := make([]vcs.ReviewThread, 0, len(threads))
	for _, th := range threads {
		if wanted[th.ID] {
			out = append(out, th)
		}
	}
	return out, nil
}

func threadOf(id int64, c *gh.PullRequestComment) vcs.ReviewThread {
	wholeFile := c.GetSubjectType() == "file"
	return vcs.ReviewThread{
		ID: id, Path: c.GetPath(), StartLine: c.GetStartLine(), Line: c.GetLine(), Side: c.GetSide(),
		DiffHunk: c.GetDiffHunk(), Outdated: c.Line == nil && !wholeFile,
	}
}

// ReplyToRemark answers in a review thread, or edits the answer that has the
// marker.
func (f *Forge) ReplyToRemark(ctx context.Context, t vcs.Thread, id int64, s vcs.StickyComment) (vcs.Comment, error) {
	doing := fmt.Sprintf("answering a remark on %s", t)
	text, err := compose(s)
	if err != nil {
		return vcs.Comment{}, f.mapError(doing, err)
	}
	c, err := f.pullClient(ctx, t, vcs.Write)
	if err != nil {
		return vcs.Comment{}, err
	}
	got, err := sticky.Put(ctx, f.stickies, fmt.Sprint(t.Key(), " ", id, " ", s.Marker), sticky.Ways[*gh.PullRequestComment]{
		Edit: func(known int64) (*gh.PullRequestComment, error) {
			got, _, err := c.PullRequests.EditComment(ctx, t.Repo.Owner, t.Repo.Name, known, &gh.PullRequestComment{Body: &text})
			return got, err
		},
		Find:   func() (int64, error) { return f.findReply(ctx, c, t, id, s.Marker) },
		Create: func() (*gh.PullRequestComment, error) { return createReply(ctx, c, t, id, text) },
		ID:     (*gh.PullRequestComment).GetID, Gone: isGone,
	})
	if err != nil {
		return vcs.Comment{}, f.mapError(doing, err)
	}
	out, err := remarkOf(got)
	return out, f.mapError(doing, err)
}

func createReply(ctx context.Context, c client, t vcs.Thread, id int64, text string) (*gh.PullRequestComment, error) {
	path := fmt.Sprintf("repos/%s/%s/pulls/%d/comments/%d/replies", t.Repo.Owner, t.Repo.Name, t.Number, id)
	r, err := c.NewRequest(http.MethodPost, path, map[string]string{"body": text})
	if err != nil {
		return nil, fmt.Errorf("building the request: %w", err)
	}
	got := new(gh.PullRequestComment)
	_, err = c.Do(ctx, r, got)
	return got, err
}

func (f *Forge) findReply(ctx context.Context, c client, t vcs.Thread, id int64, marker string) (int64, error) {
	self, err := f.Self(ctx)
	if err != nil {
		return 0, err
	}
	line, err := sticky.Line(marker)
	if err != nil {
		return 0, err
	}
	all, err := f.remarks(ctx, c, t)
	if err != nil {
		return 0, err
	}
	for _, r := range all {
		if r.GetInReplyTo() == id && r.GetUser().GetID() == self.ID && sticky.Begins(r.GetBody(), line) {
			return r.GetID(), nil
		}
	}
	return 0, nil
}
