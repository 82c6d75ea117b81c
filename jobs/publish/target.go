package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// Target is where a change goes.
type Target struct {
	Branch string
	// Expect is the commit the branch is at; empty for a new branch.
	Expect string
	// Base is the branch that a new pull request asks to merge into.
	Base string
	// Pull is the pull request whose head is Branch, nil for a new branch.
	Pull *vcs.PullRequest
}

// ErrTarget is wrapped by the error of a change that has nowhere to go.
var ErrTarget = errors.New("no branch to publish to")

// onPull aims at the head of a pull request.
func onPull(pr vcs.PullRequest, repo vcs.Repo) (Target, error) {
	word := repo.Forge.Words().PullRequest
	switch {
	case pr.FromFork():
		return Target{}, fmt.Errorf("%w: the %s's head is in a fork", ErrTarget, word)
	case pr.Head.Name == repo.DefaultBranch:
		return Target{}, fmt.Errorf("%w: the %s's head is the default branch", ErrTarget, word)
	case !pr.Open:
		return Target{}, fmt.Errorf("%w: the %s is closed", ErrTarget, word)
	}
	return Target{Branch: pr.Head.Name, Expect: pr.Head.SHA, Pull: &pr}, nil
}

// maxSlug keeps branch names short enough to read.
const maxSlug = 40

// Slug makes a part of a branch name from a title: lower-case ASCII letters,
// digits and single dashes, at most 40, whole words where they fit.
func Slug(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	slug := ""
	for i, w := range words {
		if i == 0 {
			slug = w[:min(len(w), maxSlug)]
			continue
		}
		if len(slug)+1+len(w) > maxSlug {
			break
		}
		slug += "-" + w
	}
	if slug == "" {
		return "change"
	}
	return slug
}

// maxSuffix bounds the search for a free branch name.
const maxSuffix = 50

// freeBranch finds a name that the remote does not have.
func freeBranch(ctx context.Context, m *git.Mirror, remote vcs.Remote, name string) (string, error) {
	for i := 1; i <= maxSuffix; i++ {
		candidate := name
		if i > 1 {
			candidate = fmt.Sprintf("%s-%d", name, i)
		}
		if err := vcs.ValidateBranch(candidate); err != nil {
			return "", err
		}
		_, err := m.RemoteRef(ctx, remote, "refs/heads/"+candidate)
		if errors.Is(err, vcs.ErrNotFound) {
			return candidate, nil
		}
		if err != nil {
			return "", fmt.Errorf("looking for branch %s: %w", candidate, err)
		}
	}
	return "", fmt.Errorf("%w: %s and %d more names are taken", ErrTarget, name, maxSuffix-1)
}
