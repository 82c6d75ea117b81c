package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// How often the queues are looked at. A comment is answered with a reaction
// within two seconds, so events are looked for often; an idle look is one
// small script in Redis.
const (
	eventsPoll = 50 * time.Millisecond
	runsPoll   = 200 * time.Millisecond
	delayPoll  = time.Second
	healthPoll = 15 * time.Second
	// janitorPoll is how often expired records of finished tasks are swept.
	janitorPoll = 10 * time.Minute
)

// eventWorkers handle events side by side; each mostly waits for the forge.
const eventWorkers = 8

// Handlers do the work. Each returns an error whose class (jobs.ClassOf)
// decides what becomes of the task.
type Handlers struct {
	Event func(context.Context, vcs.Event) error
	// Job gets the number of the attempt, from 0.
	Job func(ctx context.Context, job jobs.Job, attempt int) error
	// Lost is told of a task that is given up; it stays in the archive.
	Lost func(ctx context.Context, kind, id string, err error)
}

// WorkerConfig bounds a worker.
type WorkerConfig struct {
	// Runs is how many jobs run side by side.
	Runs int
	// Drain is how long a shutdown waits for what is running.
	Drain time.Duration
}

// Worker pulls from both queues.
type Worker struct {
	redis        redis.UniversalClient
	events, runs *asynq.Server
	handlers     Handlers
	drain        time.Duration
	log          *slog.Logger

	// stopping ends with jobs.ErrShutdown when what still runs must stop.
	stopping context.Context //nolint:containedctx // the worker's own life, not a request's
	stop     context.CancelCauseFunc
}

// NewWorker prepares a worker on the Redis at url. Handlers' contexts carry
// ctx's values but do not end with it; they end with the cause
// jobs.ErrShutdown when a shutdown has waited long enough.
func NewWorker(ctx context.Context, url vcs.Secret, cfg WorkerConfig, h Handlers, log *slog.Logger) (*Worker, error) {
	rdb, err := connect(url, 2*(eventWorkers+cfg.Runs))
	if err != nil {
		return nil, err
	}
	w := &Worker{redis: rdb, handlers: h, drain: cfg.Drain, log: log}
	w.stopping, w.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	w.events = asynq.NewServerFromRedisClient(rdb, w.config(eventsQueue, eventWorkers, eventsPoll))
	w.runs = asynq.NewServerFromRedisClient(rdb, w.config(runsQueue, cfg.Runs, runsPoll))
	return w, nil
}

func (w *Worker) config(queue string, workers int, poll time.Duration) asynq.Config {
	return asynq.Config{
		Concurrency:              workers,
		Queues:                   map[string]int{queue: 1},
		StrictPriority:           false,
		TaskCheckInterval:        poll,
		DelayedTaskCheckInterval: delayPoll,
		RetryDelayFunc:           retryDelay,
		IsFailure:                isFailure,
		ErrorHandler:             asynq.ErrorHandlerFunc(w.report),
		ShutdownTimeout:          w.drain + afterDrain,
		HealthCheckInterval:      healthPoll,
		HealthCheckFunc: func(err error) {
			if err != nil {
				w.log.Warn("redis does not answer", "error", err)
			}
		},
		JanitorInterval: janitorPoll,
		Logger:          asynqLog{w.log},
		LogLevel:        asynq.WarnLevel,
	}
}

// afterDrain is how long handlers have to wind up once they were told to.
const afterDrain = 20 * time.Second

// handlerContext is what a handler gets: asynq's values and the worker's life.
// Asynq's own cancellation is not passed on: it would take the task from a
// handler that is winding up.
func (w *Worker) handlerContext(ctx context.Context) (context.Context, func()) {
	out, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(w.stopping, func() { cancel(context.Cause(w.stopping)) })
	return out, func() {
		stop()
		cancel(nil)
	}
}

// Run works until ctx ends, then takes nothing new, waits up to Drain for
// what runs, and puts back what has not ended by then.
func (w *Worker) Run(ctx context.Context) error {
	defer func() {
		w.stop(nil)
		_ = w.redis.Close()
	}()
	if err := w.events.Start(asynq.HandlerFunc(w.handleEvent)); err != nil {
		return fmt.Errorf("%w: starting the events queue: %w", jobs.ErrUnavailable, err)
	}
	if err := w.runs.Start(asynq.HandlerFunc(w.handleJob)); err != nil {
		w.events.Shutdown()
		return fmt.Errorf("%w: starting the runs queue: %w", jobs.ErrUnavailable, err)
	}
	<-ctx.Done()
	w.events.Stop()
	w.runs.Stop()
	timer := time.AfterFunc(w.drain, func() { w.stop(jobs.ErrShutdown) })
	defer timer.Stop()
	w.runs.Shutdown()
	w.events.Shutdown()
	return nil
}

func (w *Worker) handleEvent(ctx context.Context, t *asynq.Task) error {
	var ev vcs.Event
	if err := json.Unmarshal(t.Payload(), &ev); err != nil {
		return giveUp(fmt.Errorf("decoding an event: %w", err))
	}
	return w.handle(ctx, eventRetries, eventTimeout, func(ctx context.Context, _ int) error { return w.handlers.Event(ctx, ev) })
}

