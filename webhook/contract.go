package webhook

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// ErrUnauthorized is wrapped by a Parser when a signature is missing,
// malformed or wrong. The handler answers it with 401.
var ErrUnauthorized = errors.New("signature missing or wrong")

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

// Envelope is what a request's headers say.
type Envelope struct {
	// Name is the forge's name of the event, e.g. issue_comment.
	Name string
	ID   vcs.DeliveryID
	// Signature is the decoded MAC or token the body is verified with.
	Signature []byte
}

// Glance is what a cheap look at a verified body tells.
type Glance struct {
	// Action is the forge's own, e.g. created; empty when there is none.
	Action string
	// Sender is the id of the account that caused the event. It is 0 when
	// there is none, and for events whose sender did not write anything
	// itself: a check that failed on Greenwright's own push has Greenwright
	// as its sender and must not be dropped as its own doing.
	Sender int64
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
	// Verify authenticates the raw body, in constant time; its error wraps
	// ErrUnauthorized.
	Verify(env Envelope, raw []byte) error
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
