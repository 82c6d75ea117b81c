package gitlabhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
)

// payload is the union of the members that are read of any event
// (docs.gitlab.com/user/project/integrations/webhook_events). Pointers are
// objects that may be absent or null. What object_attributes holds depends on
// the object.
type payload struct {
	ObjectKind object          `json:"object_kind"`
	EventType  string          `json:"event_type"`
	User       *user           `json:"user"`
	Project    *project        `json:"project"`
	ProjectID  int64           `json:"project_id"`
	Repository *project        `json:"repository"`
	Attributes json.RawMessage `json:"object_attributes"`
	Labels     []label         `json:"labels"`
	Changes    *changes        `json:"changes"`

	// Of a note, and MergeRequest of a pipeline too.
	Issue        *issue        `json:"issue"`
	MergeRequest *mergeRequest `json:"merge_request"`

	// Of a push, and Ref of a job too.
	Ref      string `json:"ref"`
	After    string `json:"after"`
	UserID   int64  `json:"user_id"`
	UserName string `json:"user_username"`

	// Of a job.
	SHA           string `json:"sha"`
	Tag           bool   `json:"tag"`
	BuildID       int64  `json:"build_id"`
	BuildName     string `json:"build_name"`
	BuildStatus   string `json:"build_status"`
	AllowFailure  bool   `json:"build_allow_failure"`
	FailureReason string `json:"build_failure_reason"`
}

// user is an account; versions before 13 leave out its id.
type user struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
}

type project struct {
	ID            int64  `json:"id"`
	Path          string `json:"path_with_namespace"`
	Homepage      string `json:"homepage"`
	WebURL        string `json:"web_url"`
	DefaultBranch string `json:"default_branch"`
	Visibility    *int   `json:"visibility_level"`
}

type label struct {
	Title string `json:"title"`
}

// note is the object_attributes of a note.
type note struct {
	ID           int64     `json:"id"`
	Text         string    `json:"note"`
	On           string    `json:"noteable_type"`
	AuthorID     int64     `json:"author_id"`
	UpdatedByID  int64     `json:"updated_by_id"`
	CreatedAt    moment    `json:"created_at"`
	UpdatedAt    moment    `json:"updated_at"`
	System       bool      `json:"system"`
	Internal     *bool     `json:"internal"`
	Confidential bool      `json:"confidential"` // versions before 15.6
	Type         string    `json:"type"`
	Position     *position `json:"position"`
	LineCode     string    `json:"line_code"`
	Action       string    `json:"action"`
	URL          string    `json:"url"`
}

type position struct {
	HeadSHA string `json:"head_sha"`
}

// issue is the object_attributes of an issue, and the issue of a note.
type issue struct {
	IID          int     `json:"iid"`
	Title        string  `json:"title"`
	Description  string  `json:"description"`
	State        string  `json:"state"`
	Locked       bool    `json:"discussion_locked"`
	Confidential bool    `json:"confidential"`
	AuthorID     int64   `json:"author_id"`
	Labels       []label `json:"labels"`
	CreatedAt    moment  `json:"created_at"`
	UpdatedAt    moment  `json:"updated_at"`
	ClosedAt     moment  `json:"closed_at"`
	Action       string  `json:"action"`
	URL          string  `json:"url"`
}

// mergeRequest is the object_attributes of a merge request, and the merge
// request of a note or, in part, of a pipeline.
type mergeRequest struct {
	IID             int      `json:"iid"`
	Title           string   `json:"title"`
	Description     string   `json:"description"`
	State           string   `json:"state"`
	Locked          bool     `json:"discussion_locked"`
	Draft           bool     `json:"draft"`
	WorkInProgress  bool     `json:"work_in_progress"` // the same, versions before 14
	AuthorID        int64    `json:"author_id"`
	Labels          []label  `json:"labels"`
	SourceBranch    string   `json:"source_branch"`
	TargetBranch    string   `json:"target_branch"`
	SourceProjectID int64    `json:"source_project_id"`
	TargetProjectID int64    `json:"target_project_id"`
	Source          *project `json:"source"`
	LastCommit      *commit  `json:"last_commit"`
	OldRev          string   `json:"oldrev"`
	CreatedAt       moment   `json:"created_at"`
	UpdatedAt       moment   `json:"updated_at"`
	ClosedAt        moment   `json:"closed_at"`
	Action          string   `json:"action"`
	URL             string   `json:"url"`
}

type commit struct {
	ID string `json:"id"`
}

// pipeline is the object_attributes of a pipeline.
type pipeline struct {
	ID         int64  `json:"id"`
	Ref        string `json:"ref"`
	Tag        bool   `json:"tag"`
	SHA        string `json:"sha"`
	Source     string `json:"source"`
	Status     string `json:"status"`
	FinishedAt moment `json:"finished_at"`
	URL        string `json:"url"`
}

// changes are what an update changed.
type changes struct {
	Description *struct {
		Previous string `json:"previous"`
		Current  string `json:"current"`
	} `json:"description"`
	Labels *struct {
		Previous []label `json:"previous"`
		Current  []label `json:"current"`
	} `json:"labels"`
	Assignees *struct {
		Previous []user `json:"previous"`
		Current  []user `json:"current"`
	} `json:"assignees"`
}

// word is a string where another object has something else under the name.
type word string

// UnmarshalJSON leaves what is no string empty.
func (w *word) UnmarshalJSON(b []byte) error {
	var s string
	if len(b) > 0 && b[0] == '"' {
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
	}
	*w = word(s)
	return nil
}

// moment is a time in one of the forms that versions and objects differ in.
type moment struct{ time.Time }

// momentForms are RFC 3339, and the two that Ruby prints.
func momentForms() []string {
	return []string{time.RFC3339, "2006-01-02 15:04:05 MST", "2006-01-02 15:04:05 -0700"}
}

// UnmarshalJSON leaves null zero.
func (m *moment) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	for _, form := range momentForms() {
		if t, err := time.Parse(form, text); err == nil {
			m.Time = t.UTC()
			return nil
		}
	}
	return fmt.Errorf("time %q is in no form that is known", text)
}

var (
	_ json.Unmarshaler = (*word)(nil)
	_ json.Unmarshaler = (*moment)(nil)
)
