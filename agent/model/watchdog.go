package model

import (
	"context"
	"errors"
	"time"
)

// The time limits of a streamed reply (RUNTIME 3.6). Local models that load
// for long need a longer First.
const (
	DefaultFirst = 300 * time.Second // to the first event
	DefaultIdle  = 120 * time.Second // between events; pings do not count
	DefaultTotal = 15 * time.Minute
)

// Patience is how long a driver waits for a stream; zero fields take the defaults.
type Patience struct {
	First, Idle, Total time.Duration
}

// The causes of a context that a watchdog ended.
var (
	errSilent = errors.New("the stream went silent")
	errLong   = errors.New("the reply took too long")
)

// Watchdog ends a request whose stream goes silent or on for too long.
type Watchdog struct {
	timer  *time.Timer
	idle   time.Duration
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
}

// Watch derives the context to send a request with. Call Feed on every event
// and Stop when done.
func (p Patience) Watch(ctx context.Context) (context.Context, *Watchdog) {
	first, idle, total := orDefault(p.First, DefaultFirst), orDefault(p.Idle, DefaultIdle), orDefault(p.Total, DefaultTotal)
	ctx, stop := context.WithTimeoutCause(ctx, total, errLong)
	ctx, cancel := context.WithCancelCause(ctx)
	w := &Watchdog{idle: idle, cancel: cancel, stop: stop}
	w.timer = time.AfterFunc(first, func() { cancel(errSilent) })
	return ctx, w
}

// Feed says that an event arrived.
func (w *Watchdog) Feed() { w.timer.Reset(w.idle) }

// Stop releases the watchdog and its context.
func (w *Watchdog) Stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
	w.stop()
}
