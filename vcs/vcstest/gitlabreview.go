package vcstest

import (
	"fmt"
	"slices"

	"github.com/greenwright/greenwright/vcs"
)

// gitlabReview is a review as a person submitted it. GitLab itself forgets what
// belonged together.
type gitlabReview struct {
	meta    vcs.Review
	threads []*discussion
}

// SubmitReview publishes a review of a merge request, note by note, as the
// button does. Its ID is the first remark's; the body is a plain note.
func (p *Project) SubmitReview(login string, number int, state vcs.ReviewState, body string, remarks ...Remark) (vcs.Review, error) {
	g := p.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	a, err := g.user(login)
	if err != nil {
		return vcs.Review{}, err
	}
	t := p.pull(number)
	if t == nil {
		return vcs.Review{}, fmt.Errorf("%w: merge request %d of %s", vcs.ErrNotFound, number, p.meta.FullName())
	}
	t.touch()
	rev := gitlabReview{meta: vcs.Review{Author: a, State: state, Body: body, CommitSHA: t.pull.Head.SHA, SubmittedAt: t.updated}}
	t.verdict(a, state)
	for _, m := range remarks {
		n, err := t.remark(a, m, &rev)
		if err != nil {
			return vcs.Review{}, err
		}
		rev.published(n)
	}
	if body != "" {
		rev.published(t.say(t.start(true), a, body, false))
	}
	t.reviews = append(t.reviews, rev)
	return t.review(rev), nil
}

// published keeps the first note as what names the review.
func (r *gitlabReview) published(n *gitlabNote) {
	if r.meta.ID == 0 {
		r.meta.ID, r.meta.URL = n.ID, n.URL
	}
}

// verdict is what a person says of the whole.
func (t *gitlabThread) verdict(a vcs.Actor, state vcs.ReviewState) {
	switch state {
	case vcs.ReviewApproved:
		t.judge(a, "approved")
	case vcs.ReviewChangesRequested:
		t.judge(a, "requested_changes")
	default:
		if slices.ContainsFunc(t.reviewers, func(r *gitlabReviewer) bool { return r.by.Is(a) }) {
			t.askTo(a).state = "reviewed"
		}
	}
}

// judge keeps a verdict; who gives one is a reviewer.
func (t *gitlabThread) judge(a vcs.Actor, state string) {
	if t.pull == nil {
		return
	}
	t.askTo(a).state = state
	if state == "approved" {
		t.record(nil, a, "approved this merge request")
		t.emitThread("approved", a, "", nil)
		return
	}
	t.record(nil, a, "requested changes")
}

// askTo makes an account a reviewer.
func (t *gitlabThread) askTo(a vcs.Actor) *gitlabReviewer {
	for _, r := range t.reviewers {
		if r.by.Is(a) {
			return r
		}
	}
	r := &gitlabReviewer{by: a, state: "unreviewed"}
	t.reviewers = append(t.reviewers, r)
	return r
}

func (t *gitlabThread) remark(a vcs.Actor, m Remark, rev *gitlabReview) (*gitlabNote, error) {
	if m.InReplyTo == 0 {
		d := t.start(false)
		d.at = &vcs.ReviewThread{Path: m.Path, StartLine: m.StartLine, Line: m.Line, Side: "RIGHT"}
		d.head, d.base = t.pull.Head.SHA, t.startSHA
		rev.threads = append(rev.threads, d)
		return t.say(d, a, m.Body, false), nil
	}
	d, _ := t.note(m.InReplyTo)
	if d == nil {
		return nil, fmt.Errorf("%w: note %d", vcs.ErrNotFound, m.InReplyTo)
	}
	return t.say(d, a, m.Body, false), nil
}

// Discuss opens a discussion of a merge request that stands on no line.
func (p *Project) Discuss(number int, login, body string) (vcs.Comment, error) {
	return p.discuss(number, login, body, false)
}

// DiscussInternally is Discuss where only members of the project read.
func (p *Project) DiscussInternally(number int, login, body string) (vcs.Comment, error) {
	return p.discuss(number, login, body, true)
}

func (p *Project) discuss(number int, login, body string, internal bool) (vcs.Comment, error) {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	t, a, err := p.findFor(number, login)
	if err != nil {
		return vcs.Comment{}, err
	}
	return t.comment(t.say(t.start(false), a, body, internal)), nil
}

// Reviews are those of a merge request, with the discussions that each opened.
func (p *Project) Reviews(number int) []vcs.Review {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	t := p.pull(number)
	if t == nil {
		return nil
	}
	var out []vcs.Review
	for _, rev := range t.reviews {
		out = append(out, t.review(rev))
	}
	return out
}

func (t *gitlabThread) review(rev gitlabReview) vcs.Review {
	out := rev.meta
	for _, d := range rev.threads {
		th := *d.at
		th.ID, th.Resolved, th.Outdated = d.notes[0].ID, d.resolved(), d.head != t.pull.Head.SHA
		for _, n := range d.notes {
			if !n.system {
				th.Comments = append(th.Comments, t.comment(n))
			}
		}
		out.Remarks = append(out.Remarks, th)
	}
	return out
}

// resolved reports whether every note that can be is.
func (d *discussion) resolved() bool {
	can := false
	for _, n := range d.notes {
		can = can || n.resolvable
		if n.resolvable && !n.resolved {
			return false
		}
	}
	return can
}

// ResolveThread resolves the discussion that the note opened.
func (p *Project) ResolveThread(id int64) error {
	return p.mark(id, func(d *discussion) {
		for _, n := range d.notes {
			n.resolved = n.resolvable
		}
	})
}

// OutdateThread leaves a remark's position behind, as a push does that changes
// its line.
func (p *Project) OutdateThread(id int64) error {
	return p.mark(id, func(d *discussion) { d.head = d.base })
}

func (p *Project) mark(id int64, f func(*discussion)) error {
	p.srv.mu.Lock()
	defer p.srv.mu.Unlock()
	_, d, _ := p.noteIn(id)
	if d == nil || d.notes[0].ID != id {
		return fmt.Errorf("%w: no discussion begins with note %d", vcs.ErrNotFound, id)
	}
	f(d)
	return nil
}
