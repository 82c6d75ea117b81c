package vcstest

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// OpenPull opens a pull request from head ("branch", or "owner:branch" of a
// fork) into base.
func (r *Repo) OpenPull(login, head, base, title, body string) (vcs.PullRequest, error) {
	g := r.srv
	g.mu.Lock()
	defer g.mu.Unlock()
	a, err := g.user(login)
	if err != nil {
		return vcs.PullRequest{}, err
	}
	headRepo, branch := r.headOf(head)
	if headRepo == nil || headRepo.tips[branch] == "" || r.tips[base] == "" {
		return vcs.PullRequest{}, vcs.ErrNotFound
	}
	t, err := r.addPull(a, headRepo, branch, base, title, body, false)
	if err != nil {
		return vcs.PullRequest{}, err
	}
	return *t.pull, nil
}

// headOf resolves a head; nil when there is no such repository.
func (r *Repo) headOf(head string) (*Repo, string) {
	owner, branch, found := strings.Cut(head, ":")
	if !found {
		return r, head
	}
	return r.srv.repos[strings.ToLower(owner+"/"+r.meta.Name)], branch
}

func (r *Repo) addPull(a vcs.Actor, head *Repo, branch, base, title, body string, draft bool) (*thread, error) {
	t := r.newThread(a, title, body, true)
	t.headRepo = head
	t.pull = &vcs.PullRequest{
		Thread: t.issue.Thread, Title: title, Body: body, Author: a, Open: true, Draft: draft,
		Head:                vcs.Branch{Repo: head.meta.RepoRef, Name: branch, SHA: head.tips[branch]},
		Base:                vcs.Branch{Repo: r.meta.RepoRef, Name: base, SHA: r.tips[base]},
		MaintainerCanModify: head != r, URL: t.issue.URL,
	}
	if err := r.keepPullRef(t); err != nil {
		return nil, err
	}
	r.emitIssue("opened", t, a, nil)
	return t, nil
}

func (c *call) pull() *thread {
	if t := c.thread(); t != nil && t.pull != nil {
		return t
	}
	return nil
}

func (c *call) pullObject(t *thread) object {
	o := c.g.site(t.updated).PullRequest(*t.pull, c.repo.meta, &t.headRepo.meta)
	requested := make([]any, 0, len(t.requested))
	for _, login := range t.requested {
		if a, err := c.g.user(login); err == nil {
			requested = append(requested, c.g.site(t.updated).User(a))
		}
	}
	o["requested_reviewers"] = requested
	return o
}

func getPull(c *call) reply {
	t := c.pull()
	if t == nil {
		return notFound()
	}
	return ok(c.pullObject(t))
}

func listPulls(c *call) reply {
	q := c.r.URL.Query()
	var all []any
	for _, n := range slices.Sorted(maps.Keys(c.repo.threads)) {
		t := c.repo.threads[n]
		if t.pull == nil || !matches(t.pull, q.Get("state"), q.Get("head"), q.Get("base")) {
			continue
		}
		all = append(all, c.pullObject(t))
	}
	return c.list(all)
}

func matches(p *vcs.PullRequest, state, head, base string) bool {
	switch state {
	case "", "open":
		if !p.Open {
			return false
		}
	case "closed":
		if p.Open {
			return false
		}
	}
	return (head == "" || head == p.Head.Repo.Owner+":"+p.Head.Name) && (base == "" || base == p.Base.Name)
}

func createPull(c *call) reply {
	var in struct {
		Title               *string `json:"title"`
		Head                *string `json:"head"`
		Base                *string `json:"base"`
		Body                string  `json:"body"`
		Draft               bool    `json:"draft"`
		MaintainerCanModify bool    `json:"maintainer_can_modify"`
	}
	if rep, good := c.decode(&in); !good {
		return rep
	}
	for name, v := range map[string]*string{"title": in.Title, "head": in.Head, "base": in.Base} {
		if v == nil || *v == "" {
			return c.missing(name)
		}
	}
	if tooLong(*in.Title, maxTitle) || tooLong(in.Body, maxBody) {
		return c.missing("title or body within the limit")
	}
	head, branch := c.repo.headOf(*in.Head)
	if rep, good := c.mayOpen(head, branch, *in.Base); !good {
		return rep
	}
	t, err := c.repo.addPull(c.token.actor, head, branch, *in.Base, *in.Title, in.Body, in.Draft)
	if err != nil {
		c.g.fault("opening a pull request: %v", err)
		return refuse(http.StatusInternalServerError, "internal error")
	}
	return created(c.pullObject(t))
}

// mayOpen refuses what GitHub does: unknown branches, no commits between, a
// pull request that there is already.
func (c *call) mayOpen(head *Repo, branch, base string) (reply, bool) {
	if head == nil || head.tips[branch] == "" || c.repo.tips[base] == "" {
		return refuse(http.StatusUnprocessableEntity, "Validation Failed: head or base invalid"), false
	}
	if head.tips[branch] == c.repo.tips[base] {
		return refuse(http.StatusUnprocessableEntity, "Validation Failed: No commits between %s and %s", base, branch), false
	}
	for _, t := range c.repo.threads {
		if t.pull != nil && matches(t.pull, "open", head.meta.Owner+":"+branch, base) {
			return refuse(http.StatusUnprocessableEntity, "Validation Failed: A pull request already exists for %s:%s.", head.meta.Owner, branch), false
		}
	}
	return reply{}, true
}

func editPull(c *call) reply {
	t := c.pull()
	if t == nil {
		return notFound()
	}
	var in struct {
		Title *string `json:"title"`
		Body  *string `json:"body"`
		State *string `json:"state"`
	}
	if rep, good := c.decode(&in); !good {
		return rep
	}
	if in.Title != nil {
		t.issue.Title, t.pull.Title = *in.Title, *in.Title
	}
	if in.Body != nil {
		t.issue.Body, t.pull.Body = *in.Body, *in.Body
	}
	if in.State != nil {
		t.issue.Open, t.pull.Open = *in.State == "open", *in.State == "open"
	}
	t.touch(c.g.now())
	c.repo.emitIssue("edited", t, c.token.actor, object{"changes": object{}})
	return ok(c.pullObject(t))
}

func requestReviewers(c *call) reply {
	t := c.pull()
	if t == nil {
		return notFound()
	}
	var in struct {
		Reviewers []string `json:"reviewers"`
	}
	if rep, good := c.decode(&in); !good {
		return rep
	}
	for _, login := range in.Reviewers {
		a, err := c.g.user(login)
		if err != nil || c.repo.levelOf(a) < vcs.PermissionRead || a.Is(t.pull.Author) {
			return refuse(http.StatusUnprocessableEntity, "Reviews may only be requested from collaborators.")
		}
		if !slices.Contains(t.requested, a.Login) {
			t.requested = append(t.requested, a.Login)
		}
	}
	return created(c.pullObject(t))
}
