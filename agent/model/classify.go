package model

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// quotaMarks returns the phrases by which a 429 says that waiting will not help.
func quotaMarks() []string {
	return []string{"insufficient_quota", "exceeded your current quota", "billing",
		"credit balance is too low", "insufficient credits", "insufficient balance", "payment required"}
}

func containsAny(s string, marks []string) bool {
	s = strings.ToLower(s)
	for _, m := range marks {
		if strings.Contains(s, m) {
			return true
		}
	}
	return false
}

// FromStatus classifies an HTTP failure by its status and the vendor's text.
// Overflow is looked for only in 400, 413 and 422 (a 429 is never overflow)
// and in 500, which Ollama and LM Studio answer with. A 400 or 413 without any
// text is overflow too: Cerebras answers so. Billing is fatal whatever the
// status is.
func FromStatus(status int, message string, retryAfter time.Duration, cause error) *Error {
	e := &Error{Class: ClassFatal, Status: status, Message: message, RetryAfter: retryAfter, Err: cause}
	over, asked, limit := Overflow(message)
	switch {
	case containsAny(message, quotaMarks()), status == http.StatusPaymentRequired:
		e.Quota = true
	case status == http.StatusTooManyRequests, status == http.StatusRequestTimeout, status == http.StatusConflict:
		e.Class = ClassRetryable
	case status == http.StatusInternalServerError && over:
		e.Class = ClassOverflow
	case status >= http.StatusInternalServerError:
		e.Class = ClassRetryable
	case status == http.StatusRequestEntityTooLarge:
		e.Class = ClassOverflow
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		if over || status == http.StatusBadRequest && message == "" {
			e.Class = ClassOverflow
		}
	}
	if e.Class == ClassOverflow {
		e.Asked, e.Limit = asked, limit
	}
	return e
}

// FromTransport classifies a failure without an HTTP status: everything below
// HTTP is worth another try, a stream that went silent too, except that the
// caller's own cancellation stays what it is. ctx is the one from
// [Patience.Watch].
func FromTransport(ctx context.Context, cause error) error {
	switch why := context.Cause(ctx); {
	case errors.Is(why, errSilent), errors.Is(why, errLong):
		return &Error{Class: ClassRetryable, Message: why.Error(), Err: cause}
	case why != nil:
		return why
	}
	var known *Error
	if errors.As(cause, &known) {
		return cause
	}
	return &Error{Class: ClassRetryable, Err: cause}
}

// ErrCutStream is the cause of a reply whose stream ended before it was whole.
var ErrCutStream = errors.New("the stream ended before the reply was whole")

// RetryAfter reads how long a server asks to wait: retry-after-ms in
// milliseconds, else Retry-After in seconds or as a date (RFC 9110, 10.2.3).
// Zero means that it did not say.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("retry-after-ms"), 64); err == nil && ms > 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}
