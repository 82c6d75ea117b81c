package githubhook

import (
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// maxLogin is above GitHub's 39 characters plus an enterprise's short code and
// the suffix of an app's account.
const maxLogin = 100

func repoOf(r *repository) (vcs.Repo, error) {
	ref, err := refOf(r.FullName)
	if err != nil {
		return vcs.Repo{}, err
	}
	if r.ID <= 0 {
		return vcs.Repo{}, fmt.Errorf("%w: repository id %d", vcs.ErrInvalid, r.ID)
	}
	if r.DefaultBranch != "" {
		if err := vcs.ValidateBranch(r.DefaultBranch); err != nil {
			return vcs.Repo{}, fmt.Errorf("default branch: %w", err)
		}
	}
	return vcs.Repo{
		RepoRef: ref, ID: r.ID, DefaultBranch: r.DefaultBranch,
		Private: r.Private, Fork: r.Fork, Archived: r.Archived, URL: r.HTMLURL,
	}, nil
}

func refOf(fullName string) (vcs.RepoRef, error) {
	owner, name, _ := strings.Cut(fullName, "/")
	ref := vcs.RepoRef{Forge: vcs.GitHub, Owner: owner, Name: name}
	return ref, ref.Validate()
}

// actorOf converts an account; null (a deleted one) is the zero Actor.
func actorOf(u *user) (vcs.Actor, error) {
	if u == nil {
		return vcs.Actor{}, nil
	}
	if u.ID <= 0 || !validLogin(u.Login) {
		return vcs.Actor{}, fmt.Errorf("%w: account %d %q", vcs.ErrInvalid, u.ID, u.Login)
	}
	a := vcs.Actor{ID: u.ID, Login: u.Login, Kind: vcs.KindBot}
	// An Organization or Mannequin writes nothing itself; only a User is one.
	if u.Type == "User" {
		a.Kind = vcs.KindUser
	}
	return a, nil
}

func validLogin(s string) bool {
	name := strings.TrimSuffix(s, "[bot]")
	if name == "" || len(s) > maxLogin {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !isDeliveryChar(c) && c != '_' {
			return false
		}
	}
	return true
}

// thread sets the event's thread.
func (c converter) thread(number int, isPull bool) error {
	if number <= 0 {
		return fmt.Errorf("%w: number %d", vcs.ErrInvalid, number)
	}
	c.event.Thread = vcs.Thread{Repo: c.event.Repo.RepoRef, Number: number, PullRequest: isPull}
	return nil
}

func names(ls []label) []string {
	out := make([]string, 0, len(ls))
	for _, l := range ls {
		out = append(out, l.Name)
	}
	return out
}

func (c converter) issueOf(w *issue) (*vcs.Issue, error) {
	author, err := actorOf(w.User)
	if err != nil {
		return nil, fmt.Errorf("author: %w", err)
	}
	return &vcs.Issue{
		Thread: c.event.Thread, Title: w.Title, Body: w.Body, Author: author,
		Open: w.State == "open", Locked: w.Locked, Labels: names(w.Labels),
		CreatedAt: w.CreatedAt, URL: w.HTMLURL,
	}, nil
}

func (c converter) commentOf(w *comment, k vcs.CommentKind) (*vcs.Comment, error) {
	if w.ID <= 0 {
		return nil, fmt.Errorf("%w: comment id %d", vcs.ErrInvalid, w.ID)
	}
	author, err := actorOf(w.User)
	if err != nil {
		return nil, fmt.Errorf("comment's author: %w", err)
	}
	return &vcs.Comment{
		CommentRef: vcs.CommentRef{Kind: k, ID: w.ID}, Author: author, Body: w.Body,
		CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt, URL: w.HTMLURL,
	}, nil
}

func (c converter) pullOf(w *pullRequest) (*vcs.PullRequest, error) {
	author, err := actorOf(w.User)
	if err != nil {
		return nil, fmt.Errorf("author: %w", err)
	}
	head, err := tipOf(w.Head)
	if err != nil {
		return nil, fmt.Errorf("head: %w", err)
	}
	base, err := tipOf(w.Base)
	if err != nil {
		return nil, fmt.Errorf("base: %w", err)
	}
	return &vcs.PullRequest{
		Thread: c.event.Thread, Title: w.Title, Body: w.Body, Author: author,
		Open: w.State == "open", Merged: w.Merged || !w.MergedAt.IsZero(), Draft: w.Draft,
		Head: head, Base: base, MaintainerCanModify: w.MaintainerCanModify, URL: w.HTMLURL,
	}, nil
}

// tipOf converts a head or base. A head whose fork was deleted has the zero
// Repo and so is never taken for a branch of the base.
func tipOf(t tip) (vcs.Branch, error) {
	if err := vcs.ValidateBranch(t.Ref); err != nil {
		return vcs.Branch{}, err
	}
	if err := vcs.ValidateSHA(t.SHA); err != nil {
		return vcs.Branch{}, err
	}
	b := vcs.Branch{Name: t.Ref, SHA: t.SHA}
	if t.Repo == nil {
		return b, nil
	}
	ref, err := refOf(t.Repo.FullName)
	b.Repo = ref
	return b, err
}

// stamp is a time as a version: UTC, as precise as given.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func (c converter) identify(object, version string) {
	c.event.Object, c.event.Version = object, version
}
