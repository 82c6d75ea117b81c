package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Class decides what happens after an error; jobs/queue alone turns it into
// what the queue does.
type Class string

// The classes. An error without one is Permanent.
const (
	Retryable      Class = "retryable" // try again later, as it was
	Permanent      Class = "permanent" // trying again would end the same
	RefusedClass   Class = "refused"   // not allowed
	CanceledClass  Class = "canceled"  // somebody stopped it
	InterruptClass Class = "interrupt" // this worker stops; another goes on at once
)

// Sentinels of the contracts in this tree.
var (
	// ErrUnavailable: Redis does not answer.
	ErrUnavailable = errors.New("queue unavailable")
	// ErrStopped: a person stopped the job.
	ErrStopped = errors.New("stopped on request")
	// ErrLeaseLost: another worker owns the job now.
	ErrLeaseLost = errors.New("lease lost")
	// ErrBusy: a ceiling on live runs is reached; others may pass.
	ErrBusy = errors.New("waits for its turn")
	// ErrShutdown: this worker is shutting down.
	ErrShutdown = errors.New("worker is shutting down")
)

// GapError is a journal that has lost its end: a Redis that does not sync every
// write came back without it, and with the lease.
type GapError struct{ Have uint64 } // the last record that is there

func (e *GapError) Error() string { return fmt.Sprintf("the journal ends at record %d", e.Have) }

// ClassError gives an error a class and, for Retryable, the earliest time.
type ClassError struct {
	Class   Class
	RetryAt time.Time // zero: the queue decides
	Err     error
}

func (e *ClassError) Error() string { return e.Err.Error() }

// Unwrap gives the error that was classified.
func (e *ClassError) Unwrap() error { return e.Err }

// Classify wraps err with a class; nil stays nil.
func Classify(c Class, err error) error {
	if err == nil {
		return nil
	}
	return &ClassError{Class: c, Err: err}
}

// ClassOf reads the class of an error: the outermost ClassError decides, then
// the sentinels, then Permanent. The class of nil is empty.
func ClassOf(err error) Class {
	var ce *ClassError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &ce):
		return ce.Class
	case errors.Is(err, ErrStopped):
		return CanceledClass
	case errors.Is(err, ErrShutdown):
		return InterruptClass
	case errors.Is(err, ErrUnavailable), errors.Is(err, ErrLeaseLost), errors.Is(err, ErrBusy), errors.Is(err, context.DeadlineExceeded):
		return Retryable
	}
	return Permanent
}
