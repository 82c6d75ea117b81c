package githubhook

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

func missing(what string) error { return fmt.Errorf("%w: no %s", vcs.ErrInvalid, what) }

func object(kind string, id int64) string { return kind + ":" + strconv.FormatInt(id, 10) }

func (c converter) issueComment() (err error) {
	w := c.wire
	if w.Issue == nil || w.Comment == nil {
		return missing("issue or comment")
	}
	if err := c.thread(w.Issue.Number, bool(w.Issue.PullRequest)); err != nil {
		return err
	}
	if c.event.Issue, err = c.issueOf(w.Issue); err != nil {
		return err
	}
	if c.event.Comment, err = c.commentOf(w.Comment, vcs.IssueComment); err != nil {
		return err
	}
	c.previous()
	c.identify(object("comment", w.Comment.ID), stamp(w.Comment.UpdatedAt))
	return nil
}

func (c converter) reviewComment() (err error) {
	w := c.wire
	if w.PullRequest == nil || w.Comment == nil {
		return missing("pull request or comment")
	}
	if err := c.pull(); err != nil {
		return err
	}
	if c.event.Comment, err = c.commentOf(w.Comment, vcs.ReviewRemark); err != nil {
		return err
	}
	c.previous()
	c.event.Review = reviewRef(c.event.Comment, w.Comment)
	c.identify(object("remark", w.Comment.ID), stamp(w.Comment.UpdatedAt))
	return nil
}

// reviewRef says which review and which thread of it a remark belongs to.
func reviewRef(cm *vcs.Comment, w *comment) *vcs.Review {
	opening := w.ID
	if w.InReplyTo > 0 {
		opening = w.InReplyTo
	}
	return &vcs.Review{ID: w.ReviewID, Author: cm.Author, Remarks: []vcs.ReviewThread{{
		ID: opening, Path: w.Path, StartLine: w.StartLine, Line: w.Line, Side: w.Side, DiffHunk: w.DiffHunk,
	}}}
}

func (c converter) previous() {
	if ch := c.wire.Changes; ch != nil && ch.Body != nil {
		c.event.PreviousBody = ch.Body.From
	}
}

func (c converter) issues() (err error) {
	w := c.wire.Issue
	if w == nil {
		return missing("issue")
	}
	if err := c.thread(w.Number, bool(w.PullRequest)); err != nil {
		return err
	}
	if c.event.Issue, err = c.issueOf(w); err != nil {
		return err
	}
	if err := c.byAction(opening{
		body: w.Body, author: c.event.Issue.Author, created: stamp(w.CreatedAt),
		updated: stamp(w.UpdatedAt), closed: stamp(w.ClosedAt), url: w.HTMLURL,
	}); err != nil {
		return err
	}
	return nil
}

func (c converter) pullRequest() error {
	w := c.wire.PullRequest
	if w == nil {
		return missing("pull request")
	}
	if err := c.pull(); err != nil {
		return err
	}
	if c.event.Kind == vcs.EventPush {
		c.identify(object("issue", int64(w.Number)), w.Head.SHA)
		return nil
	}
	return c.byAction(opening{
		body: w.Body, author: c.event.PullRequest.Author, created: stamp(w.CreatedAt),
		updated: stamp(w.UpdatedAt), closed: stamp(w.ClosedAt), url: w.HTMLURL,
	})
}

// pull fills thread, pull request and its conversation's opening.
func (c converter) pull() (err error) {
	w := c.wire.PullRequest
	if err := c.thread(w.Number, true); err != nil {
		return err
	}
	if c.event.PullRequest, err = c.pullOf(w); err != nil {
		return err
	}
	c.event.Issue = &vcs.Issue{
		Thread: c.event.Thread, Title: w.Title, Body: w.Body, Author: c.event.PullRequest.Author,
		Open: w.State == "open", Locked: w.Locked, Labels: names(w.Labels), CreatedAt: w.CreatedAt, URL: w.HTMLURL,
	}
	return nil
}

// opening is what an issue and a pull request have in common.
type opening struct {
	body, url                string
	author                   vcs.Actor
	created, updated, closed string
}

// byAction fills what depends on the action on an issue or pull request.
func (c converter) byAction(o opening) (err error) {
	e := c.event
	id := object("issue", int64(e.Thread.Number))
	switch e.Kind {
	case vcs.EventOpened:
		c.identify(id, o.created)
	case vcs.EventClosed:
		c.identify(id, o.closed)
	case vcs.EventComment:
		c.edited(id, o)
	case vcs.EventLabeled:
		if c.wire.Label == nil {
			return missing("label")
		}
		e.Label = c.wire.Label.Name
		c.identify(id+":label:"+url.QueryEscape(e.Label), o.updated)
	case vcs.EventAssigned:
		if c.wire.Assignee == nil {
			return missing("assignee")
		}
		a, err := actorOf(c.wire.Assignee)
		if err != nil {
			return fmt.Errorf("assignee: %w", err)
		}
		e.Assignee = &a
		c.identify(id+object(":assignee", a.ID), o.updated)
	default: // unsupported: the thread is all that is told
	}
	return nil
}

// edited makes an edit of the opening text a comment event, and an edit of
// anything else (title, base) unsupported.
func (c converter) edited(id string, o opening) {
	e := c.event
	c.identify(id, o.updated)
	if c.wire.Changes == nil || c.wire.Changes.Body == nil {
		e.Kind = vcs.EventUnsupported
		return
	}
	c.previous()
	e.Comment = &vcs.Comment{
		CommentRef: vcs.CommentRef{Kind: vcs.ThreadBody}, Author: o.author, Body: o.body,
		CreatedAt: e.Issue.CreatedAt, UpdatedAt: c.updatedAt(), URL: o.url,
	}
}

func (c converter) review() error {
	w := c.wire.Review
	if w == nil || c.wire.PullRequest == nil {
		return missing("review or pull request")
	}
	if err := c.pull(); err != nil {
		return err
	}
	if w.ID <= 0 {
		return fmt.Errorf("%w: review id %d", vcs.ErrInvalid, w.ID)
	}
	author, err := actorOf(w.User)
	if err != nil {
		return fmt.Errorf("review's author: %w", err)
	}
	if w.CommitID != "" {
		if err := vcs.ValidateSHA(w.CommitID); err != nil {
			return fmt.Errorf("review's commit: %w", err)
		}
	}
	state, err := reviewState(w.State)
	if err != nil {
		return err
	}
	c.event.Review = &vcs.Review{
		ID: w.ID, Author: author, State: state, Body: w.Body,
		CommitSHA: w.CommitID, SubmittedAt: w.SubmittedAt, URL: w.HTMLURL,
	}
	c.identify(object("review", w.ID), stamp(w.SubmittedAt))
	return nil
}

// reviewState reads the webhook's lower-case spelling.
func reviewState(s string) (vcs.ReviewState, error) {
	switch st := vcs.ReviewState(strings.ToLower(s)); st {
	case vcs.ReviewApproved, vcs.ReviewChangesRequested, vcs.ReviewCommented, vcs.ReviewDismissed:
		return st, nil
	}
	return "", fmt.Errorf("%w: review state %q", vcs.ErrInvalid, s)
}
