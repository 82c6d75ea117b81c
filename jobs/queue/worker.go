package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
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
	// Job gets the number of the attempt, from 0. One job may be delivered
	// twice at the same time.
	Job func(ctx context.Context, job jobs.Job, attempt int) error
	// Lost is told of a task that is given up, by the event's digest or the
	// job's id; it stays in the archive.
	Lost func(ctx context.Context, kind, id string, err error)
}

// WorkerConfig bounds a worker.
type WorkerConfig struct {
	// Runs is how many jobs run side by side.
	Runs int
	// Lobby is how many more are handed out, only to find out by a slot of the
	// store that they must wait: jobs.ErrBusy. Without it, whoever has enqueued
	// first holds up all others while every worker is busy. With it, the
	// handler itself must hold to Runs.
	Lobby int
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
	scripts      scripts
	draining     chan struct{} // closed when a shutdown begins

	// stopping ends with jobs.ErrShutdown when what still runs must stop.
	stopping context.Context //nolint:containedctx // the worker's own life, not a request's
	stop     context.CancelCauseFunc
}

// NewWorker prepares a worker on the Redis at url. Handlers' contexts carry
// ctx's values but do not end with it; they end with the cause
// jobs.ErrShutdown when a shutdown has waited long enough.
func NewWorker(ctx context.Context, url vcs.Secret, cfg WorkerConfig, h Handlers, log *slog.Logger) (*Worker, error) {
	rdb, err := connect(url, 2*(eventWorkers+cfg.Runs+cfg.Lobby))
	if err != nil {
		return nil, err
	}
	w := &Worker{redis: rdb, handlers: h, drain: cfg.Drain, log: log, scripts: newScripts(), draining: make(chan struct{})}
	w.stopping, w.stop = context.WithCancelCause(context.WithoutCancel(ctx))
	w.events = asynq.NewServerFromRedisClient(rdb, w.config(eventsQueue, eventWorkers, eventsPoll))
	w.runs = asynq.NewServerFromRedisClient(rdb, w.config(runsQueue, cfg.Runs+cfg.Lobby, runsPoll))
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
	out, cancel := context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), drainingKey{}, w.draining))
	stop := context.AfterFunc(w.stopping, func() { cancel(context.Cause(w.stopping)) })
	return out, func() {
		stop()
		cancel(nil)
	}
}

// drainingKey is that of the channel in a handler's context.
type drainingKey struct{}

// Draining is for handlers: the channel is closed as soon as their worker
// begins to shut down, which is Drain before their context ends. Outside of a
// handler it is nil, which never is.
func Draining(ctx context.Context) <-chan struct{} {
	ch, _ := ctx.Value(drainingKey{}).(chan struct{})
	return ch
}

// Draining is closed as soon as the worker begins to shut down.
func (w *Worker) Draining() <-chan struct{} { return w.draining }

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
	close(w.draining)
	timer := time.AfterFunc(w.drain, func() { w.stop(jobs.ErrShutdown) })
	defer timer.Stop()
	w.events.Stop()
	w.runs.Stop()
	w.runs.Shutdown()
	w.events.Shutdown()
	return nil
}

func (w *Worker) handleEvent(ctx context.Context, t *asynq.Task) error {
	var ev vcs.Event
	if err := json.Unmarshal(t.Payload(), &ev); err != nil {
		return giveUp(fmt.Errorf("decoding an event: %w", err))
	}
	id, _ := asynq.GetTaskID(ctx)
	return w.once(ctx, eventsQueue, id, true, func() error {
		return w.handle(ctx, eventRetries, eventTimeout, func(ctx context.Context, _ int) error { return w.handlers.Event(ctx, ev) })
	})
}

func (w *Worker) handleJob(ctx context.Context, t *asynq.Task) error {
	var job jobs.Job
	if err := json.Unmarshal(t.Payload(), &job); err != nil {
		return giveUp(fmt.Errorf("decoding a job: %w", err))
	}
	id, _ := asynq.GetTaskID(ctx)
	return w.once(ctx, runsQueue, id, id == string(job.ID), func() error {
		return w.handle(ctx, runRetries, runTimeout, func(ctx context.Context, attempt int) error { return w.handlers.Job(ctx, job, attempt) })
	})
}

// once handles a task and marks it as handled, before asynq forgets it. One
// that has the mark is done: only asynq did not get to know. Without remember
// the task may come again.
func (w *Worker) once(ctx context.Context, queue, id string, remember bool, handle func() error) error {
	seen, err := w.redis.Exists(ctx, seenKey(queue, id)).Result()
	if err != nil {
		return fmt.Errorf("%w: asking whether a task was handled: %w", jobs.ErrUnavailable, err)
	}
	if seen == 1 {
		return nil
	}
	if err := handle(); err != nil {
		return err
	}
	window := 0
	if remember {
		window = int(dedupeWindow.Seconds())
	}
	if err := w.mark(ctx, queue, id, window); err != nil {
		return fmt.Errorf("%w: marking a task as handled: %w", jobs.ErrUnavailable, err)
	}
	return nil
}

// How long marking a task is tried, and how often: as long as asynq waits for
// a worker that it does not hear of, less what one try can take.
const (
	markTimeout = 20 * time.Second
	markPause   = 250 * time.Millisecond
)

// mark marks a task as handled, also through a restart of Redis: without the
// mark it is handled again. asynq's context may have ended by now.
func (w *Worker) mark(ctx context.Context, queue, id string, window int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), markTimeout)
	defer cancel()
	tick := time.NewTicker(markPause)
	defer tick.Stop()
	for {
		err := w.leave(ctx, queue, id, window)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

func (w *Worker) leave(ctx context.Context, queue, id string, window int) error {
	return w.scripts.leave.Run(ctx, w.redis, []string{seenKey(queue, id), sinceKey(queue)}, id, window).Err()
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

// lostTimeout is how long telling of a lost task may take: above what
// jobs/progress takes to get a last word out.
const lostTimeout = 4 * time.Minute

// report logs at the top, once, and tells of tasks that are given up.
func (w *Worker) report(ctx context.Context, t *asynq.Task, err error) {
	id, _ := asynq.GetTaskID(ctx)
	retried, _ := asynq.GetRetryCount(ctx)
	if waits(err) {
		w.log.Debug("task waits", "kind", t.Type(), "task_id", id, "error", err)
		return
	}
	if !errors.Is(err, asynq.SkipRetry) {
		w.log.Warn("task will be tried again", "kind", t.Type(), "task_id", id, "attempt", retried, "error", err)
		return
	}
	w.log.Error("task is given up and kept in the archive", "kind", t.Type(), "task_id", id, "error", err)
	if w.handlers.Lost == nil {
		return
	}
	if job, err := jobOf(t); err == nil && t.Type() == KindJob {
		id = string(job) // whichever of its tasks this is
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
