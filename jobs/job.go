package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// JobID identifies a job; the same trigger gives the same one.
type JobID string

// RunID identifies one attempt at a job.
type RunID string

// Kind is what a job is to do.
type Kind string

// The kinds of job.
const (
	KindFix            Kind = "fix"             // change code as asked
	KindAsk            Kind = "ask"             // answer a question, change nothing
	KindCheckRepair    Kind = "check_repair"    // turn a red check green
	KindReviewFollowup Kind = "review_followup" // act on a submitted review
)

// Changes reports whether a job of this kind is meant to end with a change.
func (k Kind) Changes() bool { return k != KindAsk }

// CoalesceWindow is within which two triggers on one thread are one job (rule T9).
const CoalesceWindow = 5 * time.Second

// Job is durable queued work on one thread.
type Job struct {
	ID      JobID      `json:"id"`
	Kind    Kind       `json:"kind"`
	Thread  vcs.Thread `json:"thread"`
	Command Command    `json:"command"`
	// Requester asked for it, or caused the event that did.
	Requester vcs.Actor `json:"requester"`
	// Permission is what the requester had when the job was accepted.
	Permission vcs.Permission `json:"permission"`
	// Comment is what the request stood in; zero ID for a thread's body.
	Comment vcs.CommentRef `json:"comment"`
	// Internal is set when it was asked for where only members of the project
	// read: it is answered there too, and nothing of it goes elsewhere.
	Internal bool       `json:"internal,omitempty"`
	Check    *vcs.Check `json:"check,omitempty"`
	Review   int64      `json:"review,omitempty"` // the submitted review's id
	// Partial is set when the review arrives remark by remark: Review is the
	// first one's, and what follows it within CoalesceWindow is part of it.
	Partial bool `json:"partial,omitempty"`
	// Opening is the TextHash of the thread's title and opening text at the
	// time of the request; empty when the event did not tell them.
	Opening string `json:"opening,omitempty"`
	// Also is what was asked for in the same moment by a command, beside a review.
	Also string `json:"also,omitempty"`
	// Continues is the run whose files and findings this job goes on from.
	Continues RunID `json:"continues,omitempty"`
	// EventKey is the dedupe key of the event behind the job.
	EventKey string `json:"event_key"`
	// CreatedAt freezes the context: what others write or edit later does
	// not enter (rule A7).
	CreatedAt time.Time `json:"created_at"`
}

// uploads is the address of an uploaded file in Markdown, which GitLab's events
// have whole and its API does not.
var uploads = regexp.MustCompile(`\]\((?:https?://[^)\s]*?)?/uploads/`)

// TextHash names a thread's title and opening text, so that a later edit shows.
func TextHash(title, body string) string {
	body = uploads.ReplaceAllString(strings.ReplaceAll(body, "\r\n", "\n"), "](/uploads/")
	sum := sha256.Sum256([]byte(title + "\x00" + body))
	return hex.EncodeToString(sum[:])
}
