package vcstest

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/webhook/webhooktest"
)

// gitlabThread is an issue or merge request.
type gitlabThread struct {
	project     *Project
	issue       vcs.Issue // without its comments
	pull        *vcs.PullRequest
	source      *Project // nil when it was deleted
	startSHA    string   // of the target branch at the last push
	discussions []*discussion
	awards      []gitlabAward
	reviewers   []*gitlabReviewer
	reviews     []gitlabReview
	updated     time.Time
	// settings are members of a merge request that nothing reacts to.
	settings object
}

// gitlabAward is an emoji on a note or thread.
type gitlabAward struct {
	Reacted
	id int64
}

// gitlabReviewer is somebody asked to look, and what they said.
type gitlabReviewer struct {
	by    vcs.Actor
	state string // unreviewed, reviewed, requested_changes, approved
}

// discussion is a row of notes; one note alone where it is individual.
type discussion struct {
	id         string
	individual bool
	notes      []*gitlabNote
	at         *vcs.ReviewThread // where it stands in the diff; nil elsewhere
	base, head string            // of that diff
}

// gitlabNote is a note; its Kind is not kept, for it depends on the type.
type gitlabNote struct {
	vcs.Comment
	system     bool
	kind       string // "", DiscussionNote or DiffNote
	resolvable bool
	resolved   bool
}

