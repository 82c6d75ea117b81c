package gitlabhook

import (
	"fmt"

	"github.com/greenwright/greenwright/vcs"
)

// note is a comment on an issue or merge request. One in a discussion of a
// merge request that can be resolved is a review's remark.
func (c converter) note() error {
	w, err := attributes(c.parser.notes, c.wire.Attributes)
	if err != nil {
		return err
	}
	if !c.decide(facts{action: w.Action, system: w.System, on: w.On}) {
		return nil
	}
	if w.ID <= 0 {
		return fmt.Errorf("%w: note id %d", vcs.ErrInvalid, w.ID)
	}
	if err := c.writer(&w); err != nil {
		return err
	}
	author := c.account(w.AuthorID)
	c.byAction(&w, author)
	if onIssue(w.On) {
		err = c.onIssue()
	} else {
		err = c.onMergeRequest()
	}
	if err != nil {
		return err
	}
	c.comment(&w, author)
	return nil
}

// writer fills in who wrote where the user has no id: a note's user is its
// author. One who was deleted has no name either.
func (c converter) writer(w *note) (err error) {
	e := c.event
	switch {
	case e.Actor.ID != 0:
	case c.wire.User != nil:
		e.Actor, err = actorOf(&user{ID: w.AuthorID, Username: c.wire.User.Username})
	default:
		e.Actor = c.account(w.AuthorID)
	}
	if err == nil && e.Actor.ID == 0 {
		err = missing("user")
	}
	return err
}

// byAction sets action and actor. Whoever edits a note, its hook has the
// author as its user; an editor who is somebody else is known by id alone.
func (c converter) byAction(w *note, author vcs.Actor) {
	edited := w.Action == "update" || w.Action == "" && !w.UpdatedAt.Equal(w.CreatedAt.Time)
	if !edited {
		c.event.Action = "created"
		return
	}
	c.event.Action = "updated"
	if w.UpdatedByID > 0 && w.UpdatedByID != author.ID {
		c.event.Actor = c.account(w.UpdatedByID)
	}
}

func (c converter) onIssue() error {
	w := c.wire.Issue
	if w == nil {
		return missing("issue")
	}
	if err := c.thread(w.IID, false); err != nil {
		return err
	}
	c.event.Issue = c.issueOf(w)
	return nil
}

func (c converter) onMergeRequest() error {
	if c.wire.MergeRequest == nil {
		return missing("merge request")
	}
	return c.pull(c.wire.MergeRequest)
}

func (c converter) comment(w *note, author vcs.Actor) {
	kind := vcs.IssueComment
	if onMergeRequest(w.On) && w.resolvable() {
		kind = vcs.ReviewRemark
	}
	c.event.Comment = &vcs.Comment{
		CommentRef: vcs.CommentRef{Kind: kind, ID: w.ID}, Author: author, Body: w.Text,
		CreatedAt: w.CreatedAt.Time, UpdatedAt: w.UpdatedAt.Time, URL: w.URL, Internal: c.internal(w),
	}
	c.identify(numbered("note", w.ID), stamp(w.UpdatedAt))
	if kind != vcs.ReviewRemark {
		return
	}
	c.event.Kind = vcs.EventReview
	c.event.Review = &vcs.Review{
		ID: w.ID, Author: author, State: vcs.ReviewCommented, Body: w.Text, Partial: true,
		CommitSHA: w.headSHA(), SubmittedAt: w.CreatedAt.Time, URL: w.URL,
	}
}

// resolvable reports a note on a diff, or in a discussion. Versions that do
// not tell a note's type tell its line.
func (w *note) resolvable() bool {
	switch w.Type {
	case "DiffNote", "DiscussionNote", "LegacyDiffNote":
		return true
	case "":
		return w.Position != nil || w.LineCode != ""
	}
	return false
}

func (w *note) headSHA() string {
	if w.Position == nil || vcs.ValidateSHA(w.Position.HeadSHA) != nil {
		return ""
	}
	return w.Position.HeadSHA
}

// internal reports a note that members alone see. One that comes as a
// confidential one, of a version that does not say why, is taken for such
// unless its issue is.
func (c converter) internal(w *note) bool {
	if w.Confidential || w.Internal != nil && *w.Internal {
		return true
	}
	issueIs := c.event.PullRequest == nil && c.event.Issue != nil && c.event.Issue.Confidential
	return c.hidden() && !issueIs
}
