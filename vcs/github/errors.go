package github

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gh "github.com/google/go-github/v60/github"

	"github.com/greenwright/greenwright/vcs"
)

// permissionsHeader is how GitHub names the rights that a call needs
// (docs.github.com/rest/using-the-rest-api/troubleshooting-the-rest-api).
const permissionsHeader = "X-Accepted-GitHub-Permissions"

// defaultPause is what GitHub asks for after a secondary limit without a
// Retry-After.
const defaultPause = time.Minute

// mapError wraps one of vcs's sentinels round an error of the SDKs.
func (f *Forge) mapError(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("github: %s: %w", doing, f.classify(err))
}

func (f *Forge) classify(err error) error {
	var (
		own     *vcs.RateLimitError
		primary *gh.RateLimitError
		abuse   *gh.AbuseRateLimitError
		status  *gh.ErrorResponse
		minting *ghinstallation.HTTPError
	)
	switch {
	case errors.As(err, &own), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.As(err, &primary):
		return &vcs.RateLimitError{RetryAt: primary.Rate.Reset.Time}
	case errors.As(err, &abuse):
		pause := defaultPause
		if abuse.RetryAfter != nil {
			pause = *abuse.RetryAfter
		}
		return &vcs.RateLimitError{RetryAt: f.now().Add(pause)}
	case errors.As(err, &status):
		return fmt.Errorf("%w: %w", sentinel(status.Response), err)
	case errors.As(err, &minting) && minting.Response != nil:
		return mintError(minting)
	}
	for _, s := range []error{vcs.ErrInvalid, vcs.ErrNotFound, vcs.ErrForbidden, vcs.ErrUnavailable, vcs.ErrConflict} {
		if errors.Is(err, s) {
			return err
		}
	}
	return fmt.Errorf("%w: %w", vcs.ErrUnavailable, err)
}

// mintError says why a token was refused, in GitHub's words: ghinstallation
// leaves them in the body.
func mintError(e *ghinstallation.HTTPError) error {
	defer e.Response.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(e.Response.Body, 1<<10)) // the words are an extra
	s := sentinel(e.Response)
	if e.Response.StatusCode == http.StatusUnprocessableEntity {
		s = fmt.Errorf("%w: the app lacks a permission or the repository", vcs.ErrForbidden)
	}
	return fmt.Errorf("%w: %w: %s", s, e, said)
}

// sentinel classifies by status.
func sentinel(r *http.Response) error {
	switch code := r.StatusCode; {
	case code == http.StatusUnauthorized:
		return fmt.Errorf("%w: the credential was refused", vcs.ErrForbidden)
	case code == http.StatusForbidden:
		if need := r.Header.Get(permissionsHeader); need != "" {
			return fmt.Errorf("%w: missing permission, want %s", vcs.ErrForbidden, need)
		}
		return vcs.ErrForbidden
	case code == http.StatusNotFound || code == http.StatusGone:
		return vcs.ErrNotFound
	case code == http.StatusConflict:
		return vcs.ErrConflict
	case code == http.StatusTooManyRequests || code >= http.StatusInternalServerError:
		return vcs.ErrUnavailable
	}
	return vcs.ErrInvalid
}

// hasStatus reports whether GitHub answered with the code.
func hasStatus(err error, code int) bool {
	var status *gh.ErrorResponse
	return errors.As(err, &status) && status.Response.StatusCode == code
}