// find looks for a thread by a number alone; where issues and merge requests are
// counted apart, an issue goes first.
func (p *Project) find(number int) (*gitlabThread, error) {
	for _, isPull := range []bool{false, true} {
		if t := p.threads[p.thread(number, isPull)]; t != nil {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%w: %s, number %d", vcs.ErrNotFound, p.meta.FullName(), number)
}

// thread is the key of one; those of a renamed project keep theirs.
func (p *Project) thread(number int, isPull bool) vcs.Thread {
	return vcs.Thread{Number: number, PullRequest: isPull}
}

func (p *Project) findFor(number int, login string) (*gitlabThread, vcs.Actor, error) {
	a, err := p.srv.user(login)
	if err != nil {
		return nil, a, err
	}
	t, err := p.find(number)
	return t, a, err
}

// newThread numbers and keeps a thread.
func (p *Project) newThread(a vcs.Actor, title, body string, isPull bool) *gitlabThread {
	row, kind := false, "issues"
	if isPull {
		row, kind = p.srv.cfg.OverlapNumbers, "merge_requests"
	}
	p.lastNumber[row]++
	n, now := p.lastNumber[row], p.srv.now()
	t := &gitlabThread{project: p, updated: now, issue: vcs.Issue{
		Thread: vcs.Thread{Repo: p.meta.RepoRef, Number: n, PullRequest: isPull}, Title: title, Body: body, Author: a, Open: true,
		Labels: []string{}, CreatedAt: now, URL: fmt.Sprintf("%s/-/%s/%d", p.meta.URL, kind, n),
	}}
	p.threads[p.thread(n, isPull)] = t
	return t
}

// touch moves the time of the last change, which never stands still.
func (t *gitlabThread) touch() {
	now := t.project.srv.now()
	if !now.After(t.updated) {
		now = t.updated.Add(time.Millisecond)
	}
	t.updated = now
}

// start opens a discussion.
func (t *gitlabThread) start(individual bool) *discussion {
	sum := sha1.Sum(fmt.Appendf(nil, "%s %d", t.issue.URL, t.project.srv.newID()))
	d := &discussion{id: hex.EncodeToString(sum[:]), individual: individual}
	t.discussions = append(t.discussions, d)
	return d
}

// say adds a note to a discussion and sends its hook.
func (t *gitlabThread) say(d *discussion, a vcs.Actor, body string, internal bool) *gitlabNote {
	n := t.add(d, a, body, internal)
	t.emitNote("create", d, n, a)
	return n
}

func (t *gitlabThread) add(d *discussion, a vcs.Actor, body string, internal bool) *gitlabNote {
	t.touch()
	id := t.project.srv.newID()
	n := &gitlabNote{kind: d.kind(), Comment: vcs.Comment{
		CommentRef: vcs.CommentRef{ID: id}, Author: a, Body: body, CreatedAt: t.updated, UpdatedAt: t.updated, Internal: internal,
		URL: fmt.Sprintf("%s#note_%d", t.issue.URL, id),
	}}
	n.resolvable = n.kind != "" && t.pull != nil
	d.notes = append(d.notes, n)
	return n
}

// widen makes a note that stands alone on a merge request the first of a
// discussion, which can be resolved.
func (d *discussion) widen() *discussion {
	d.individual = false
	for _, n := range d.notes {
		n.kind, n.resolvable = d.kind(), !n.system
	}
	return d
}

func (d *discussion) kind() string {
	switch {
	case d.individual:
		return ""
	case d.at != nil:
		return "DiffNote"
	}
	return "DiscussionNote"
}

// record adds a note of GitLab's own, about what the account did; of those it
// sends no hook.
func (t *gitlabThread) record(d *discussion, a vcs.Actor, body string) {
	if d == nil {
		d = t.start(true)
	}
	n := t.add(d, a, body, false)
	n.system, n.resolvable = true, false
}

// comment is a note as package vcs has it.
func (t *gitlabThread) comment(n *gitlabNote) vcs.Comment {
	c := n.Comment
	c.Kind = vcs.IssueComment
	if n.kind != "" && t.pull != nil {
		c.Kind = vcs.ReviewRemark
	}
	return c
}

// comments is the conversation: without system notes and those on a diff.
func (t *gitlabThread) comments() []vcs.Comment {
	var out []vcs.Comment
	for _, n := range t.notes() {
		if !n.system && n.kind != "DiffNote" {
			out = append(out, t.comment(n))
		}
	}
	return out
}

// notes are all, oldest first.
func (t *gitlabThread) notes() []*gitlabNote {
	var out []*gitlabNote
	for _, d := range t.discussions {
		out = append(out, d.notes...)
	}
	slices.SortFunc(out, func(a, b *gitlabNote) int { return int(a.ID - b.ID) })
	return out
}

// note finds one with its discussion.
func (t *gitlabThread) note(id int64) (*discussion, *gitlabNote) {
	for _, d := range t.discussions {
		for _, n := range d.notes {
			if n.ID == id {
				return d, n
			}
		}
	}
	return nil, nil
}

// noteIn finds a note in all of a project's threads.
func (p *Project) noteIn(id int64) (*gitlabThread, *discussion, *gitlabNote) {
	for _, t := range p.threads {
		if d, n := t.note(id); n != nil {
			return t, d, n
		}
	}
	return nil, nil, nil
}

// emitNote sends a note's hook.
func (t *gitlabThread) emitNote(action string, d *discussion, n *gitlabNote, by vcs.Actor) {
	out := webhooktest.Note{Comment: t.comment(n), Discussion: d.id, System: n.system, Diff: d.at, Thread: n.kind == "DiscussionNote", HeadSHA: d.head, BaseSHA: d.base}
	if t.pull == nil {
		t.project.emit(t.project.site(t.updated).IssueNote(action, t.project.shown(), t.issue, out, by))
		return
	}
	t.project.emit(t.project.site(t.updated).MergeRequestNote(action, t.project.shown(), t.sourceMeta(), t.marked(), out, by))
}

// emitThread sends an issue's or merge request's hook.
func (t *gitlabThread) emitThread(action string, by vcs.Actor, oldSHA string, changes object) {
	site := t.project.site(t.updated)
	if t.pull == nil {
		t.project.emit(site.IssueEvent(action, t.project.shown(), t.issue, by, changes))
		return
	}
	t.project.emit(site.MergeRequestEvent(action, t.project.shown(), t.sourceMeta(), t.marked(), by, oldSHA, changes))
}

// sourceMeta is the zero Repo when the source was deleted.
func (t *gitlabThread) sourceMeta() vcs.Repo {
	if t.source == nil {
		return vcs.Repo{}
	}
	return t.source.shown()
}

func (p *Project) site(at time.Time) webhooktest.GitLabSite {
	s := p.srv.site(at)
	s.Internal = p.internal
	return s
}

// shown is the project as hooks show it: an internal one is not private.
func (p *Project) shown() vcs.Repo {
	m := p.meta
	m.Private = m.Private && !p.internal
	return m
}

// marked is the merge request with a draft's mark in its title, as hooks have it.
func (t *gitlabThread) marked() vcs.PullRequest {
	out := *t.pull
	out.Title = t.title()
	return out
}
