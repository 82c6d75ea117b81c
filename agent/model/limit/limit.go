// Package limit is what all runs of a process know together of a model's
// service: how fast it may be asked, and whether it is worth asking at all.
//
// It sits between a driver and [model.WithRetry] under agent/model: wire makes
// one [Limits] and wraps every driver, by key and model. A bucket paces the
// requests once the service has answered 429 or said in its headers that
// nothing is left; a breaker keeps ten runs from hammering a service that is
// down: after some failures nobody asks, then one request tries.
//
// Invariants: a service that never complained is never slowed down; no wait is
// longer than [Config.MaxWait]: what would be is a retryable [*model.Error]
// whose RetryAfter says when; a request that was canceled says nothing of the
// service. gate.go decides, purely; this file waits; headers.go reads.
package limit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/greenwright/greenwright/agent/model"
)

// The defaults of [Config].
const (
	// DefaultFailures within DefaultWindow open the breaker: fewer are what a
	// busy service answers on an ordinary day.
	DefaultFailures = 5
	DefaultWindow   = time.Minute
	// DefaultOpen is how long nobody asks, before one request tries; it doubles
	// up to DefaultOpenMax while that fails.
	DefaultOpen    = 30 * time.Second
	DefaultOpenMax = 5 * time.Minute
)

// The causes of an error that was made here, without asking the service.
var (
	// ErrOpen: the service is down and is left alone for a while.
	ErrOpen = errors.New("the service has failed again and again and is not asked for a while")
	// ErrPaused: the service has said that it takes nothing until later.
	ErrPaused = errors.New("the service takes no request until later")
)

// Config sets up [Limits]; zero fields take the defaults.
type Config struct {
	Failures      int
	Window        time.Duration
	Open, OpenMax time.Duration
	// MaxWait is the longest wait for a turn; [model.DefaultRetryCap].
	MaxWait time.Duration
	Now     func() time.Time
	Wait    func(context.Context, time.Duration) error // sleeps, honours ctx
}

// Limits are the services that this process asks. They are safe for concurrent
// use.
type Limits struct {
	cfg Config

	mu    sync.Mutex
	gates map[string]*gate // under mu
}

// New makes limits that know nothing yet.
func New(cfg Config) *Limits {
	if cfg.Failures <= 0 {
		cfg.Failures = DefaultFailures
	}
	for field, def := range map[*time.Duration]time.Duration{&cfg.Window: DefaultWindow, &cfg.Open: DefaultOpen, &cfg.OpenMax: DefaultOpenMax, &cfg.MaxWait: model.DefaultRetryCap} {
		if *field <= 0 {
			*field = def
		}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Wait == nil {
		cfg.Wait = wait
	}
	return &Limits{cfg: cfg, gates: make(map[string]*gate)}
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

// Key names what is limited together: a credential at an endpoint, for one
// model. The credential cannot be read from it.
func Key(credential model.Key, endpoint, id string) string {
	sum := sha256.Sum256([]byte(credential.Reveal() + "\x00" + endpoint + "\x00" + id))
	return hex.EncodeToString(sum[:])
}

func (l *Limits) gate(key string) *gate {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.gates[key]
	if g == nil {
		g = &gate{cfg: l.cfg}
		l.gates[key] = g
	}
	return g
}

// Limited is a [model.Model] that is asked no faster and no more often than its
// service bears.
type Limited struct {
	inner model.Model
	gate  *gate
	cfg   Config
}

// Wrap decorates m; all with the same key share what is known.
func (l *Limits) Wrap(key string, m model.Model) *Limited {
	return &Limited{inner: m, gate: l.gate(key), cfg: l.cfg}
}

// Name is the name of the decorated model.
func (m *Limited) Name() string { return m.inner.Name() }

// Complete waits for its turn and asks. Its error is the model's, ctx's, or a
// retryable one that wraps [ErrOpen] or [ErrPaused].
func (m *Limited) Complete(ctx context.Context, req model.Request) (model.Response, error) {
	t, err := m.gate.enter(m.cfg.Now())
	if err != nil {
		return model.Response{}, refused(m.Name(), t.delay, err)
	}
	if t.delay > 0 {
		if err := m.cfg.Wait(ctx, t.delay); err != nil {
			m.gate.leave(t, verdictNone, 0, m.cfg.Now())
			return model.Response{}, err
		}
	}
	res, err := m.inner.Complete(ctx, req)
	v, after := verdictOf(ctx, err)
	m.gate.leave(t, v, after, m.cfg.Now())
	return res, err
}

func refused(name string, delay time.Duration, why error) error {
	return &model.Error{
		Class: model.ClassRetryable, RetryAfter: delay, Err: why,
		Message: fmt.Sprintf("%s was not asked: %s (%s)", name, why, delay.Round(time.Second)),
	}
}

// verdictOf reads what a request's end says of the service.
func verdictOf(ctx context.Context, err error) (verdict, time.Duration) {
	e, ok := errors.AsType[*model.Error](err)
	switch {
	case err == nil:
		return verdictGood, 0
	case !ok || ctx.Err() != nil:
		return verdictNone, 0
	case e.Class != model.ClassRetryable:
		return verdictAlive, 0
	case e.Status == http.StatusTooManyRequests:
		return verdictSlower, e.RetryAfter
	}
	return verdictBad, e.RetryAfter
}
