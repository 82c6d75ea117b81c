package vcstest

import (
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// Remark is a line comment of a review to submit. With InReplyTo it answers in
// the thread which that comment opened, and the rest but Body is not read.
type Remark struct {
	Path      string
	StartLine int
	Line      int
	Body      string
	InReplyTo int64
}

// SubmitReview submits a review of a pull request, and returns it with the
// threads that it opened.
func (r *Repo) SubmitReview(login string, number int, state vcs.ReviewState, body string, remarks ...Remark) (vcs.Review, error) {
	g := r.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	t, a, err := r.find(number, login)
	if err != nil || t.pull == nil {
		return vcs.Review{}, fmt.Errorf("reviewing %s#%d: %w", r.meta.FullName(), number, orNotFound(err))
	}
	t.touch(g.now())
	id := g.newID()
	rev := &vcs.Review{
		ID: id, Author: a, State: state, Body: body, CommitSHA: t.pull.Head.SHA, SubmittedAt: t.updated,
		URL: fmt.Sprintf("%s#pullrequestreview-%d", t.issue.URL, id),
	}
	t.reviews = append(t.reviews, rev)
	for _, m := range remarks {
		r.addRemark(t, rev, a, m)
	}
	g.emit(g.site(t.updated).ReviewEvent(r.meta, &t.headRepo.meta, *t.pull, *rev))
	return clone(*rev), nil
}

func orNotFound(err error) error {
	if err == nil {
		return vcs.ErrNotFound
	}
	return err
}

func clone(r vcs.Review) vcs.Review {
	threads := make([]vcs.ReviewThread, len(r.Remarks))
	for i, th := range r.Remarks {
		th.Comments = append([]vcs.Comment(nil), th.Comments...)
		threads[i] = th
	}
	r.Remarks = threads
	return r
}

func (r *Repo) addRemark(t *thread, rev *vcs.Review, a vcs.Actor, m Remark) {
	g := r.srv
	id := g.newID()
	c := vcs.Comment{
		CommentRef: vcs.CommentRef{Kind: vcs.ReviewRemark, ID: id}, Author: a, Body: m.Body,
		CreatedAt: t.updated, UpdatedAt: t.updated, URL: fmt.Sprintf("%s#discussion_r%d", t.issue.URL, id),
	}
	var th *vcs.ReviewThread
	if m.InReplyTo != 0 {
		_, th, _ = r.remark(m.InReplyTo)
	}
	if th == nil {
		rev.Remarks = append(rev.Remarks, vcs.ReviewThread{
			ID: id, Path: m.Path, StartLine: m.StartLine, Line: m.Line, Side: "RIGHT", DiffHunk: "@@ -1 +1 @@",
		})
		th = &rev.Remarks[len(rev.Remarks)-1]
	}
	th.Comments = append(th.Comments, c)
	n := len(th.Comments) - 1
	r.reviewOf(id, rev.ID)
	g.emit(g.site(t.updated).RemarkEvent(r.meta, &t.headRepo.meta, *t.pull, rev.ID, *th, n))
}

// reviewOf notes which review a remark was submitted with.
func (r *Repo) reviewOf(remark, review int64) {
	if r.remarkReview == nil {
		r.remarkReview = map[int64]int64{}
	}
	r.remarkReview[remark] = review
}

// remark finds a line comment, its review thread and its place there.
func (r *Repo) remark(id int64) (*thread, *vcs.ReviewThread, int) {
	for _, t := range r.threads {
		for _, rev := range t.reviews {
			for i := range rev.Remarks {
				for n, c := range rev.Remarks[i].Comments {
					if c.ID == id {
						return t, &rev.Remarks[i], n
					}
				}
			}
		}
	}
	return nil, nil, 0
}

// ResolveThread marks the review thread that the comment opened, as a person
// does with the button.
func (r *Repo) ResolveThread(id int64) error {
	return r.mark(id, func(th *vcs.ReviewThread) { th.Resolved = true })
}

// OutdateThread marks the review thread as about lines that have changed.
func (r *Repo) OutdateThread(id int64) error {
	return r.mark(id, func(th *vcs.ReviewThread) { th.Outdated = true })
}

func (r *Repo) mark(id int64, f func(*vcs.ReviewThread)) error {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	_, th, _ := r.remark(id)
	if th == nil {
		return fmt.Errorf("%w: review thread %d", vcs.ErrNotFound, id)
	}
	f(th)
	return nil
}

func getReview(c *call) reply {
	t := c.pull()
	if t == nil {
		return notFound()
	}
	for _, rev := range t.reviews {
		if rev.ID == c.number("id") {
			return ok(c.g.site(t.updated).Review(t.issue.Thread, *rev, strings.ToUpper(string(rev.State))))
		}
	}
	return notFound()
}

func (c *call) remarkObject(t *thread, th *vcs.ReviewThread, n int) object {
	return c.g.site(t.updated).Remark(t.issue.Thread, c.repo.remarkReview[th.Comments[n].ID], t.pull.Head.SHA, *th, n)
}

func listRemarks(c *call) reply {
	t := c.pull()
	if t == nil {
		return notFound()
	}
	var all []any
	for _, rev := range t.reviews {
		for i := range rev.Remarks {
			for n := range rev.Remarks[i].Comments {
				all = append(all, c.remarkObject(t, &rev.Remarks[i], n))
			}
		}
	}
	return c.list(all)
}

// replyToRemark answers in a thread; GitHub makes a review of its own for it,
// and accepts only the opening comment's id.
func replyToRemark(c *call) reply {
	t, th, n := c.repo.remark(c.number("id"))
	if t == nil || t != c.pull() || n != 0 {
		return notFound()
	}
	text, rep, good := textOf(c)
	if !good {
		return rep
	}
	t.touch(c.g.now())
	rev := &vcs.Review{ID: c.g.newID(), Author: c.token.actor, State: vcs.ReviewCommented, CommitSHA: t.pull.Head.SHA, SubmittedAt: t.updated}
	t.reviews = append(t.reviews, rev)
	c.repo.addRemark(t, rev, c.token.actor, Remark{Body: text, InReplyTo: th.ID})
	return created(c.remarkObject(t, th, len(th.Comments)-1))
}

func editRemark(c *call) reply {
	t, th, n := c.repo.remark(c.number("id"))
	if t == nil {
		return notFound()
	}
	if !th.Comments[n].Author.Is(c.token.actor) {
		return c.forbid("the comment's author")
	}
	text, rep, good := textOf(c)
	if !good {
		return rep
	}
	t.touch(c.g.now())
	th.Comments[n].Body, th.Comments[n].UpdatedAt = text, t.updated
	return ok(c.remarkObject(t, th, n))
}
