package model

import (
	"errors"
	"fmt"
	"time"
)

// Class says what may be done about an [*Error].
type Class string

// The closed set of classes.
const (
	// ClassRetryable: the same request may be sent again (429 for rate, 408,
	// 409, 5xx, 529, resets, cut or silent streams).
	ClassRetryable Class = "retryable"
	// ClassOverflow: the request does not fit the context window; send less.
	ClassOverflow Class = "overflow"
	// ClassFatal: sending it again cannot help (bad request, key, quota).
	ClassFatal Class = "fatal"
	// ClassRefused: the vendor's policy declined to answer.
	ClassRefused Class = "refused"
)

// The sentinels that errors.Is finds in an [*Error] of the class.
var (
	ErrRetryable = errors.New("model: retryable")
	ErrOverflow  = errors.New("model: context window exceeded")
	ErrFatal     = errors.New("model: fatal")
	ErrRefused   = errors.New("model: refused")
)

// Error is a failed request to a model.
type Error struct {
	Class Class
	// Status is the HTTP status, zero when there was none.
	Status int
	// RetryAfter is the server's own wish, zero when it named none.
	RetryAfter time.Duration
	// Limit and Asked are the window and the size of the request in tokens, as
	// an overflow told them; zero where it did not.
	Limit, Asked int
	// Quota says that the account has nothing left to spend: waiting does not
	// help, another vendor may.
	Quota bool
	// Message is the vendor's text; untrusted, holds no key.
	Message string
	// Err is the cause, may be nil.
	Err error
}

// Error names class, status and the vendor's message.
func (e *Error) Error() string {
	s := "model: " + string(e.Class)
	if e.Status != 0 {
		s += fmt.Sprintf(" (status %d)", e.Status)
	}
	switch {
	case e.Message != "":
		s += ": " + e.Message
	case e.Err != nil:
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches the sentinel of the error's class.
func (e *Error) Is(target error) bool {
	switch e.Class {
	case ClassRetryable:
		return target == ErrRetryable
	case ClassOverflow:
		return target == ErrOverflow
	case ClassRefused:
		return target == ErrRefused
	default:
		return target == ErrFatal
	}
}
