package vcstest

import (
	"fmt"
	"net/http"
	"slices"
	"unicode/utf16"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// GitHub's limits, in characters.
const (
	maxBody  = 65536
	maxTitle = 256
)

func tooLong(s string, limit int) bool { return len(utf16.Encode([]rune(s))) > limit }

// OpenIssue opens an issue.
func (r *Repo) OpenIssue(login, title, body string) (vcs.Issue, error) {
	g := r.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	a, err := g.user(login)
	if err != nil {
		return vcs.Issue{}, err
	}
	t := r.newThread(a, title, body, false)
	r.emitIssue("opened", t, a, nil)
	return t.issue, nil
}

// newThread numbers and keeps a thread.
func (r *Repo) newThread(a vcs.Actor, title, body string, isPull bool) *thread {
	r.lastNumber++
	kind := "issues"
	if isPull {
		kind = "pull"
	}
	now := r.srv.now()
	t := &thread{updated: now, issue: vcs.Issue{
		Thread: vcs.Thread{Repo: r.meta.RepoRef, Number: r.lastNumber, PullRequest: isPull}, Title: title, Body: body,
		Author: a, Open: true, Labels: []string{}, CreatedAt: now,
		URL: fmt.Sprintf("%s/%s/%d", r.meta.URL, kind, r.lastNumber),
	}}
	r.threads[r.lastNumber] = t
	return t
}

func (r *Repo) emitIssue(action string, t *thread, by vcs.Actor, extra webhooktest.Object) {
	site := r.srv.site(t.updated)
	if t.pull != nil {
		r.srv.emit(site.Pull(action, r.meta, &t.headRepo.meta, *t.pull, by, extra))
		return
	}
	r.srv.emit(site.Issues(action, r.meta, t.issue, by, extra))
}

// Label adds a label to an issue or pull request.
func (r *Repo) Label(number int, login, label string) error {
	return r.change(number, login, "labeled", webhooktest.Object{"label": webhooktest.Object{"id": 1, "name": label}},
		func(t *thread) { t.issue.Labels = append(t.issue.Labels, label) })
}

// EditIssue replaces the opening text of an issue.
func (r *Repo) EditIssue(number int, login, body string) error {
	before := ""
	extra := webhooktest.Object{"changes": webhooktest.Object{"body": webhooktest.Object{"from": &before}}}
	return r.change(number, login, "edited", extra, func(t *thread) {
		before, t.issue.Body = t.issue.Body, body
	})
}

// CloseThread closes an issue or pull request.
func (r *Repo) CloseThread(number int, login string) error {
	return r.change(number, login, "closed", nil, func(t *thread) {
		t.issue.Open = false
		if t.pull != nil {
			t.pull.Open = false
		}
	})
}

func (r *Repo) change(number int, login, action string, extra webhooktest.Object, f func(*thread)) error {
	g := r.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	t, a, err := r.find(number, login)
	if err != nil {
		return err
	}
	f(t)
	t.touch(g.now())
	r.emitIssue(action, t, a, extra)
	return nil
}

func (r *Repo) find(number int, login string) (*thread, vcs.Actor, error) {
	t, ok := r.threads[number]
	if !ok {
		return nil, vcs.Actor{}, fmt.Errorf("%w: %s#%d", vcs.ErrNotFound, r.meta.FullName(), number)
	}
	a, err := r.srv.user(login)
	return t, a, err
}

// Comment writes in the conversation of an issue or pull request.
func (r *Repo) Comment(number int, login, body string) (vcs.Comment, error) {
	g := r.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	t, a, err := r.find(number, login)
	if err != nil {
		return vcs.Comment{}, err
	}
	return r.addComment(t, a, body), nil
}

func (r *Repo) addComment(t *thread, a vcs.Actor, body string) vcs.Comment {
	t.touch(r.srv.now())
	id := r.srv.newID()
	c := vcs.Comment{
		CommentRef: vcs.CommentRef{Kind: vcs.IssueComment, ID: id}, Author: a, Body: body,
		CreatedAt: t.updated, UpdatedAt: t.updated, URL: fmt.Sprintf("%s#issuecomment-%d", t.issue.URL, id),
	}
	t.issue.Comments = append(t.issue.Comments, c)
	r.srv.emit(r.srv.site(t.updated).IssueComment("created", r.meta, t.issue, c, a, ""))
	return c
}

// EditComment replaces the text of a comment.
func (r *Repo) EditComment(id int64, login, body string) error {
	g := r.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	a, err := g.user(login)
	if err != nil {
		return err
	}
	if _, c := r.comment(id); c == nil {
		return fmt.Errorf("%w: comment %d", vcs.ErrNotFound, id)
	}
	r.setComment(id, a, body)
	return nil
}

// DeleteComment removes a comment without a webhook.
func (r *Repo) DeleteComment(id int64) {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	if t, _ := r.comment(id); t != nil {
		t.issue.Comments = slices.DeleteFunc(t.issue.Comments, func(c vcs.Comment) bool { return c.ID == id })
	}
}

func (r *Repo) comment(id int64) (*thread, *vcs.Comment) {
	for _, t := range r.threads {
		for i := range t.issue.Comments {
			if t.issue.Comments[i].ID == id {
				return t, &t.issue.Comments[i]
			}
		}
	}
	return nil, nil
}

func (r *Repo) setComment(id int64, by vcs.Actor, body string) vcs.Comment {
	t, c := r.comment(id)
	t.touch(r.srv.now())
	previous := c.Body
	c.Body, c.UpdatedAt = body, t.updated
	r.srv.emit(r.srv.site(t.updated).IssueComment("edited", r.meta, t.issue, *c, by, previous))
	return *c
}

func getIssue(c *call) reply {
	t := c.thread()
	if t == nil {
		return notFound()
	}
	return ok(c.g.site(t.updated).Issue(t.issue))
}

func listComments(c *call) reply {
	t := c.thread()
	if t == nil {
		return notFound()
	}
	all := make([]any, 0, len(t.issue.Comments))
	for _, cm := range t.issue.Comments {
		all = append(all, c.g.site(t.updated).Comment(t.issue.Thread, cm))
	}
	return c.list(all)
}

// textOf reads a body that has the one member body.
func textOf(c *call) (string, reply, bool) {
	var in struct {
		Body *string `json:"body"`
	}
	if rep, good := c.decode(&in); !good {
		return "", rep, false
	}
	if in.Body == nil || *in.Body == "" {
		return "", c.missing("body"), false
	}
	if tooLong(*in.Body, maxBody) {
		c.g.fault("%s %s: body is too long", c.r.Method, c.r.URL.Path)
		return "", refuse(http.StatusUnprocessableEntity, "Validation Failed: body is too long (maximum is 65536 characters)"), false
	}
	return *in.Body, reply{}, true
}

func createComment(c *call) reply {
	t := c.thread()
	if t == nil {
		return notFound()
	}
	text, rep, good := textOf(c)
	if !good {
		return rep
	}
	cm := c.repo.addComment(t, c.token.actor, text)
	return created(c.g.site(t.updated).Comment(t.issue.Thread, cm))
}

func editComment(c *call) reply {
	t, cm := c.repo.comment(c.number("id"))
	if t == nil {
		return notFound()
	}
	if !cm.Author.Is(c.token.actor) && c.repo.levelOf(c.token.actor) < vcs.PermissionWrite {
		return c.forbid("the comment's author")
	}
	text, rep, good := textOf(c)
	if !good {
		return rep
	}
	got := c.repo.setComment(cm.ID, c.token.actor, text)
	return ok(c.g.site(t.updated).Comment(t.issue.Thread, got))
}

func reactOnIssue(c *call) reply {
	return react(c, c.thread(), vcs.CommentRef{Kind: vcs.ThreadBody})
}

func reactOnComment(c *call) reply {
	id := c.number("id")
	t, _ := c.repo.comment(id)
	return react(c, t, vcs.CommentRef{Kind: vcs.IssueComment, ID: id})
}

func reactOnRemark(c *call) reply {
	id := c.number("id")
	t, _, _ := c.repo.remark(id)
	return react(c, t, vcs.CommentRef{Kind: vcs.ReviewRemark, ID: id})
}

// reactions are GitHub's (docs.github.com/rest/reactions).
func reactions() []string {
	return []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"}
}

// react answers 201 for a new reaction and 200 for one there was.
func react(c *call, t *thread, on vcs.CommentRef) reply {
	if t == nil {
		return notFound()
	}
	var in struct {
		Content string `json:"content"`
	}
	if rep, good := c.decode(&in); !good {
		return rep
	}
	if !slices.Contains(reactions(), in.Content) {
		return c.missing("content")
	}
	got := Reacted{On: on, By: c.token.actor, Reaction: vcs.Reaction(in.Content)}
	body := object{"id": c.g.newID(), "content": in.Content, "user": c.g.site(t.updated).User(got.By)}
	if slices.Contains(t.reactions, got) {
		return ok(body)
	}
	t.reactions = append(t.reactions, got)
	return created(body)
}
