package vcstest

import (
	"maps"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/vcs"
)

// Issues are the issues, by number, with their comments.
func (r *Repo) Issues() []vcs.Issue { return r.snapshot(false) }

// Conversations are the pull requests as issues, with their comments.
func (r *Repo) Conversations() []vcs.Issue { return r.snapshot(true) }

func (r *Repo) snapshot(pulls bool) []vcs.Issue {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	var out []vcs.Issue
	for _, n := range slices.Sorted(maps.Keys(r.threads)) {
		if t := r.threads[n]; (t.pull != nil) == pulls {
			i := t.issue
			i.Comments, i.Labels = slices.Clone(i.Comments), slices.Clone(i.Labels)
			out = append(out, i)
		}
	}
	return out
}

// Pulls are the pull requests, by number.
func (r *Repo) Pulls() []vcs.PullRequest {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	var out []vcs.PullRequest
	for _, n := range slices.Sorted(maps.Keys(r.threads)) {
		if p := r.threads[n].pull; p != nil {
			out = append(out, *p)
		}
	}
	return out
}

// Comments are those of an issue's or pull request's conversation, oldest first.
func (r *Repo) Comments(number int) []vcs.Comment {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	if t := r.threads[number]; t != nil {
		return slices.Clone(t.issue.Comments)
	}
	return nil
}

// Reactions are all of a thread, in the order that they were left.
func (r *Repo) Reactions(number int) []Reacted {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	if t := r.threads[number]; t != nil {
		return slices.Clone(t.reactions)
	}
	return nil
}

// Reviews are those of a pull request, with the threads that each opened.
func (r *Repo) Reviews(number int) []vcs.Review {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	var out []vcs.Review
	if t := r.threads[number]; t != nil {
		for _, rev := range t.reviews {
			out = append(out, clone(*rev))
		}
	}
	return out
}

// RequestedReviewers are the logins asked to look at a pull request.
func (r *Repo) RequestedReviewers(number int) []string {
	r.srv.mu.Lock()
	defer r.srv.mu.Unlock()
	if t := r.threads[number]; t != nil {
		return slices.Clone(t.requested)
	}
	return nil
}

// Repo finds a repository; nil when there is none.
func (g *GitHub) Repo(owner, name string) *Repo {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.repos[strings.ToLower(owner+"/"+name)]
}
