package gitlabhook

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/greenwright/greenwright/vcs"
)

func (c converter) issue() error {
	w, err := attributes(c.parser.issues, c.wire.Attributes)
	if err != nil {
		return err
	}
	if !c.decide(facts{action: w.Action}) {
		return nil
	}
	if err := c.thread(w.IID, false); err != nil {
		return err
	}
	w.Confidential = w.Confidential || c.hidden()
	c.event.Issue = c.issueOf(&w)
	return c.changed(opening{
		object: numbered("issue", int64(w.IID)), body: w.Description, url: w.URL, author: c.event.Issue.Author,
		created: w.CreatedAt, updated: w.UpdatedAt, closed: w.ClosedAt,
	})
}

func (c converter) mergeRequest() error {
	w, err := attributes(c.parser.pulls, c.wire.Attributes)
	if err != nil {
		return err
	}
	if !c.decide(facts{action: w.Action}) {
		return nil
	}
	if err := c.pull(&w); err != nil {
		return err
	}
	return c.changed(opening{
		object: numbered("pull", int64(w.IID)), body: w.Description, url: w.URL, author: c.event.PullRequest.Author,
		created: w.CreatedAt, updated: w.UpdatedAt, closed: w.ClosedAt, pushed: w.OldRev != "",
	})
}

// opening is what an issue and a merge request have in common.
type opening struct {
	object, body, url        string
	author                   vcs.Actor
	created, updated, closed moment
	pushed                   bool
}

// changed fills what depends on the action.
func (c converter) changed(o opening) error {
	e := c.event
	if e.Actor.ID == 0 {
		return missing("user")
	}
	switch e.Kind {
	case vcs.EventOpened:
		c.identify(o.object, stamp(o.created))
	case vcs.EventClosed:
		if o.closed.IsZero() { // of a merge request no hook tells it
			o.closed = o.updated
		}
		c.identify(o.object, stamp(o.closed))
	default:
		return c.updated(o)
	}
	return nil
}

// updated is an update by what it changed. When several things changed at
// once, the text counts, which may hold a command, then the first label or
// assignee that was added.
func (c converter) updated(o opening) error {
	e, ch := c.event, c.wire.Changes
	if ch == nil {
		ch = &changes{}
	}
	c.identify(o.object, stamp(o.updated))
	switch {
	case ch.Description != nil && ch.Description.Previous != ch.Description.Current:
		c.edited(o, ch.Description.Previous)
	case ch.label() != "":
		e.Kind, e.Label = vcs.EventLabeled, ch.label()
		c.identify(o.object+":label:"+url.QueryEscape(e.Label), stamp(o.updated))
	case ch.assignee() != nil:
		return c.assigned(o, ch.assignee())
	case o.pushed && e.PullRequest != nil:
		e.Kind = vcs.EventPush
		c.identify(o.object, e.PullRequest.Head.SHA)
	default:
		e.Kind = vcs.EventUnsupported
	}
	return nil
}

func (c converter) edited(o opening, previous string) {
	e := c.event
	e.Kind, e.Action, e.PreviousBody = vcs.EventComment, "updated", previous
	e.Comment = &vcs.Comment{
		CommentRef: vcs.CommentRef{Kind: vcs.ThreadBody}, Author: o.author, Body: o.body,
		CreatedAt: o.created.Time, UpdatedAt: o.updated.Time, URL: o.url,
	}
}

func (c converter) assigned(o opening, u *user) error {
	a, err := actorOf(u)
	if err != nil {
		return fmt.Errorf("assignee: %w", err)
	}
	c.event.Kind, c.event.Assignee = vcs.EventAssigned, &a
	c.identify(o.object+numbered(":assignee", a.ID), stamp(o.updated))
	return nil
}

// label is the first that was added.
func (ch *changes) label() string {
	if ch.Labels == nil {
		return ""
	}
	for _, l := range ch.Labels.Current {
		if !slices.Contains(ch.Labels.Previous, l) {
			return l.Title
		}
	}
	return ""
}

// assignee is the first who was added.
func (ch *changes) assignee() *user {
	if ch.Assignees == nil {
		return nil
	}
	for _, u := range ch.Assignees.Current {
		if !slices.ContainsFunc(ch.Assignees.Previous, func(p user) bool { return p.same(u) }) {
			return &u
		}
	}
	return nil
}

// same compares by id, or by name where a version leaves out the ids.
func (u user) same(o user) bool {
	if u.ID == 0 || o.ID == 0 {
		return u.Username == o.Username
	}
	return u.ID == o.ID
}
