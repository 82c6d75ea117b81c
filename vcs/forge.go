package vcs

import (
	"context"
	"errors"
	"io"
	"time"
)

// Sentinels that drivers wrap; callers test with errors.Is.
var (
	// ErrInvalid: a name, payload or setting from outside is not acceptable.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound: the object does not exist or the credential cannot see it.
	ErrNotFound = errors.New("not found")
	// ErrForbidden: the credential lacks a right; the text names it if known.
	ErrForbidden = errors.New("forbidden")
	// ErrUnavailable: the forge did not answer, or answered 5xx; try later.
	ErrUnavailable = errors.New("forge unavailable")
	// ErrConflict: the object has changed meanwhile (a ref moved).
	ErrConflict = errors.New("conflict")
	// ErrUnsupported: this forge has no such thing.
	ErrUnsupported = errors.New("not supported by this forge")
)

// RateLimitError says when to try again. It matches ErrUnavailable.
type RateLimitError struct {
	RetryAt time.Time
}

func (e *RateLimitError) Error() string {
	return "rate limited until " + e.RetryAt.UTC().Format(time.RFC3339)
}

// Is makes a rate limit an ErrUnavailable.
func (e *RateLimitError) Is(target error) bool { return target == ErrUnavailable }

// Forge is the seam between Greenwright and a code host.
//
// Every method is safe for concurrent use, watches ctx, and bounds its own
// retries; what it returns wraps one of this package's sentinels where one
// fits. Read methods have no effect. PutComment and React are idempotent:
// repeating one with the same arguments leaves the same state.
type Forge interface {
	// Self is the account that Greenwright acts as on this forge.
	Self(ctx context.Context) (Actor, error)
	// Permission is the actor's level on the repository, custom roles
	// resolved. An account without access has PermissionNone and no error;
	// any error means "not known", and callers must refuse.
	Permission(ctx context.Context, repo RepoRef, actor Actor) (Permission, error)
	// Repo describes a repository; ErrNotFound when it cannot be seen.
	Repo(ctx context.Context, repo RepoRef) (Repo, error)
	// Remote gives the git remote with a credential good for the access
	// asked, on this repository alone, minted for this use where possible.
	Remote(ctx context.Context, repo RepoRef, access Access) (Remote, error)
	// Issue reads the thread's opening text and comments.
	Issue(ctx context.Context, thread Thread) (Issue, error)
	// PutComment creates or edits the one comment with the marker.
	PutComment(ctx context.Context, thread Thread, c StickyComment) (Comment, error)
	// React leaves a reaction on a comment of the thread.
	React(ctx context.Context, thread Thread, c CommentRef, r Reaction) error
	// PullRequest reads a pull request.
	PullRequest(ctx context.Context, thread Thread) (PullRequest, error)
}

// AccountReader is implemented by forges whose events do not tell people from
// programs.
type AccountReader interface {
	// Account is the actor as the forge knows it now, with its kind. An account
	// that is not there, or whose login is now another's, is an error.
	Account(ctx context.Context, actor Actor) (Actor, error)
}

// PullRequestOpener is implemented by forges that have pull requests.
type PullRequestOpener interface {
	// OpenPullRequest returns the open pull request from Head to Base if
	// there is one already, else opens it.
	OpenPullRequest(ctx context.Context, pr NewPullRequest) (PullRequest, error)
	// EditPullRequest replaces title and body; empty leaves as it is.
	EditPullRequest(ctx context.Context, thread Thread, title, body string) error
}

// Push is what somebody is about to push.
type Push struct {
	Branch string
	// New says that the branch is not there yet.
	New bool
	// Message and AuthorEmail are a commit's as it will be.
	Message, AuthorEmail string
}

// PushChecker is implemented by forges that say beforehand what they refuse.
type PushChecker interface {
	// PushRefused says why our account's push would be refused, in few words;
	// empty when nothing that the forge tells speaks against it.
	PushRefused(ctx context.Context, repo RepoRef, push Push) (reason string, err error)
}

// Reviewer is implemented by forges that have code review.
type Reviewer interface {
	// Review reads a submitted review with all its remarks; resolved and
	// outdated ones are marked, not left out. Where reviews arrive remark by
	// remark ([Review.Partial]), id is a remark's, and the review is all of its
	// author's on the pull request that our account has not answered since.
	Review(ctx context.Context, thread Thread, id int64) (Review, error)
	// ReplyToRemark answers in the review thread whose opening comment has
	// the id; idempotent by marker, as PutComment.
	ReplyToRemark(ctx context.Context, thread Thread, id int64, c StickyComment) (Comment, error)
	// RequestReview asks the actor to look again.
	RequestReview(ctx context.Context, thread Thread, reviewer Actor) error
}

// PullRequestFinder is implemented by forges whose events about checks do not
// say whose they are ([Check.PullRequestsUnknown]).
type PullRequestFinder interface {
	// PullRequestsAt are the numbers of the open pull requests of the repository
	// whose head is the commit.
	PullRequestsAt(ctx context.Context, repo RepoRef, sha string) ([]int, error)
}

// CheckReader is implemented by forges that run checks.
type CheckReader interface {
	// CheckJob finds the CI job behind a check; ErrNotFound when the check
	// is not a job of the forge's own CI.
	CheckJob(ctx context.Context, repo RepoRef, check Check) (CheckJob, error)
	// CheckLog opens the job's log as the forge stores it. The caller closes it.
	CheckLog(ctx context.Context, repo RepoRef, check Check) (io.ReadCloser, error)
	// Checks lists the checks of a commit.
	Checks(ctx context.Context, repo RepoRef, sha string) ([]Check, error)
}
