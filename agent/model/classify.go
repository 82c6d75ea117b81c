package model

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// overflowMarks returns the phrases by which servers say that a request does
// not fit; collected from the vendors' error texts (Anthropic, Bedrock,
// OpenAI, Gemini, xAI, Groq, OpenRouter and vLLM, llama.cpp, LM Studio).
func overflowMarks() []string {
	return []string{
		"prompt is too long", "input is too long", "exceeds the context window",
		"context_length_exceeded", "context window exceeded", "exceeds the maximum number of tokens",
		"maximum prompt length is", "reduce the length of the messages",
		"maximum context length is", "exceeds the available context size",
		"greater than the context length", "exceed context limit",
	}
}

// quotaMarks returns the phrases by which a 429 says that waiting will not help.
func quotaMarks() []string {
	return []string{"insufficient_quota", "exceeded your current quota", "billing", "credit balance is too low"}
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
// Overflow is looked for only in 400, 413 and 422: a 429 is never overflow.
func FromStatus(status int, message string, retryAfter time.Duration, cause error) *Error {
	e := &Error{Class: ClassFatal, Status: status, Message: message, RetryAfter: retryAfter, Err: cause}
	switch {
	case status == http.StatusTooManyRequests:
		if !containsAny(message, quotaMarks()) {
			e.Class = ClassRetryable
		}
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500:
		e.Class = ClassRetryable
	case status == http.StatusRequestEntityTooLarge:
		e.Class = ClassOverflow
	case status == http.StatusBadRequest, status == http.StatusUnprocessableEntity:
		if containsAny(message, overflowMarks()) {
			e.Class = ClassOverflow
		}
	}
	return e
}

// FromTransport classifies a failure without an HTTP status: everything below
// HTTP is worth another try, a stream that went silent too, except that the
// caller's own cancellation stays what it is. ctx is the one from
// [Patience.Watch].
func FromTransport(ctx context.Context, cause error) error {
	switch why := context.Cause(ctx); {
	case errors.Is(why, errSilent):
		return &Error{Class: ClassRetryable, Message: errSilent.Error(), Err: cause}
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
