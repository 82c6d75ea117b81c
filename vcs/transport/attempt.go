package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// attempt bounds one attempt in time and its response in size.
type attempt struct {
	next    http.RoundTripper
	timeout time.Duration
	maxBody int64
	observe func(method string, status int, d time.Duration)
}

func (a *attempt) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), a.timeout)
	start := time.Now()
	resp, err := a.next.RoundTrip(r.WithContext(ctx))
	if a.observe != nil {
		status := 0
		if resp != nil {
			status = resp.StatusCode
		}
		a.observe(r.Method, status, time.Since(start))
	}
	if err != nil {
		cancel()
		return nil, unavailable(r, err)
	}
	resp.Body = &capped{body: resp.Body, left: a.maxBody, cancel: cancel}
	return resp, nil
}

// unavailable marks a failed exchange as vcs.ErrUnavailable, unless the caller
// gave up.
func unavailable(r *http.Request, err error) error {
	if r.Context().Err() != nil {
		return fmt.Errorf("%s %s: %w", r.Method, r.URL.Host, r.Context().Err())
	}
	return fmt.Errorf("%s %s: %w: %w", r.Method, r.URL.Host, vcs.ErrUnavailable, err)
}

// ErrTooLarge ends the reading of a response over Config.MaxBody; what was read
// before it is the response's beginning.
var ErrTooLarge = errors.New("response larger than the limit")

// capped ends a body that is too large with an error, and the attempt's
// context with the body.
type capped struct {
	body   io.ReadCloser
	left   int64
	cancel context.CancelFunc
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left < 0 {
		return 0, ErrTooLarge
	}
	if int64(len(p)) > c.left+1 {
		p = p[:c.left+1]
	}
	n, err := c.body.Read(p)
	if c.left -= int64(n); c.left < 0 {
		return n - 1, ErrTooLarge
	}
	return n, err
}

func (c *capped) Close() error {
	err := c.body.Close()
	c.cancel()
	return err
}
