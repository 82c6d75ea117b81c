package transport

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/greenwright/greenwright/vcs"
)

const (
	firstRetry = 500 * time.Millisecond
	lastRetry  = 10 * time.Second
	// drainBytes is how much of an unwanted body is read so that the
	// connection can be used again.
	drainBytes = 64 << 10
)

// retry repeats idempotent requests after a network error or a 5xx.
type retry struct {
	next http.RoundTripper
	max  int
}

func (t *retry) RoundTrip(r *http.Request) (*http.Response, error) {
	wait := backoff.NewExponentialBackOff() // jitter of one half either way
	wait.InitialInterval, wait.MaxInterval = firstRetry, lastRetry
	for n := 0; ; n++ {
		resp, err := t.next.RoundTrip(r)
		if n == t.max || !isIdempotent(r.Method) || !transient(resp, err) {
			return resp, err
		}
		next, ok := replay(r)
		if !ok {
			return resp, err
		}
		discard(resp)
		if err := sleep(r.Context(), wait.NextBackOff()); err != nil {
			return nil, err
		}
		r = next
	}
}

// transient reports whether another attempt may end better. A 503 with
// Retry-After is the limiter's business.
func transient(resp *http.Response, err error) bool {
	if err != nil {
		return errors.Is(err, vcs.ErrUnavailable)
	}
	switch resp.StatusCode {
	case http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	case http.StatusServiceUnavailable:
		return resp.Header.Get("Retry-After") == ""
	}
	return false
}

// discard lets go of a response.
func discard(resp *http.Response) {
	if resp == nil {
		return
	}
	_, _ = io.CopyN(io.Discard, resp.Body, drainBytes) // best effort
	_ = resp.Body.Close()
}
