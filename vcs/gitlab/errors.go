package gitlab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	gl "github.com/xanzy/go-gitlab"

	"github.com/greenwright/greenwright/vcs"
)

// defaultPause is waited after a limit whose answer does not say how long.
const defaultPause = time.Minute

// mapError wraps one of vcs's sentinels round an error of the SDK.
func (f *Forge) mapError(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("gitlab: %s: %w", doing, f.classify(err, ""))
}

// mapRefusal is mapError for what needs a role: a refusal names it.
func (f *Forge) mapRefusal(doing string, need Role, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("gitlab: %s: %w", doing, f.classify(err, need.String()))
}

func (f *Forge) classify(err error, need string) error {
	var (
		limit  *vcs.RateLimitError
		status *gl.ErrorResponse
	)
	for _, s := range []error{vcs.ErrInvalid, vcs.ErrNotFound, vcs.ErrForbidden, vcs.ErrUnavailable, vcs.ErrConflict, vcs.ErrUnsupported} {
		if errors.Is(err, s) {
			return err
		}
	}
	switch {
	case errors.As(err, &limit), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, gl.ErrNotFound):
		return fmt.Errorf("%w: not there, or not visible to the token", vcs.ErrNotFound)
	case errors.As(err, &status) && status.Response.StatusCode == http.StatusTooManyRequests:
		return &vcs.RateLimitError{RetryAt: f.retryAt(status.Response.Header)}
	case errors.As(err, &status):
		return fmt.Errorf("%w: %w", sentinel(status, need), err)
	}
	return fmt.Errorf("%w: %w", vcs.ErrUnavailable, err)
}

// sentinel classifies by status.
func sentinel(e *gl.ErrorResponse, need string) error {
	switch code := e.Response.StatusCode; {
	case code == http.StatusUnauthorized:
		return fmt.Errorf("%w: the token was refused: it is wrong, expired or revoked", vcs.ErrForbidden)
	case code == http.StatusForbidden:
		return refusal(e.Body, need)
	case code == http.StatusNotFound || code == http.StatusGone:
		return vcs.ErrNotFound
	case code == http.StatusConflict || code == http.StatusPreconditionFailed || code == http.StatusMethodNotAllowed:
		return vcs.ErrConflict
	case code >= http.StatusInternalServerError || code < http.StatusBadRequest:
		return vcs.ErrUnavailable
	}
	return vcs.ErrInvalid
}

// refusal names the missing scope, which GitLab tells (RFC 6750, 3.1), or the
// role that the call needs, which it does not.
func refusal(body []byte, need string) error {
	var said struct {
		Error string `json:"error"`
		Scope string `json:"scope"`
	}
	if json.Unmarshal(body, &said) == nil && said.Error == "insufficient_scope" {
		if said.Scope == "" {
			said.Scope = "api"
		}
		return fmt.Errorf("%w: the token lacks a scope, want one of: %s", vcs.ErrForbidden, said.Scope)
	}
	if need != "" {
		return fmt.Errorf("%w: the token's account needs at least the role %s", vcs.ErrForbidden, need)
	}
	return vcs.ErrForbidden
}

// retryAt reads when a limit ends.
func (f *Forge) retryAt(h http.Header) time.Time {
	if s, err := strconv.ParseInt(h.Get("Retry-After"), 10, 32); err == nil && s >= 0 {
		return f.now().Add(time.Duration(s) * time.Second)
	}
	if s, err := strconv.ParseInt(h.Get("RateLimit-Reset"), 10, 64); err == nil && s > 0 {
		return time.Unix(s, 0)
	}
	return f.now().Add(defaultPause)
}

// isNotFound is GitLab's answer for what is not there or not visible.
func isNotFound(err error) bool {
	return errors.Is(err, gl.ErrNotFound) || hasStatus(err, http.StatusNotFound)
}

// hasStatus reports whether GitLab answered with one of the codes.
func hasStatus(err error, codes ...int) bool {
	var status *gl.ErrorResponse
	if !errors.As(err, &status) {
		return false
	}
	for _, code := range codes {
		if status.Response.StatusCode == code {
			return true
		}
	}
	return false
}
