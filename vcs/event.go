package vcs

import (
	"strconv"
	"strings"
	"time"
)

// DeliveryID identifies one webhook request, as the forge numbers it.
type DeliveryID string

// EventKind is the forge-neutral kind of an event.
type EventKind string

// The kinds of event that anything reacts to.
const (
	EventComment     EventKind = "comment"      // a comment was created or edited
	EventOpened      EventKind = "opened"       // an issue or pull request was opened
	EventReview      EventKind = "review"       // a review was submitted
	EventCheck       EventKind = "check"        // a check completed
	EventPush        EventKind = "push"         // a branch moved
	EventClosed      EventKind = "closed"       // an issue or pull request was closed
	EventLabeled     EventKind = "labeled"      // a label was added
	EventAssigned    EventKind = "assigned"     // somebody was assigned
	EventUnsupported EventKind = "unsupported"  // understood, and nothing reacts to it
	EventPing        EventKind = "ping"         // the forge says hello
	EventInstall     EventKind = "installation" // the app was installed or changed
)

// Event is the forge-neutral fact parsed from a delivery. Which of the
// pointers are set depends on Kind: EventComment sets Comment, EventReview
// sets Review, EventCheck sets Check; Issue or PullRequest describe the
// thread as far as the payload does. All text is untrusted.
type Event struct {
	Forge      ForgeName  `json:"forge"`
	Name       string     `json:"name"`   // the forge's own name, e.g. issue_comment
	Action     string     `json:"action"` // the forge's own, e.g. created
	Kind       EventKind  `json:"kind"`
	DeliveryID DeliveryID `json:"delivery_id"`
	ReceivedAt time.Time  `json:"received_at"`

	Repo   Repo   `json:"repo"`
	Actor  Actor  `json:"actor"` // who caused it
	Thread Thread `json:"thread"`

	Issue       *Issue       `json:"issue,omitempty"`
	PullRequest *PullRequest `json:"pull_request,omitempty"`
	Comment     *Comment     `json:"comment,omitempty"`
	// PreviousBody is the text before an edit, when the forge says.
	PreviousBody string  `json:"previous_body,omitempty"`
	Review       *Review `json:"review,omitempty"`
	Check        *Check  `json:"check,omitempty"`
	Label        string  `json:"label,omitempty"`
	Assignee     *Actor  `json:"assignee,omitempty"`

	// Object identifies what the event is about and Version its state: the
	// updated-at time, or head SHA and conclusion. Together with forge,
	// repository, kind and action they make the Key.
	Object  string `json:"object"`
	Version string `json:"version"`
}

// Edited reports an event about a text that was there before.
func (e Event) Edited() bool { return e.Action == "edited" || e.Action == "updated" }

// Internal reports an event in a comment that only members of the project
// read: so do they alone what answers it.
func (e Event) Internal() bool { return e.Comment != nil && e.Comment.Internal }

// Hidden reports an event that not everybody may read who reads the repository.
func (e Event) Hidden() bool {
	return !e.Repo.Private && (e.Internal() || e.Issue != nil && e.Issue.Confidential)
}

// Key is the same for the same fact however often and by however many hooks
// it is delivered (rule L5): forge, repository, kind, object, action, version.
func (e Event) Key() string {
	return strings.Join([]string{
		string(e.Forge), strconv.FormatInt(e.Repo.ID, 10), string(e.Kind), e.Object, e.Action, e.Version,
	}, "|")
}
