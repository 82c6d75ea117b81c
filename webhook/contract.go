package webhook

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

var (
	// ErrUnauthorized is wrapped by a Parser when a signature or token is
	// missing, malformed or wrong. The handler answers it with 401.
	ErrUnauthorized = errors.New("signature missing or wrong")
	// ErrUnusable is wrapped, besides vcs.ErrInvalid, by Peek and Parse of a
	// forge that turns a hook off after a few answers that are no success: what
	// was verified and cannot be used is answered with 200, and its fault is
	// logged, instead of with 400 (rule G7).
	ErrUnusable = errors.New("delivery not usable")
)

// Delivery is one verified and parsed webhook request.
type Delivery struct {
	// ID is the forge's number for this request; a redelivery repeats it.
	ID vcs.DeliveryID
	// Event is the fact it reports, with ReceivedAt filled in.
	Event vcs.Event
	// Reason is what Triage said for letting it through.
	Reason string
}

// Sink takes what was verified and parsed. Both methods are called
// concurrently.
type Sink interface {
	// Triage is pure and calls nothing outside the process: whether anything
	// could react to the event, and why (not). The reason is a constant of
	// few words, used as a metric label.
	Triage(e vcs.Event) (interesting bool, reason string)
	// Accept claims the event's key and enqueues it, atomically and in one
	// round trip. duplicate means that the key was claimed before. An error
	// that wraps vcs.ErrUnavailable is answered with 503, any other with 500;
	// after an error nothing is claimed.
	Accept(ctx context.Context, d Delivery) (duplicate bool, err error)
}

// Envelope is what a request's headers say. What the body is verified with is
// one of Token and Signatures or both, as the forge has it.
type Envelope struct {
	// Name is the forge's name of the event, e.g. issue_comment.
	Name string
	ID   vcs.DeliveryID
	// Token is the secret itself, of a forge that sends it.
	Token vcs.Secret
	// Signatures are decoded MACs, of which one good one is enough.
	Signatures [][]byte
	// Signed stands before the body in what the MACs are of, and SentAt is the
	// time that it names.
	Signed string
	SentAt time.Time
}

// Grant is what the secret of a verified request is believed for.
type Grant interface {
	// Covers reports whether the request may speak of a repository. It is asked
	// with the zero RepoRef about an event that names none.
	Covers(repo vcs.RepoRef) bool
}

// Unbounded is the Grant of a secret that is believed for whatever the forge
// says.
type Unbounded struct{}

// Covers implements Grant.
func (Unbounded) Covers(vcs.RepoRef) bool { return true }

// Glance is what a cheap look at a verified body tells.
type Glance struct {
	// Action is the forge's own, e.g. created; empty when there is none.
	Action string
	// Sender is the id of the account that caused the event. It is 0 when
	// there is none, and for events whose sender did not write anything
	// itself: a check that failed on Greenwright's own push has Greenwright
	// as its sender and must not be dropped as its own doing.
	Sender int64
	// Repo is the repository that the event is about, as far as a Grant can be
	// bound to repositories; zero when that is for Parse to say.
	Repo vcs.RepoRef
	// Ignore is why the event needs no further decoding; empty to go on. It
	// is a constant of few words, used as a metric label.
	Ignore string
}

// Parser knows one forge's wire format. It is safe for concurrent use and
// keeps nothing of the bytes that it is given.
type Parser interface {
	// Open checks presence, shape and length of the headers. Its error wraps
	// ErrUnauthorized for the signature, vcs.ErrInvalid for the rest; the
	// signature is looked at first.
	Open(h http.Header) (Envelope, error)
	// Verify authenticates the raw body, in constant time, and says what the
	// request may speak of; its error wraps ErrUnauthorized. The handler holds
	// the Grant against the repository that Peek and Parse read.
	Verify(env Envelope, raw []byte) (Grant, error)
	// Peek looks at a verified body without decoding it whole; its error
	// wraps vcs.ErrInvalid.
	Peek(name string, body []byte) (Glance, error)
	// Parse decodes a verified body; its error wraps vcs.ErrInvalid.
	Parse(name string, id vcs.DeliveryID, body []byte) (vcs.Event, error)
}

// Observer is told of every request once, after it was answered. Outcome is
// one of the Outcome constants; reason is from a closed set of few words.
type Observer interface {
	Delivery(outcome, reason string, d time.Duration)
}

// The outcomes of a request.
const (
	OutcomeAccepted  = "accepted"
	OutcomeDuplicate = "duplicate"
	OutcomeIgnored   = "ignored"
	OutcomeRefused   = "refused" // 4xx
	OutcomeFailed    = "failed"  // 5xx
)
