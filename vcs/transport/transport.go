package transport

import (
	"net"
	"net/http"
	"time"
)

// Config is what may be set; the zero value of a field is its default.
type Config struct {
	// MaxWait bounds how long one request waits for a rate limit; default
	// 90 s: GitHub asks for a minute after a secondary limit
	// (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
	MaxWait time.Duration
	// WriteSpacing is the time between two writes of one lane (see WithLane)
	// to one host. GitHub asks
	// for at least 1 s (docs.github.com/rest/using-the-rest-api/
	// best-practices-for-using-the-rest-api). 0 means no spacing.
	WriteSpacing time.Duration
	// AttemptTimeout bounds one attempt, reading the body included; default 60 s.
	AttemptTimeout time.Duration
	// MaxBody bounds a response in bytes; default 64 MB (a job's log is the
	// largest thing read).
	MaxBody int64
	// Retries is how often a failed idempotent request is repeated; default 3,
	// negative none.
	Retries int
	// CacheBytes bounds the memory of the conditional-request cache; default
	// 16 MB, negative none.
	CacheBytes int64
	// Observe is told of every attempt, if set. status is 0 when there was no
	// response.
	Observe func(method string, status int, d time.Duration)
}

const (
	defaultMaxWait        = 90 * time.Second
	defaultAttemptTimeout = 60 * time.Second
	defaultMaxBody        = 64 << 20
	defaultRetries        = 3
	defaultCacheBytes     = 16 << 20
)

func (c Config) withDefaults() Config {
	if c.MaxWait == 0 {
		c.MaxWait = defaultMaxWait
	}
	if c.AttemptTimeout == 0 {
		c.AttemptTimeout = defaultAttemptTimeout
	}
	if c.MaxBody == 0 {
		c.MaxBody = defaultMaxBody
	}
	if c.Retries == 0 {
		c.Retries = defaultRetries
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = defaultCacheBytes
	}
	return c
}

// New stacks the decorators on base; nil means [Base]. The result is safe for
// concurrent use, and to be shared: the queue and the limits are its own.
func New(base http.RoundTripper, cfg Config) http.RoundTripper {
	cfg = cfg.withDefaults()
	if base == nil {
		base = Base()
	}
	var rt http.RoundTripper = &attempt{next: base, timeout: cfg.AttemptTimeout, maxBody: cfg.MaxBody, observe: cfg.Observe}
	rt = &retry{next: rt, max: max(cfg.Retries, 0)}
	rt = &queue{next: rt, spacing: cfg.WriteSpacing}
	// Outside the queue: who waits for a limit does not hold up the others.
	rt = &limiter{next: rt, maxWait: cfg.MaxWait}
	if cfg.CacheBytes > 0 {
		rt = newCache(rt, cfg.CacheBytes)
	}
	return rt
}

// Base is a plain transport with every timeout set.
func Base() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           64,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  30 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// isRead reports whether the method has no effect (RFC 9110, 9.2.1).
func isRead(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// isIdempotent reports whether repeating is harmless (RFC 9110, 9.2.2).
func isIdempotent(method string) bool {
	return isRead(method) || method == http.MethodPut || method == http.MethodDelete
}

// replay is the request with a fresh body; false when the body cannot be had
// again.
func replay(r *http.Request) (*http.Request, bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, false
	}
	c := r.Clone(r.Context())
	c.Body = body
	return c, true
}