func (w *Worker) handleJob(ctx context.Context, t *asynq.Task) error {
	var job jobs.Job
	if err := json.Unmarshal(t.Payload(), &job); err != nil {
		return giveUp(fmt.Errorf("decoding a job: %w", err))
	}
	return w.handle(ctx, runRetries, runTimeout, func(ctx context.Context, attempt int) error { return w.handlers.Job(ctx, job, attempt) })
}

// beforeTimeout is how long before asynq takes a task from its handler the
// handler's own context ends.
const beforeTimeout = 10 * time.Second

// handle calls a handler and maps its error to what asynq does with it.
func (w *Worker) handle(ctx context.Context, retries int, timeout time.Duration, do func(ctx context.Context, attempt int) error) error {
	attempt, _ := asynq.GetRetryCount(ctx)
	if attempt > retries {
		return giveUp(fmt.Errorf("tried %d times: each time the worker was lost, or a service was away", attempt))
	}
	own, done := w.handlerContext(ctx)
	defer done()
	own, cancel := context.WithTimeout(own, timeout-beforeTimeout)
	defer cancel()
	err := w.guard(func() error { return do(own, attempt) })
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(own), jobs.ErrShutdown) {
		err = jobs.Classify(jobs.InterruptClass, err) // the handler says no more than that its context ended
	}
	return settle(err, attempt < retries)
}

// guard turns a panic into an error, and logs its stack: one bad event must
// not end the worker.
func (w *Worker) guard(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			w.log.Error("handler panicked", "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

// settle maps an error's class to what asynq does with it.
func settle(err error, again bool) error {
	switch jobs.ClassOf(err) {
	case "", jobs.CanceledClass, jobs.RefusedClass:
		return nil // told in the thread; nothing to try again
	case jobs.InterruptClass:
		return err
	case jobs.Retryable:
		if again || !isFailure(err) {
			return err
		}
	case jobs.Permanent:
	}
	return giveUp(err)
}

// givenUpError is an error that asynq archives the task for.
type givenUpError struct{ cause error }

func giveUp(err error) error { return &givenUpError{cause: err} }

func (e *givenUpError) Error() string { return e.cause.Error() }

// Unwrap gives what the task is given up for.
func (e *givenUpError) Unwrap() error { return e.cause }

// Is makes it the error that asynq looks for.
func (e *givenUpError) Is(target error) bool { return target == asynq.SkipRetry }

// isFailure keeps a shutdown, and a look at a job that another worker has,
// from counting as a try.
func isFailure(err error) bool {
	return err != nil && jobs.ClassOf(err) != jobs.InterruptClass && !errors.Is(err, jobs.ErrLeaseLost)
}

// The retry schedule: 2 s doubling to 10 min, half of it random.
const (
	firstDelay = 2 * time.Second
	lastDelay  = 10 * time.Minute
)

func retryDelay(n int, err error, _ *asynq.Task) time.Duration {
	var ce *jobs.ClassError
	if errors.As(err, &ce) && !ce.RetryAt.IsZero() {
		// asynq cuts the time to whole seconds: one more keeps it from being early
		return max(time.Until(ce.RetryAt)+time.Second, firstDelay)
	}
	if jobs.ClassOf(err) == jobs.InterruptClass {
		return delayPoll
	}
	d := lastDelay
	if n < 9 { // 2 s << 9 is past the cap
		d = min(firstDelay<<n, lastDelay)
	}
	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter
}

// lostTimeout is how long telling of a lost task may take: above what
// jobs/progress takes to get a last word out.
const lostTimeout = 4 * time.Minute

// report logs at the top, once, and tells of tasks that are given up.
func (w *Worker) report(ctx context.Context, t *asynq.Task, err error) {
	id, _ := asynq.GetTaskID(ctx)
	retried, _ := asynq.GetRetryCount(ctx)
	if !errors.Is(err, asynq.SkipRetry) {
		w.log.Warn("task will be tried again", "kind", t.Type(), "task_id", id, "attempt", retried, "error", err)
		return
	}
	w.log.Error("task is given up and kept in the archive", "kind", t.Type(), "task_id", id, "error", err)
	if w.handlers.Lost == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lostTimeout)
	defer cancel()
	_ = w.guard(func() error { // asynq would not survive a panic here
		w.handlers.Lost(ctx, t.Type(), id, err)
		return nil
	})
}

// asynqLog sends asynq's own messages to slog.
type asynqLog struct{ log *slog.Logger }

func (l asynqLog) Debug(args ...any) { l.log.Debug("asynq", "text", fmt.Sprint(args...)) }
func (l asynqLog) Info(args ...any)  { l.log.Debug("asynq", "text", fmt.Sprint(args...)) }
func (l asynqLog) Warn(args ...any)  { l.log.Warn("asynq", "text", fmt.Sprint(args...)) }
func (l asynqLog) Error(args ...any) { l.log.Error("asynq", "text", fmt.Sprint(args...)) }
func (l asynqLog) Fatal(args ...any) { l.log.Error("asynq", "text", fmt.Sprint(args...)) }
