package gitlabhook

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlabwire"
)

// repo is the project that the event is about. What the payload does not say
// about its visibility counts as public: nothing is told there that is not
// told to everybody.
func (c converter) repo() (vcs.Repo, error) {
	project, repository := c.wire.Project, c.wire.Repository
	ref, err := c.parser.refOf(project.place(), repository.place())
	if err != nil {
		return vcs.Repo{}, err
	}
	repo := vcs.Repo{RepoRef: ref, ID: c.wire.ProjectID, Private: project.private() || repository.private()}
	if project == nil {
		repo.URL = repository.Homepage
	} else {
		if project.ID != 0 && repo.ID != 0 && project.ID != repo.ID {
			return vcs.Repo{}, fmt.Errorf("%w: project %d is project %d as well", vcs.ErrInvalid, project.ID, repo.ID)
		}
		repo.ID, repo.URL, repo.DefaultBranch = max(project.ID, repo.ID), project.WebURL, project.DefaultBranch
	}
	if repo.ID <= 0 {
		return vcs.Repo{}, fmt.Errorf("%w: project id %d", vcs.ErrInvalid, repo.ID)
	}
	if repo.DefaultBranch != "" {
		if err := vcs.ValidateBranch(repo.DefaultBranch); err != nil {
			return vcs.Repo{}, fmt.Errorf("default branch: %w", err)
		}
	}
	return repo, nil
}

func (p *project) place() *place {
	if p == nil {
		return nil
	}
	return &place{Path: p.Path, Homepage: p.Homepage}
}

// private reports visibility_level 0; 10 is internal, 20 public.
func (p *project) private() bool { return p != nil && p.Visibility != nil && *p.Visibility == 0 }

// actorOf converts an account. One that is null (deleted) or has no id is the
// zero Actor.
func actorOf(u *user) (vcs.Actor, error) {
	if u == nil || u.ID == 0 {
		return vcs.Actor{}, nil
	}
	if u.ID < 0 || !gitlabwire.ValidLogin(u.Username) {
		return vcs.Actor{}, fmt.Errorf("%w: account %d %q", vcs.ErrInvalid, u.ID, u.Username)
	}
	return vcs.Actor{ID: u.ID, Login: u.Username, Kind: gitlabwire.Kind(u.Username)}, nil
}

// account is who has the id: all that a payload tells of an author, unless it
// is the user that it describes.
func (c converter) account(id int64) vcs.Actor {
	switch {
	case id <= 0:
		return vcs.Actor{}
	case id == c.event.Actor.ID:
		return c.event.Actor
	}
	return vcs.Actor{ID: id}
}

// thread sets the event's thread.
func (c converter) thread(iid int, isPull bool) error {
	if iid <= 0 {
		return fmt.Errorf("%w: iid %d", vcs.ErrInvalid, iid)
	}
	c.event.Thread = vcs.Thread{Repo: c.event.Repo.RepoRef, Number: iid, PullRequest: isPull}
	return nil
}

// hidden reports whether the event comes as a confidential one.
func (c converter) hidden() bool {
	return confidential(c.wire.EventType) || strings.HasPrefix(c.event.Name, confidentialName)
}

func titles(lists ...[]label) []string {
	out := []string{}
	for _, list := range lists {
		for _, l := range list {
			out = append(out, l.Title)
		}
		if len(out) > 0 {
			break
		}
	}
	return out
}

func open(state string) bool { return state == "opened" || state == "reopened" }

func (c converter) issueOf(w *issue) *vcs.Issue {
	return &vcs.Issue{
		Thread: c.event.Thread, Title: w.Title, Body: w.Description, Author: c.account(w.AuthorID),
		Open: open(w.State), Locked: w.Locked, Labels: titles(w.Labels, c.wire.Labels),
		CreatedAt: w.CreatedAt.Time, URL: w.URL, Confidential: w.Confidential,
	}
}

// pull fills thread, pull request and its conversation's opening.
func (c converter) pull(w *mergeRequest) error {
	if err := c.thread(w.IID, true); err != nil {
		return err
	}
	head, err := c.headOf(w)
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	if err := vcs.ValidateBranch(w.TargetBranch); err != nil {
		return fmt.Errorf("target: %w", err)
	}
	e, title := c.event, gitlabwire.Undrafted(w.Title)
	e.PullRequest = &vcs.PullRequest{
		Thread: e.Thread, Title: title, Body: w.Description, Author: c.account(w.AuthorID),
		Open: open(w.State), Merged: w.State == "merged", Draft: w.Draft || w.WorkInProgress,
		Head: head, Base: vcs.Branch{Repo: e.Repo.RepoRef, Name: w.TargetBranch}, URL: w.URL,
	}
	e.Issue = &vcs.Issue{
		Thread: e.Thread, Title: title, Body: w.Description, Author: e.PullRequest.Author, Open: e.PullRequest.Open,
		Locked: w.Locked, Labels: titles(w.Labels, c.wire.Labels), CreatedAt: w.CreatedAt.Time, URL: w.URL,
	}
	return nil
}

// headOf is the source. Whether it is a fork's is told by the projects' ids;
// one that was deleted has the zero Repo and so is never taken for a branch of
// the target's. A merge request without commits has no object name.
func (c converter) headOf(w *mergeRequest) (vcs.Branch, error) {
	if err := vcs.ValidateBranch(w.SourceBranch); err != nil {
		return vcs.Branch{}, err
	}
	b := vcs.Branch{Name: w.SourceBranch}
	if w.LastCommit != nil && w.LastCommit.ID != "" {
		if err := vcs.ValidateSHA(w.LastCommit.ID); err != nil {
			return vcs.Branch{}, err
		}
		b.SHA = w.LastCommit.ID
	}
	switch {
	case w.SourceProjectID <= 0 || w.TargetProjectID <= 0:
		return b, nil
	case w.SourceProjectID == w.TargetProjectID:
		b.Repo = c.event.Repo.RepoRef
		return b, nil
	case w.Source == nil:
		return b, nil
	}
	ref, err := gitlabwire.Project(w.Source.Path)
	if err == nil && ref == c.event.Repo.RepoRef {
		err = fmt.Errorf("%w: another project with the path of this one", vcs.ErrInvalid)
	}
	b.Repo = ref
	return b, err
}

// stamp is a time as a version: UTC, as precise as given.
func stamp(m moment) string {
	if m.IsZero() {
		return ""
	}
	return m.UTC().Format(time.RFC3339Nano)
}

func numbered(kind string, id int64) string { return kind + ":" + strconv.FormatInt(id, 10) }

func (c converter) identify(object, version string) {
	c.event.Object, c.event.Version = object, version
}
