package githubhook

import (
	"encoding/json"
	"time"
)

// payload is the union of the members that are read of any event
// (docs.github.com/webhooks/webhook-events-and-payloads). Pointers are objects
// that may be absent or null.
type payload struct {
	Action      string       `json:"action"`
	Number      int          `json:"number"`
	Repository  *repository  `json:"repository"`
	Sender      *user        `json:"sender"`
	Issue       *issue       `json:"issue"`
	Comment     *comment     `json:"comment"`
	PullRequest *pullRequest `json:"pull_request"`
	Review      *review      `json:"review"`
	CheckRun    *checkRun    `json:"check_run"`
	CheckSuite  *checkSuite  `json:"check_suite"`
	WorkflowRun *workflowRun `json:"workflow_run"`
	Changes     *changes     `json:"changes"`
	Label       *label       `json:"label"`
	Assignee    *user        `json:"assignee"`

	// Of an installation.
	Installation *installation `json:"installation"`

	// Of a push.
	Ref     string `json:"ref"`
	After   string `json:"after"`
	Deleted bool   `json:"deleted"`

	// Of a status: ID, SHA, State, Context, TargetURL, UpdatedAt, Branches.
	ID        int64     `json:"id"`
	SHA       string    `json:"sha"`
	State     string    `json:"state"`
	Context   string    `json:"context"`
	TargetURL string    `json:"target_url"`
	UpdatedAt time.Time `json:"updated_at"`
	Branches  []branch  `json:"branches"`
}

type repository struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	DefaultBranch string `json:"default_branch"`
	Private       bool   `json:"private"`
	Fork          bool   `json:"fork"`
	Archived      bool   `json:"archived"`
	HTMLURL       string `json:"html_url"`
}

type user struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
	Type  string `json:"type"`
}

type label struct {
	Name string `json:"name"`
}

type branch struct {
	Name string `json:"name"`
}

type installation struct {
	ID int64 `json:"id"`
}

// presence is true for any value but null; its content is not read.
type presence bool

// UnmarshalJSON looks at nothing but null.
func (p *presence) UnmarshalJSON(b []byte) error {
	*p = string(b) != "null"
	return nil
}

var _ json.Unmarshaler = (*presence)(nil)

type issue struct {
	Number      int       `json:"number"`
	Title       string    `json:"title"`
	Body        string    `json:"body"`
	State       string    `json:"state"`
	Locked      bool      `json:"locked"`
	User        *user     `json:"user"`
	Labels      []label   `json:"labels"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	ClosedAt    time.Time `json:"closed_at"`
	HTMLURL     string    `json:"html_url"`
	PullRequest presence  `json:"pull_request"`
}

type comment struct {
	ID        int64     `json:"id"`
	Body      string    `json:"body"`
	User      *user     `json:"user"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	HTMLURL   string    `json:"html_url"`
	ReviewID  int64     `json:"pull_request_review_id"`
	Path      string    `json:"path"`
	DiffHunk  string    `json:"diff_hunk"`
	InReplyTo int64     `json:"in_reply_to_id"`
	StartLine int       `json:"start_line"`
	Line      int       `json:"line"`
	Side      string    `json:"side"`
}

type pullRequest struct {
	Number              int       `json:"number"`
	Title               string    `json:"title"`
	Body                string    `json:"body"`
	State               string    `json:"state"`
	Locked              bool      `json:"locked"`
	Draft               bool      `json:"draft"`
	Merged              bool      `json:"merged"`
	MergedAt            time.Time `json:"merged_at"`
	User                *user     `json:"user"`
	Labels              []label   `json:"labels"`
	CreatedAt           time.Time `json:"created_at"`
	UpdatedAt           time.Time `json:"updated_at"`
	ClosedAt            time.Time `json:"closed_at"`
	HTMLURL             string    `json:"html_url"`
	MaintainerCanModify bool      `json:"maintainer_can_modify"`
	Head                tip       `json:"head"`
	Base                tip       `json:"base"`
}

// tip is a pull request's head or base; the head's Repo is null once the fork
// was deleted.
type tip struct {
	Ref  string   `json:"ref"`
	SHA  string   `json:"sha"`
	Repo *tipRepo `json:"repo"`
}

type tipRepo struct {
	FullName string `json:"full_name"`
}

type review struct {
	ID          int64     `json:"id"`
	Body        string    `json:"body"`
	State       string    `json:"state"`
	User        *user     `json:"user"`
	CommitID    string    `json:"commit_id"`
	SubmittedAt time.Time `json:"submitted_at"`
	HTMLURL     string    `json:"html_url"`
}

type checkRun struct {
	ID           int64       `json:"id"`
	Name         string      `json:"name"`
	HeadSHA      string      `json:"head_sha"`
	Status       string      `json:"status"`
	Conclusion   string      `json:"conclusion"`
	HTMLURL      string      `json:"html_url"`
	App          *app        `json:"app"`
	CheckSuite   *checkSuite `json:"check_suite"`
	PullRequests []prRef     `json:"pull_requests"`
}

type app struct {
	ID   int64  `json:"id"`
	Slug string `json:"slug"`
}

type checkSuite struct {
	ID           int64   `json:"id"`
	HeadSHA      string  `json:"head_sha"`
	HeadBranch   string  `json:"head_branch"`
	Status       string  `json:"status"`
	Conclusion   string  `json:"conclusion"`
	App          *app    `json:"app"`
	PullRequests []prRef `json:"pull_requests"`
}

type workflowRun struct {
	ID           int64   `json:"id"`
	Name         string  `json:"name"`
	HeadSHA      string  `json:"head_sha"`
	HeadBranch   string  `json:"head_branch"`
	Status       string  `json:"status"`
	Conclusion   string  `json:"conclusion"`
	RunAttempt   int     `json:"run_attempt"`
	HTMLURL      string  `json:"html_url"`
	PullRequests []prRef `json:"pull_requests"`
}

// prRef is a pull request that a check belongs to. A fork's checks list pull
// requests of other repositories too.
type prRef struct {
	Number int `json:"number"`
	Base   struct {
		Repo struct {
			ID int64 `json:"id"`
		} `json:"repo"`
	} `json:"base"`
}

type changes struct {
	Body *struct {
		From string `json:"from"`
	} `json:"body"`
}
