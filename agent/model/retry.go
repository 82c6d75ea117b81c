package model

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

// The limits of RUNTIME 3.6; each may be replaced in [RetryConfig].
const (
	// DefaultTries is how often one request is sent.
	DefaultTries = 8
	// DefaultRetryTotal is how long one request may take with all its tries.
	DefaultRetryTotal = 10 * time.Minute
	// DefaultRetryBase is the first delay; each further one doubles.
	DefaultRetryBase = time.Second
	// DefaultRetryCap is the longest delay that is waited for here. A server
	// that asks for more gets its error returned, with RetryAfter set, so that
	// the caller can requeue the job instead of holding a worker.
	DefaultRetryCap = 60 * time.Second
)

// RetryConfig sets up [WithRetry]; zero fields take the defaults.
type RetryConfig struct {
	Tries       int
	Total       time.Duration
	Base, Cap   time.Duration
	Now         func() time.Time
	Wait        func(context.Context, time.Duration) error // sleeps, honours ctx
	Random      func() float64                             // in [0,1), for the jitter
	BeforeRetry func(try int, delay time.Duration, cause error)
	// GiveUp says of a retryable failure that it is not waited for here, such
	// as when another model can be asked at once; nil waits for all.
	GiveUp func(error) bool
}

// Retrying is a [Model] that sends retryable failures again.
type Retrying struct {
	inner Model
	cfg   RetryConfig
}

// WithRetry decorates m. Only errors of [ClassRetryable] are tried again, with
// exponential delay and full jitter above the server's own Retry-After.
func WithRetry(m Model, cfg RetryConfig) *Retrying {
	cfg.Tries = orDefault(cfg.Tries, DefaultTries)
	cfg.Total = orDefault(cfg.Total, DefaultRetryTotal)
	cfg.Base = orDefault(cfg.Base, DefaultRetryBase)
	cfg.Cap = orDefault(cfg.Cap, DefaultRetryCap)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Wait == nil {
		cfg.Wait = wait
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	return &Retrying{inner: m, cfg: cfg}
}

func orDefault[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// Name is the name of the decorated model.
func (r *Retrying) Name() string { return r.inner.Name() }

// Complete sends req until it succeeds, fails for good, or the limits end it;
// then the last error is returned, still of its class.
func (r *Retrying) Complete(ctx context.Context, req Request) (Response, error) {
	deadline := r.cfg.Now().Add(r.cfg.Total)
	for try := 1; ; try++ {
		res, err := r.inner.Complete(ctx, req)
		if err == nil || !errors.Is(err, ErrRetryable) || ctx.Err() != nil {
			return res, err
		}
		if r.cfg.GiveUp != nil && r.cfg.GiveUp(err) {
			return Response{}, err
		}
		delay, again := r.next(try, deadline, err)
		if !again {
			return Response{}, fmt.Errorf("asking %s, try %d: %w", r.Name(), try, err)
		}
		if r.cfg.BeforeRetry != nil {
			r.cfg.BeforeRetry(try, delay, err)
		}
		if err := r.cfg.Wait(ctx, delay); err != nil {
			return Response{}, err
		}
	}
}

// next decides whether there is another try and how long to wait for it.
func (r *Retrying) next(try int, deadline time.Time, err error) (time.Duration, bool) {
	var floor time.Duration
	if e, ok := errors.AsType[*Error](err); ok {
		floor = e.RetryAfter
	}
	if try >= r.cfg.Tries || floor > r.cfg.Cap {
		return 0, false
	}
	delay := floor + r.jitter(try)
	return delay, !r.cfg.Now().Add(delay).After(deadline)
}

// jitter is a random part of the exponential delay, at least a tenth of it so
// that a server without Retry-After is never hammered.
func (r *Retrying) jitter(try int) time.Duration {
	exp := r.cfg.Cap
	if shift := try - 1; shift < 16 {
		exp = min(r.cfg.Base<<shift, r.cfg.Cap)
	}
	return exp/10 + time.Duration(r.cfg.Random()*float64(exp-exp/10))
}
