package vcs

import (
	"fmt"
	"strconv"
	"strings"
)

// ForgeName names a driver.
type ForgeName string

// The forges that have a driver.
const (
	GitHub ForgeName = "github"
	GitLab ForgeName = "gitlab"
	Local  ForgeName = "local"
)

// Words are what a forge's people call things, for texts that they read.
type Words struct {
	Forge       string // as it writes itself
	PullRequest string // in the middle of a sentence
	// Mark stands before the number of a pull request.
	Mark string
}

// Words are the forge's own.
func (f ForgeName) Words() Words {
	if f == GitLab {
		return Words{Forge: "GitLab", PullRequest: "merge request", Mark: "!"}
	}
	return Words{Forge: "GitHub", PullRequest: "pull request", Mark: "#"}
}

// RepoRef names a repository on a forge. Owner may hold slashes on forges
// with nested groups. A RepoRef from outside must pass Validate before use.
type RepoRef struct {
	Forge ForgeName `json:"forge"`
	Owner string    `json:"owner"`
	Name  string    `json:"name"`
}

// FullName is "owner/name".
func (r RepoRef) FullName() string { return r.Owner + "/" + r.Name }

// String is "forge:owner/name".
func (r RepoRef) String() string { return string(r.Forge) + ":" + r.FullName() }

// IsZero reports whether no repository is named.
func (r RepoRef) IsZero() bool { return r == RepoRef{} }

// maxRepoPart is GitHub's own limit for a repository's name (100) and well
// above its limit for an owner (39); GitLab allows 255 per part.
const maxRepoPart = 255

// Validate refuses names that could break out of a path, a ref or an URL.
// Its error wraps ErrInvalid.
func (r RepoRef) Validate() error {
	switch r.Forge {
	case GitHub, GitLab, Local:
	default:
		return fmt.Errorf("%w: unknown forge %q", ErrInvalid, r.Forge)
	}
	parts := append(strings.Split(r.Owner, "/"), r.Name)
	if len(parts) > 2 && r.Forge == GitHub {
		return fmt.Errorf("%w: repository %q has more than two parts", ErrInvalid, r.FullName())
	}
	for _, p := range parts {
		if !validRepoPart(p) {
			return fmt.Errorf("%w: repository name %q", ErrInvalid, r.FullName())
		}
	}
	return nil
}

func validRepoPart(p string) bool {
	if p == "" || len(p) > maxRepoPart || p == "." || p == ".." || strings.HasSuffix(p, ".git") || strings.HasPrefix(p, "-") {
		return false
	}
	for _, c := range []byte(p) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}

// Repo is what a forge says of a repository.
type Repo struct {
	RepoRef
	ID            int64  `json:"id"`
	DefaultBranch string `json:"default_branch"`
	Private       bool   `json:"private"` // only its members read it
	Fork          bool   `json:"fork"`
	Archived      bool   `json:"archived"`
	URL           string `json:"url"` // for people, in a browser
}

// Access is what a git credential is wanted for.
type Access string

// The kinds of access to a git remote.
const (
	Read  Access = "read"
	Write Access = "write"
)

// Remote is where a repository's git data is reached. The credential is
// never part of URL; it is sent as HTTP basic authentication, and is only
// good for minutes when a forge can mint such.
type Remote struct {
	URL      string
	Username string
	Password Secret
	// CA are certificates (PEM) to trust besides the system's.
	CA []byte
	// Proxy is the URL of the HTTP proxy on the way there; empty is the
	// environment's. It may hold a credential.
	Proxy Secret
}

// Thread is one issue or pull request: the unit of conversation and locking.
type Thread struct {
	Repo        RepoRef `json:"repo"`
	Number      int     `json:"number"`
	PullRequest bool    `json:"pull_request"`
}

// Key identifies a thread in stores and locks. GitHub numbers issues and pull
// requests in one sequence; GitLab in two, so there a pull request's key
// differs from that of the issue with the same number.
func (t Thread) Key() string {
	return t.Repo.String() + t.Label()
}

// Label is how people name the thread within its repository: #7, or !7 for a
// merge request.
func (t Thread) Label() string {
	mark := "#"
	if t.PullRequest {
		mark = t.Repo.Forge.Words().Mark
	}
	return mark + strconv.Itoa(t.Number)
}

// HeadRef is the ref by which a forge shows a pull request's head in the
// repository that it is for, also when it comes from a fork.
func (t Thread) HeadRef() string {
	if t.Repo.Forge == GitLab {
		return fmt.Sprintf("refs/merge-requests/%d/head", t.Number)
	}
	return fmt.Sprintf("refs/pull/%d/head", t.Number)
}

// String is Key.
func (t Thread) String() string { return t.Key() }

// ActorKind tells people from programs.
type ActorKind string

// The kinds of account. The zero value is treated as a bot where it matters.
const (
	KindUser ActorKind = "user"
	KindBot  ActorKind = "bot"
)

// Actor is an account: who caused an event or wrote a text. Accounts are
// compared by ID; a login can be renamed and taken by somebody else.
type Actor struct {
	ID    int64     `json:"id"`
	Login string    `json:"login"`
	Kind  ActorKind `json:"kind"`
}

// Is reports whether a and b are the same account. Two unknown accounts are
// never the same.
func (a Actor) Is(b Actor) bool { return a.ID != 0 && a.ID == b.ID }
