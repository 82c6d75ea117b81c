package limit

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Transport reads the rate headers of every answer, so that the pace adapts
// before a 429. base is nil for [http.DefaultTransport].
func (l *Limits) Transport(key string, base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{base: base, gate: l.gate(key), now: l.cfg.Now}
}

type transport struct {
	base http.RoundTripper
	gate *gate
	now  func() time.Time
}

// RoundTrip passes the request on.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(r)
	if err != nil {
		return res, err
	}
	now := t.now()
	if d := headerPause(res.Header, now); d > 0 {
		t.gate.hold(now.Add(d))
	}
	return res, nil
}

// hold is pause for callers outside of the gate.
func (g *gate) hold(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pause(until)
}

// How long to pause when nothing is left. Both vendors' reset is when the whole
// limit is free again, which is far longer than until there is room for one
// request.
const (
	// tokenShare is the part of a token limit that a request of a long run may
	// need, and so what is waited for; below it there is too little left.
	tokenShare = 10
	// maxHeaderPause keeps a wrong clock from stopping the work.
	maxHeaderPause = 60 * time.Second
)

// headerPause is how long the headers of an answer ask to wait. Anthropic:
// https://docs.anthropic.com/en/api/rate-limits; OpenAI:
// https://platform.openai.com/docs/guides/rate-limits
func headerPause(h http.Header, now time.Time) time.Duration {
	var longest time.Duration
	for _, kind := range []string{"requests", "tokens", "input-tokens", "output-tokens"} {
		limit, left, reset, ok := readLimit(h, kind, now)
		if !ok || limit <= 0 {
			continue
		}
		var d time.Duration
		switch {
		case kind == "requests" && left == 0:
			d = reset / time.Duration(limit)
		case kind != "requests" && left < limit/tokenShare:
			d = reset / tokenShare
		}
		longest = max(longest, d)
	}
	return min(longest, maxHeaderPause)
}

// readLimit reads one limit in either vendor's spelling.
func readLimit(h http.Header, kind string, now time.Time) (limit, left int64, reset time.Duration, ok bool) {
	read := func(name string) (int64, bool) {
		v, err := strconv.ParseInt(strings.TrimSpace(h.Get(name)), 10, 64)
		return v, err == nil && v >= 0
	}
	limit, okLimit := read("anthropic-ratelimit-" + kind + "-limit")
	left, okLeft := read("anthropic-ratelimit-" + kind + "-remaining")
	if at, err := time.Parse(time.RFC3339, h.Get("anthropic-ratelimit-"+kind+"-reset")); err == nil && okLimit && okLeft {
		return limit, left, max(at.Sub(now), 0), true
	}
	limit, okLimit = read("x-ratelimit-limit-" + kind)
	left, okLeft = read("x-ratelimit-remaining-" + kind)
	reset, err := time.ParseDuration(h.Get("x-ratelimit-reset-" + kind))
	return limit, left, max(reset, 0), err == nil && okLimit && okLeft
}
