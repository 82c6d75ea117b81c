package transport

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

const (
	// secondaryWait is what GitHub asks for after a secondary limit without
	// a Retry-After header.
	secondaryWait = time.Minute
	// limitTries bounds how often one request meets a limit before it gives up.
	limitTries = 3
	// peekBytes of a 403 are read to tell a limit from a missing right.
	peekBytes = 4 << 10
	// maxKeys bounds the remembered credentials: installation tokens change hourly.
	maxKeys = 4096
)

// limiter waits out rate limits, per host and credential.
type limiter struct {
	next    http.RoundTripper
	maxWait time.Duration

	mu    sync.Mutex
	until map[key]time.Time // guarded by mu
}

// key is a host and a credential, hashed.
type key [sha256.Size]byte

func keyOf(parts ...string) key {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	var k key
	h.Sum(k[:0])
	return k
}

func (l *limiter) RoundTrip(r *http.Request) (*http.Response, error) {
	k := keyOf(r.URL.Host, r.Header.Get("Authorization"))
	var waited time.Duration
	for try := 1; ; try++ {
		d := l.left(k)
		if waited += d; waited > l.maxWait {
			closeBody(r)
			return nil, &vcs.RateLimitError{RetryAt: time.Now().Add(d)}
		}
		if err := sleep(r.Context(), d); err != nil {
			closeBody(r)
			return nil, err
		}
		resp, err := l.next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		pause, limited := verdict(resp, time.Now())
		l.note(k, pause)
		if !limited {
			return resp, nil
		}
		// A limited request was not carried out: even a write may be repeated.
		next, ok := replay(r)
		discard(resp)
		if !ok || try == limitTries {
			return nil, &vcs.RateLimitError{RetryAt: time.Now().Add(pause)}
		}
		r = next
	}
}

func (l *limiter) left(k key) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(time.Until(l.until[k]), 0)
}

func (l *limiter) note(k key, pause time.Duration) {
	if pause <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.until == nil || len(l.until) >= maxKeys {
		l.until = map[key]time.Time{}
	}
	if at := now.Add(pause); at.After(l.until[k]) {
		l.until[k] = at
	}
}

// verdict tells how long to pause before the next request, and whether this
// one was turned away.
func verdict(resp *http.Response, now time.Time) (pause time.Duration, limited bool) {
	h := resp.Header
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		limited = true
	case http.StatusForbidden: // only GitHub limits so; elsewhere a right is missing
		limited = h.Get("X-RateLimit-Remaining") == "0" || h.Get("Retry-After") != "" || secondary(resp)
	case http.StatusServiceUnavailable:
		limited = h.Get("Retry-After") != ""
	}
	if d, ok := retryAfter(h.Get("Retry-After"), now); ok && limited {
		return d, true
	}
	if exhausted(h) {
		if d, ok := reset(h, now); ok {
			return d, limited
		}
	}
	if limited {
		return secondaryWait, true
	}
	return 0, false
}

// exhausted reports whether this answer was the last before the limit's reset.
// GitHub's headers have an X, GitLab's none
// (docs.gitlab.com/administration/settings/user_and_ip_rate_limits, "Response
// headers").
func exhausted(h http.Header) bool {
	return h.Get("X-RateLimit-Remaining") == "0" || h.Get("RateLimit-Remaining") == "0"
}

// reset reads when a limit ends: a Unix time, or GitLab's date.
func reset(h http.Header, now time.Time) (time.Duration, bool) {
	for _, name := range []string{"X-RateLimit-Reset", "RateLimit-Reset"} {
		if s, err := strconv.ParseInt(h.Get(name), 10, 64); err == nil {
			return max(time.Unix(s, 0).Sub(now), 0), true
		}
	}
	if t, err := http.ParseTime(h.Get("RateLimit-ResetTime")); err == nil {
		return max(t.Sub(now), 0), true
	}
	return 0, false
}

// retryAfter reads seconds or a date (RFC 9110, 10.2.3).
func retryAfter(v string, now time.Time) (time.Duration, bool) {
	if s, err := strconv.ParseInt(v, 10, 32); err == nil && s >= 0 {
		return time.Duration(s) * time.Second, true
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(t.Sub(now), 0), true
	}
	return 0, false
}

// secondary looks for GitHub's words in a 403's body, and puts the body back.
func secondary(resp *http.Response) bool {
	head, err := io.ReadAll(io.LimitReader(resp.Body, peekBytes))
	if err != nil {
		return false
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
	return bytes.Contains(head, []byte("secondary rate limit")) || bytes.Contains(head, []byte("abuse detection"))
}

// closeBody is what a RoundTripper owes a request that it does not send.
func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
