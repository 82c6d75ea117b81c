package vcstest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// OpenIssue opens an issue.
func (p *Project) OpenIssue(login, title, body string) (vcs.Issue, error) {
	return p.openIssue(login, title, body, false)
}

// OpenConfidentialIssue opens an issue that only some members see.
func (p *Project) OpenConfidentialIssue(login, title, body string) (vcs.Issue, error) {
	return p.openIssue(login, title, body, true)
}

func (p *Project) openIssue(login, title, body string, confidential bool) (vcs.Issue, error) {
	g := p.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	a, err := g.user(login)
	if err != nil {
		return vcs.Issue{}, err
	}
	t := p.newThread(a, title, body, false)
	t.issue.Confidential = confidential
	t.act(a, &t.issue.Body)
	t.emitThread("open", a, "", nil)
	return t.issue, nil
}

// EditIssue replaces the description of an issue or merge request.
func (p *Project) EditIssue(number int, login, body string) error {
	return p.change(number, login, "update", func(t *gitlabThread) object {
		before := t.issue.Body
		t.setBody(body)
		return object{"description": object{"previous": before, "current": body}}
	})
}

func (t *gitlabThread) setBody(body string) {
	t.issue.Body = body
	if t.pull != nil {
		t.pull.Body = body
	}
}

// Label adds a label to an issue or merge request.
func (p *Project) Label(number int, login, label string) error {
	return p.change(number, login, "update", func(t *gitlabThread) object {
		t.issue.Labels = append(t.issue.Labels, label)
		return object{"labels": object{"previous": []object{}, "current": []object{{"id": 1, "title": label}}}}
	})
}

// CloseThread closes an issue or merge request.
func (p *Project) CloseThread(number int, login string) error {
	return p.change(number, login, "close", func(t *gitlabThread) object { t.setOpen(false); return nil })
}

func (t *gitlabThread) setOpen(open bool) {
	t.issue.Open = open
	if t.pull != nil {
		t.pull.Open = open
	}
}

func (p *Project) change(number int, login, action string, f func(*gitlabThread) object) error {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	t, a, err := p.findFor(number, login)
	if err != nil {
		return err
	}
	changes := f(t)
	t.touch()
	t.emitThread(action, a, "", changes)
	return nil
}

// Comment writes a note on an issue or merge request. Quick actions in it are
// executed; a note of nothing else is not kept, and is the zero Comment.
func (p *Project) Comment(number int, login, body string) (vcs.Comment, error) {
	return p.comment(number, login, body, false)
}

// CommentInternally writes a note that members alone see.
func (p *Project) CommentInternally(number int, login, body string) (vcs.Comment, error) {
	return p.comment(number, login, body, true)
}

func (p *Project) comment(number int, login, body string, internal bool) (vcs.Comment, error) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	t, a, err := p.findFor(number, login)
	if err != nil {
		return vcs.Comment{}, err
	}
	t.act(a, &body)
	if strings.TrimSpace(body) == "" {
		return vcs.Comment{}, nil
	}
	return t.comment(t.say(t.start(true), a, body, internal)), nil
}

// EditComment replaces the text of a note.
func (p *Project) EditComment(id int64, login, body string) error {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	a, err := p.srv.user(login)
	if err != nil {
		return err
	}
	t, d, n := p.noteIn(id)
	if n == nil {
		return fmt.Errorf("%w: note %d", vcs.ErrNotFound, id)
	}
	t.act(a, &body)
	t.edit(d, n, a, body)
	return nil
}

// edit replaces a note's text. Quick actions in an edit count as in a new note,
// and one of nothing else ends the note.
func (t *gitlabThread) edit(d *discussion, n *gitlabNote, by vcs.Actor, body string) {
	t.touch()
	if strings.TrimSpace(body) == "" {
		t.remove(d, n)
		return
	}
	n.Body, n.UpdatedAt = body, t.updated
	t.emitNote("update", d, n, by)
}

// DeleteComment removes a note without a webhook.
func (p *Project) DeleteComment(id int64) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	if t, d, n := p.noteIn(id); n != nil {
		t.remove(d, n)
	}
}

func (t *gitlabThread) remove(d *discussion, n *gitlabNote) {
	d.notes = slices.DeleteFunc(d.notes, func(o *gitlabNote) bool { return o == n })
	if len(d.notes) == 0 {
		t.discussions = slices.DeleteFunc(t.discussions, func(o *discussion) bool { return o == d })
	}
}

// Issues are the issues, by number, with their notes.
func (p *Project) Issues() []vcs.Issue { return p.snapshot(false) }

// Conversations are the merge requests as issues, with their notes.
func (p *Project) Conversations() []vcs.Issue { return p.snapshot(true) }

func (p *Project) snapshot(pulls bool) []vcs.Issue {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	var out []vcs.Issue
	for _, t := range p.row(pulls) {
		i := t.issue
		i.Comments, i.Labels = t.comments(), slices.Clone(i.Labels)
		out = append(out, i)
	}
	return out
}

// row is the issues or the merge requests, by number.
func (p *Project) row(pulls bool) []*gitlabThread {
	var out []*gitlabThread
	for _, t := range p.threads {
		if t.issue.PullRequest == pulls {
			out = append(out, t)
		}
	}
	slices.SortFunc(out, func(a, b *gitlabThread) int { return a.issue.Number - b.issue.Number })
	return out
}

// Pulls are the merge requests, by number.
func (p *Project) Pulls() []vcs.PullRequest {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	var out []vcs.PullRequest
	for _, t := range p.row(true) {
		out = append(out, *t.pull)
	}
	return out
}

// Comments are those of the conversation of the issue, or else merge request,
// with the number, oldest first.
func (p *Project) Comments(number int) []vcs.Comment {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	t, err := p.find(number)
	if err != nil {
		return nil
	}
	return t.comments()
}

// CommentsOf is Comments where a number alone may name two threads.
func (p *Project) CommentsOf(th vcs.Thread) []vcs.Comment {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	if t := p.threads[p.thread(th.Number, th.PullRequest)]; t != nil {
		return t.comments()
	}
	return nil
}

// Reactions are all of a thread, in the order that they were left.
func (p *Project) Reactions(number int) []Reacted {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	t, err := p.find(number)
	if err != nil {
		return nil
	}
	var out []Reacted
	for _, a := range t.awards {
		out = append(out, a.Reacted)
	}
	return out
}

// RequestedReviewers are the logins asked to look at a merge request.
func (p *Project) RequestedReviewers(number int) []string {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	var out []string
	if t := p.pull(number); t != nil {
		for _, r := range t.reviewers {
			out = append(out, r.by.Login)
		}
	}
	return out
}

// pull finds a merge request.
func (p *Project) pull(number int) *gitlabThread { return p.threads[p.thread(number, true)] }

// sortedProjects are all, by path.
func (g *GitLab) sortedProjects() []*Project {
	var out []*Project
	for _, name := range slices.Sorted(maps.Keys(g.projects)) {
		out = append(out, g.projects[name])
	}
	return out
}
