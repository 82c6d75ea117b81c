package github

import (
	"context"
	"fmt"
	"net/http"

	gh "github.com/google/go-github/v60/github"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/sticky"
)

const (
	// perPage is GitHub's largest page.
	perPage = 100
	// maxCommentPages bounds what Issue reads: the first page and the last two.
	maxCommentPages = 3
	// maxPages bounds every other listing; 5,000 entries.
	maxPages = 50
)

// Issue reads the opening text and the comments; of a thread with more than
// 300 the first hundred and the last one or two hundred, marked Truncated.
func (f *Forge) Issue(ctx context.Context, t vcs.Thread) (vcs.Issue, error) {
	doing := fmt.Sprintf("reading %s", t)
	c, err := f.threadClient(ctx, t, vcs.Read)
	if err != nil {
		return vcs.Issue{}, err
	}
	i, _, err := c.Issues.Get(ctx, t.Repo.Owner, t.Repo.Name, t.Number)
	if err != nil {
		return vcs.Issue{}, f.mapError(doing, err)
	}
	out, err := issueOf(t, i)
	if err != nil {
		return vcs.Issue{}, f.mapError(doing, err)
	}
	last := (i.GetComments() + perPage - 1) / perPage
	for page := 1; page <= max(last, 1); page++ {
		if last > maxCommentPages && page > 1 && page <= last-(maxCommentPages-1) {
			out.Truncated = true
			continue
		}
		got, more, err := f.commentPage(ctx, c, t, page)
		if err != nil {
			return vcs.Issue{}, f.mapError(doing, err)
		}
		out.Comments = append(out.Comments, got...)
		out.Truncated = out.Truncated || page == max(last, 1) && more
	}
	return out, nil
}

func (f *Forge) threadClient(ctx context.Context, t vcs.Thread, a vcs.Access) (client, error) {
	if err := validateThread(t); err != nil {
		return client{}, err
	}
	return f.client(ctx, t.Repo, grantThread(t, a))
}

// commentPage reads one page, oldest first.
func (f *Forge) commentPage(ctx context.Context, c client, t vcs.Thread, page int) (out []vcs.Comment, more bool, err error) {
	got, resp, err := c.Issues.ListComments(ctx, t.Repo.Owner, t.Repo.Name, t.Number,
		&gh.IssueListCommentsOptions{ListOptions: gh.ListOptions{Page: page, PerPage: perPage}})
	if err != nil {
		return nil, false, err
	}
	for _, g := range got {
		cm, err := commentOf(g)
		if err != nil {
			return nil, false, err
		}
		out = append(out, cm)
	}
	return out, resp.NextPage != 0, nil
}

// PutComment edits the own comment whose first line is the marker, or creates
// it.
func (f *Forge) PutComment(ctx context.Context, t vcs.Thread, s vcs.StickyComment) (vcs.Comment, error) {
	doing := fmt.Sprintf("writing a comment on %s", t)
	text, err := compose(s)
	if err != nil {
		return vcs.Comment{}, f.mapError(doing, err)
	}
	c, err := f.threadClient(ctx, t, vcs.Write)
	if err != nil {
		return vcs.Comment{}, err
	}
	owner, name, body := t.Repo.Owner, t.Repo.Name, &gh.IssueComment{Body: &text}
	got, err := sticky.Put(ctx, f.stickies, t.Key()+" "+s.Marker, sticky.Ways[*gh.IssueComment]{
		Edit: func(id int64) (*gh.IssueComment, error) {
			got, _, err := c.Issues.EditComment(ctx, owner, name, id, body)
			return got, err
		},
		Find: func() (int64, error) { return f.findComment(ctx, c, t, s.Marker) },
		Create: func() (*gh.IssueComment, error) {
			got, _, err := c.Issues.CreateComment(ctx, owner, name, t.Number, body)
			return got, err
		},
		ID: (*gh.IssueComment).GetID, Gone: isGone,
	})
	if err != nil {
		return vcs.Comment{}, f.mapError(doing, err)
	}
	out, err := commentOf(got)
	return out, f.mapError(doing, err)
}

// isGone reports whether what was to be changed is not there.
func isGone(err error) bool { return hasStatus(err, http.StatusNotFound) }

// findComment looks for an own comment with the marker; 0 is none.
func (f *Forge) findComment(ctx context.Context, c client, t vcs.Thread, marker string) (int64, error) {
	self, err := f.Self(ctx)
	if err != nil {
		return 0, err
	}
	line, err := sticky.Line(marker)
	if err != nil {
		return 0, err
	}
	for page := 1; page <= maxPages; page++ {
		got, more, err := f.commentPage(ctx, c, t, page)
		if err != nil {
			return 0, err
		}
		for _, g := range got {
			if g.Author.Is(self) && sticky.Begins(g.Body, line) {
				return g.ID, nil
			}
		}
		if !more {
			return 0, nil
		}
	}
	return 0, fmt.Errorf("%w: more than %d comments", vcs.ErrUnsupported, maxPages*perPage)
}

// React leaves a reaction; GitHub keeps one of a kind per account. A review's
// summary has none over REST: vcs.ErrUnsupported.
func (f *Forge) React(ctx context.Context, t vcs.Thread, ref vcs.CommentRef, r vcs.Reaction) error {
	doing := fmt.Sprintf("reacting on %s", t)
	c, err := f.threadClient(ctx, t, vcs.Write)
	if err != nil {
		return err
	}
	owner, name := t.Repo.Owner, t.Repo.Name
	switch ref.Kind {
	case vcs.IssueComment:
		_, _, err = c.Reactions.CreateIssueCommentReaction(ctx, owner, name, ref.ID, string(r))
	case vcs.ReviewRemark:
		_, _, err = c.Reactions.CreatePullRequestCommentReaction(ctx, owner, name, ref.ID, string(r))
	case vcs.ThreadBody:
		_, _, err = c.Reactions.CreateIssueReaction(ctx, owner, name, t.Number, string(r))
	default:
		return fmt.Errorf("github: %s: %w: a reaction on %q", doing, vcs.ErrUnsupported, ref.Kind)
	}
	return f.mapError(doing, err)
}
