package vcs

import (
	"fmt"
	"strings"
	"time"
)

// Branch is a branch's tip in a repository (a fork's for a fork's pull request).
type Branch struct {
	Repo RepoRef `json:"repo"`
	Name string  `json:"name"`
	SHA  string  `json:"sha"`
}

// PullRequest is a proposed change (a merge request on GitLab).
type PullRequest struct {
	Thread
	Title  string `json:"title"`
	Body   string `json:"body"`
	Author Actor  `json:"author"`
	Open   bool   `json:"open"`
	Merged bool   `json:"merged"`
	Draft  bool   `json:"draft"`
	Head   Branch `json:"head"`
	Base   Branch `json:"base"`
	// MaintainerCanModify is whether the base's maintainers may push to Head.
	MaintainerCanModify bool   `json:"maintainer_can_modify"`
	URL                 string `json:"url"`
}

// FromFork reports whether the head lives in another repository than the base.
func (p PullRequest) FromFork() bool { return p.Head.Repo != p.Base.Repo }

// NewPullRequest asks for a pull request from Head into Base, both branches of Repo.
type NewPullRequest struct {
	Repo  RepoRef
	Head  string
	Base  string
	Title string // cut to the forge's limit
	Body  string // Markdown, cut as StickyComment.Body
	Draft bool
}

// ReviewState is the verdict of a submitted review.
type ReviewState string

// The verdicts.
const (
	ReviewApproved         ReviewState = "approved"
	ReviewChangesRequested ReviewState = "changes_requested"
	ReviewCommented        ReviewState = "commented"
	ReviewDismissed        ReviewState = "dismissed"
)

// Review is one submitted review with all its remarks.
type Review struct {
	ID          int64          `json:"id"`
	Author      Actor          `json:"author"`
	State       ReviewState    `json:"state"`
	Body        string         `json:"body"`
	CommitSHA   string         `json:"commit_sha"`
	SubmittedAt time.Time      `json:"submitted_at"`
	URL         string         `json:"url"`
	Remarks     []ReviewThread `json:"remarks,omitempty"`
	// Partial is set by an event of a forge that tells of a review remark by
	// remark (GitLab): ID is the remark's, others of the same author may follow
	// within seconds, and [Reviewer.Review] gives all that are not answered yet.
	Partial bool `json:"partial,omitempty"`
}

// ReviewThread is a remark on a range of lines and the replies to it.
type ReviewThread struct {
	// ID is the opening comment's; replies go to it.
	ID        int64     `json:"id"`
	Path      string    `json:"path"`
	StartLine int       `json:"start_line,omitempty"` // 1-based; 0 when a single line
	Line      int       `json:"line"`                 // 1-based; 0 when the remark is about the whole file or outdated
	Side      string    `json:"side,omitempty"`       // LEFT or RIGHT
	DiffHunk  string    `json:"diff_hunk,omitempty"`
	Outdated  bool      `json:"outdated"`
	Resolved  bool      `json:"resolved"`
	Comments  []Comment `json:"comments"`
}

// maxRefName is what git and every forge accept for a ref's name.
const maxRefName = 244

// ValidateBranch refuses branch names that git refuses (git-check-ref-format)
// and those that could be read as an option. Its error wraps ErrInvalid.
func ValidateBranch(name string) error {
	bad := fmt.Errorf("%w: branch name %q", ErrInvalid, name)
	if name == "" || name == "@" || name == "HEAD" || len(name) > maxRefName || strings.HasPrefix(name, "-") ||
		strings.HasPrefix(name, "refs/") ||
		strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return bad
	}
	for _, c := range []byte(name) {
		if c <= ' ' || c == 0x7f || strings.IndexByte(`~^:?*[\`, c) >= 0 {
			return bad
		}
	}
	for _, part := range strings.Split(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return bad
		}
	}
	return nil
}

// ValidateSHA accepts a full SHA-1 or SHA-256 object name in lower-case hex.
// Its error wraps ErrInvalid.
func ValidateSHA(sha string) error {
	if len(sha) != 40 && len(sha) != 64 {
		return fmt.Errorf("%w: object name %q", ErrInvalid, sha)
	}
	if strings.Trim(sha, "0123456789abcdef") != "" {
		return fmt.Errorf("%w: object name %q", ErrInvalid, sha)
	}
	return nil
}
