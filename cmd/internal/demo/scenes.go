package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// outcome is a scene and what came of it.
type outcome struct {
	title  string
	repo   repository
	thread int
	// asked is the comment that asked; zero ID for a red check.
	asked vcs.Comment
	// head is the branch of a person's pull request and the commit it was at;
	// empty where a new pull request is expected.
	head, before string
	evidence
}

// askedOnIssue: somebody asks on an issue about what is red on main.
func (s *stage) askedOnIssue(ctx context.Context) (*outcome, error) {
	s.out.section("A. Somebody asks on an issue")
	repo, err := s.newRepo("widgets", s.forge.widgets())
	if err != nil {
		return nil, err
	}
	o := &outcome{title: "asked on an issue", repo: repo}
	if _, err := s.runCI(ctx, o, "main"); err != nil {
		return nil, err
	}
	return o, s.ask(ctx, o, "main is red: the formatting check", "CI fails on main since the last change.", "/agent fix", limit)
}

// ask opens an issue, comments, and watches until the job has ended.
func (s *stage) ask(ctx context.Context, o *outcome, title, body, comment string, most time.Duration) error {
	issue, err := o.repo.OpenIssue(maintainer, title, body)
	if err != nil {
		return fmt.Errorf("opening an issue: %w", err)
	}
	o.thread = issue.Number
	s.out.say(maintainer, "opens issue #%d in %s: %s", issue.Number, o.repo.Ref().FullName(), title)
	w := s.watch(o)
	if o.asked, err = o.repo.Comment(issue.Number, maintainer, comment); err != nil {
		return fmt.Errorf("commenting: %w", err)
	}
	s.out.say(maintainer, "comments: %s", comment)
	return w.untilEnded(ctx, most)
}

// redCheck: a check fails on somebody's pull request.
func (s *stage) redCheck(ctx context.Context) (*outcome, error) {
	s.out.section("B. A check fails on somebody's %s", s.forge.words.PullRequest)
	repo, err := s.newRepo("gadgets", s.forge.gadgets())
	if err != nil {
		return nil, err
	}
	o := &outcome{title: "a red check on a " + s.forge.words.PullRequest, repo: repo, head: "weight"}
	if o.before, err = repo.PushCommit(o.head, unformatted(), "Add Weight"); err != nil {
		return nil, fmt.Errorf("pushing a branch: %w", err)
	}
	pull, err := repo.OpenPull(contributor, o.head, "main", "Add Weight", "What a parcel weighs.")
	if err != nil {
		return nil, fmt.Errorf("opening a pull request: %w", err)
	}
	o.thread = pull.Number
	s.out.say(contributor, "opens %s %s in %s: %s", s.forge.words.PullRequest, pull.Label(), repo.Ref().FullName(), pull.Title)
	w := s.watch(o)
	ran, err := s.runCI(ctx, o, o.head)
	if err != nil {
		return nil, err
	}
	if err := s.report(repo, ran, contributor); err != nil {
		return nil, err
	}
	return o, w.untilEnded(ctx, limit)
}

// realBug: as the first, but what is red needs a language model.
func (s *stage) realBug(ctx context.Context) (*outcome, error) {
	s.out.section("C. A real bug, for a language model")
	if s.model.name == "" {
		s.out.line("  Not shown: %s.", s.model.why)
		return nil, nil
	}
	repo, err := s.newRepo("gizmos", s.forge.gizmos())
	if err != nil {
		return nil, err
	}
	o := &outcome{title: "a real bug, with " + s.model.name, repo: repo}
	return o, s.ask(ctx, o, "Page shows the wrong items", "The first page begins with the third item, and the last one panics.", "/agent fix --model "+s.model.name, modelLimit)
}

// newRepo makes a repository in which the maintainer may write. The
// contributor may open pull requests from its branches.
func (s *stage) newRepo(name string, files map[string]string) (repository, error) {
	repo, err := s.forge.create(owner, name, files)
	if err != nil {
		return nil, fmt.Errorf("seeding %s/%s: %w", owner, name, err)
	}
	for _, login := range []string{maintainer, contributor} {
		if err := repo.SetPermission(login, vcs.PermissionWrite); err != nil {
			return nil, fmt.Errorf("letting %s into %s/%s: %w", login, owner, name, err)
		}
	}
	return repo, nil
}
