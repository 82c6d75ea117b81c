package vcstest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// place finds the issue or merge request that the path names and the account
// sees.
func (c *gitlabCall) place() *gitlabThread {
	if n := c.r.PathValue("merge"); n != "" {
		if !c.project.readsCode(c.actor()) {
			return nil
		}
		return c.project.pull(int(c.number("merge")))
	}
	t := c.project.threads[c.project.thread(int(c.number("issue")), false)]
	if t == nil || t.issue.Confidential && !c.insider() && !t.issue.Author.Is(c.actor()) {
		return nil
	}
	return t
}

// insider is who sees what is confidential.
func (c *gitlabCall) insider() bool { return c.project.levelOf(c.actor()) >= reporter }

func (t *gitlabThread) state() string {
	switch {
	case t.pull != nil && t.pull.Merged:
		return "merged"
	case t.issue.Open:
		return "opened"
	}
	return "closed"
}

// threadObject is what an issue and a merge request have in common.
func (c *gitlabCall) threadObject(t *gitlabThread) object {
	i := t.issue
	return object{
		"id": i.Number + 700_000, "iid": i.Number, "project_id": t.project.meta.ID, "title": t.title(), "description": i.Body, "state": t.state(),
		"author": c.g.apiUser(i.Author), "labels": i.Labels, "created_at": i.CreatedAt, "updated_at": t.updated, "web_url": i.URL,
		"discussion_locked": i.Locked, "assignees": []any{}, "assignee": nil, "milestone": nil, "upvotes": 0, "downvotes": 0,
		"user_notes_count": len(t.comments()), "closed_at": nil, "closed_by": nil, "imported": false,
		"references": object{"short": i.Label(), "relative": i.Label(), "full": i.Repo.FullName() + i.Label()},
	}
}

func getGitLabIssue(c *gitlabCall) reply {
	t := c.place()
	if t == nil {
		return missingThing("Not found")
	}
	o := c.threadObject(t)
	o["confidential"], o["type"], o["issue_type"], o["due_date"] = t.issue.Confidential, "ISSUE", "issue", nil
	return ok(o)
}

// noteObject is a note; members for those that stand in a diff are there for
// them alone.
func (c *gitlabCall) noteObject(t *gitlabThread, d *discussion, n *gitlabNote) object {
	var kind any
	if n.kind != "" {
		kind = n.kind
	}
	on := "Issue"
	if t.pull != nil {
		on = "MergeRequest"
	}
	o := object{
		"id": n.ID, "type": kind, "body": n.Body, "author": c.g.apiUser(n.Author), "created_at": n.CreatedAt, "updated_at": n.UpdatedAt,
		"system": n.system, "noteable_id": t.issue.Number + 700_000, "noteable_type": on, "noteable_iid": t.issue.Number, "project_id": t.project.meta.ID,
		"resolvable": n.resolvable, "confidential": n.Internal, "internal": n.Internal, "imported": false, "commands_changes": object{},
	}
	if n.resolvable {
		o["resolved"], o["resolved_by"], o["resolved_at"] = n.resolved, nil, nil
	}
	if n.kind == "DiffNote" {
		o["commit_id"], o["position"] = nil, position(d)
	}
	return o
}

// seen are the notes of a thread that the account sees.
func (c *gitlabCall) seen(notes []*gitlabNote) []*gitlabNote {
	return slices.DeleteFunc(slices.Clone(notes), func(n *gitlabNote) bool { return n.Internal && !c.insider() })
}

// listNotes is newest first, unless asked otherwise.
func listNotes(c *gitlabCall) reply {
	t := c.place()
	if t == nil {
		return missingThing("Not found")
	}
	notes := c.seen(t.notes())
	if c.r.URL.Query().Get("sort") != "asc" {
		slices.Reverse(notes)
	}
	var all []any
	for _, n := range notes {
		d, _ := t.note(n.ID)
		all = append(all, c.noteObject(t, d, n))
	}
	return c.list(all)
}

// noteOf finds the note of the path.
func (c *gitlabCall) noteOf() (*gitlabThread, *discussion, *gitlabNote) {
	t := c.place()
	if t == nil {
		return nil, nil, nil
	}
	d, n := t.note(c.number("note"))
	if n == nil || n.Internal && !c.insider() {
		return t, nil, nil
	}
	return t, d, n
}

func getNote(c *gitlabCall) reply {
	t, d, n := c.noteOf()
	if n == nil {
		return missingThing("Note")
	}
	return ok(c.noteObject(t, d, n))
}

// noteInput is what is read of a note.
type noteInput struct {
	Body         string `json:"body"`
	Internal     bool   `json:"internal"`
	Confidential bool   `json:"confidential"`
	CreatedAt    string `json:"created_at"`
	MergeHead    string `json:"merge_request_diff_head_sha"`
}

func (c *gitlabCall) noteInput() (in noteInput, rep reply, good bool) {
	if rep, good := c.decode(&in); !good {
		return in, rep, false
	}
	if strings.TrimSpace(in.Body) == "" {
		return in, c.bad("body is missing"), false
	}
	if tooLongText(in.Body) {
		c.g.fault("%s %s: body is too long", c.r.Method, c.r.URL.Path)
		return in, gitlabRefuse(http.StatusBadRequest, "400 Bad request - Note is too long (maximum is 1000000 characters)"), false
	}
	return in, reply{}, true
}

// createNote executes quick actions; a note of nothing else is not kept, which
// GitLab tells with 202.
func createNote(c *gitlabCall) reply {
	t := c.place()
	if t == nil {
		return missingThing("Not found")
	}
	in, rep, good := c.noteInput()
	if !good {
		return rep
	}
	if (in.Internal || in.Confidential) && !c.insider() {
		return c.forbid("reporter, for an internal note")
	}
	if t.issue.Locked && c.project.levelOf(c.actor()) < guest {
		return c.forbid("a member, for the discussion is locked")
	}
	return c.post(t, func() *discussion { return t.start(true) }, in)
}

func (c *gitlabCall) post(t *gitlabThread, at func() *discussion, in noteInput) reply {
	done := c.written(t, &in.Body)
	if strings.TrimSpace(in.Body) == "" {
		return reply{status: http.StatusAccepted, body: object{"commands_changes": object{}, "summary": done}}
	}
	d := at()
	n := t.say(d, c.actor(), in.Body, in.Internal || in.Confidential || len(d.notes) > 0 && d.notes[0].Internal)
	return created(c.noteObject(t, d, n))
}

func editNote(c *gitlabCall) reply {
	t, d, n := c.noteOf()
	if n == nil {
		return missingThing("Note")
	}
	if !n.Author.Is(c.actor()) && c.project.levelOf(c.actor()) < maintainer {
		return c.forbid("the note's author")
	}
	in, rep, good := c.noteInput()
	if !good {
		return rep
	}
	c.written(t, &in.Body)
	t.edit(d, n, c.actor(), in.Body)
	return ok(c.noteObject(t, d, n))
}

func deleteNote(c *gitlabCall) reply {
	t, d, n := c.noteOf()
	if n == nil {
		return missingThing("Note")
	}
	if !n.Author.Is(c.actor()) && c.project.levelOf(c.actor()) < maintainer {
		return c.forbid("the note's author")
	}
	t.remove(d, n)
	return reply{status: http.StatusNoContent}
}

// awarded is where the path's emoji stand: on a note, or on the thread.
func (c *gitlabCall) awarded() (t *gitlabThread, on vcs.CommentRef, found bool) {
	t = c.place()
	if t == nil || c.r.PathValue("note") == "" {
		return t, vcs.CommentRef{Kind: vcs.ThreadBody}, t != nil
	}
	_, _, n := c.noteOf()
	if n == nil {
		return t, on, false
	}
	return t, t.comment(n).CommentRef, true
}

func listAwards(c *gitlabCall) reply {
	t, on, found := c.awarded()
	if !found {
		return missingThing("Not found")
	}
	var all []any
	for _, a := range t.awards {
		if a.On == on {
			all = append(all, c.awardObject(a))
		}
	}
	return c.list(all)
}

func (c *gitlabCall) awardObject(a gitlabAward) object {
	return object{
		"id": a.id, "name": string(a.Reaction), "user": c.g.apiUser(a.By), "created_at": c.g.now(), "updated_at": c.g.now(),
		"awardable_id": a.On.ID, "awardable_type": "Note", "url": nil,
	}
}

// emojis are some that GitLab knows.
func emojis() []string {
	return []string{"thumbsup", "thumbsdown", "eyes", "confused", "smile", "tada", "rocket", "heart", "white_check_mark", "x"}
}

// award answers 404 for an emoji that the account has left already, as GitLab
// does.
func award(c *gitlabCall) reply {
	t, on, found := c.awarded()
	if !found {
		return missingThing("Not found")
	}
	var in struct {
		Name string `json:"name"`
	}
	if rep, good := c.decode(&in); !good {
		return rep
	}
	if !slices.Contains(emojis(), in.Name) {
		return c.bad("name: no emoji %q", in.Name)
	}
	got := Reacted{On: on, By: c.actor(), Reaction: vcs.Reaction(in.Name)}
	if slices.ContainsFunc(t.awards, func(a gitlabAward) bool { return a.Reacted == got }) {
		return gitlabRefuse(http.StatusNotFound, "404 Award Emoji Name has already been taken Not Found")
	}
	a := gitlabAward{Reacted: got, id: c.g.newID()}
	t.awards = append(t.awards, a)
	return created(c.awardObject(a))
}
