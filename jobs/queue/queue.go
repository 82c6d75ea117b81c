package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// The queues.
const (
	eventsQueue = "events"
	runsQueue   = "runs"
)

// The kinds of task, as Handlers.Lost names them.
const (
	KindEvent = "event"
	KindJob   = "job"
)

// How tasks are kept and tried.
const (
	// dedupeWindow is how long a handled task's id is remembered, by a mark of
	// its own, for asynq would keep the payload too: GitHub lets people
	// redeliver for three days.
	dedupeWindow = 72 * time.Hour
	// eventRetries with retryDelay span about four hours of a forge's outage.
	eventRetries = 30
	eventTimeout = 2 * time.Minute
	// runRetries bounds how often a run whose worker was lost, or that could
	// not begin, is tried again.
	runRetries = 5
	// noLimit is asynq's own limit, which must never be met: it would archive
	// a task without asking for its class, and without telling. The worker
	// holds the two limits above.
	noLimit = math.MaxInt32
	// runTimeout is a hang guard above every limit that the runner holds.
	runTimeout = 4 * time.Hour
)

// Redis connection bounds.
const (
	dialTimeout = 2 * time.Second
	ioTimeout   = 3 * time.Second
)

// Client puts work into the queues. It is safe for concurrent use.
type Client struct {
	redis     redis.UniversalClient
	asynq     *asynq.Client
	inspector *asynq.Inspector
	scripts   scripts
}

// Open connects lazily to the Redis at url: redis://, rediss:// or unix://.
func Open(url vcs.Secret) (*Client, error) {
	rdb, err := connect(url, 0)
	if err != nil {
		return nil, err
	}
	return &Client{redis: rdb, asynq: asynq.NewClientFromRedisClient(rdb), inspector: asynq.NewInspectorFromRedisClient(rdb), scripts: newScripts()}, nil
}

func connect(url vcs.Secret, pool int) (redis.UniversalClient, error) {
	opts, err := redis.ParseURL(url.Reveal())
	if err != nil { // whose text holds the URL, and so the password
		return nil, fmt.Errorf("%w: redis URL: want redis://, rediss:// or unix://, and what is special in the password percent-encoded", vcs.ErrInvalid)
	}
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	opts.MaxRetries = 1
	if pool > 0 {
		opts.PoolSize = pool
	}
	return redis.NewClient(opts), nil
}

// Ping asks whether Redis answers; the error wraps jobs.ErrUnavailable.
func (c *Client) Ping(ctx context.Context) error {
	if err := c.redis.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("%w: %w", jobs.ErrUnavailable, err)
	}
	return nil
}

// Close releases the connections.
func (c *Client) Close() error { return c.redis.Close() }

// EnqueueEvent claims the event's key and stores the event. The error wraps
// jobs.ErrUnavailable when Redis does not take it.
func (c *Client) EnqueueEvent(ctx context.Context, ev vcs.Event) (duplicate bool, err error) {
	payload, err := json.Marshal(ev)
	if err != nil {
		return false, fmt.Errorf("encoding event %s: %w", ev.DeliveryID, err)
	}
	return c.enqueue(ctx, asynq.NewTask(KindEvent, payload), eventsQueue, digest(ev.Key()), eventTimeout)
}

// EnqueueJob stores a job under its id; the same id twice within the dedupe
// window is a duplicate, see EnqueueAgain. The error wraps jobs.ErrUnavailable
// when Redis does not take it.
func (c *Client) EnqueueJob(ctx context.Context, job jobs.Job) (duplicate bool, err error) {
	return c.enqueueJob(ctx, job, 0)
}

func (c *Client) enqueueJob(ctx context.Context, job jobs.Job, generation int) (bool, error) {
	if job.ID == "" {
		return false, fmt.Errorf("%w: a job without an id", vcs.ErrInvalid)
	}
	payload, err := json.Marshal(job)
	if err != nil {
		return false, fmt.Errorf("encoding job %s: %w", job.ID, err)
	}
	return c.enqueue(ctx, asynq.NewTask(KindJob, payload), runsQueue, taskID(job.ID, generation), runTimeout)
}

// enqueue stores a task unless one of its id is there or was handled lately.
// A task that is handled between the two steps is met again by the worker,
// which knows it.
func (c *Client) enqueue(ctx context.Context, task *asynq.Task, queue, id string, timeout time.Duration) (duplicate bool, err error) {
	fresh, err := c.scripts.enter.Run(ctx, c.redis, []string{seenKey(queue, id), sinceKey(queue)}, id, time.Now().UnixMilli()).Int()
	if err != nil {
		return false, fmt.Errorf("%w: %w", jobs.ErrUnavailable, err)
	}
	if fresh == 0 {
		return true, nil
	}
	_, err = c.asynq.EnqueueContext(ctx, task, asynq.Queue(queue), asynq.TaskID(id), asynq.MaxRetry(noLimit), asynq.Timeout(timeout))
	switch {
	case errors.Is(err, asynq.ErrTaskIDConflict), errors.Is(err, asynq.ErrDuplicateTask):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("%w: %w", jobs.ErrUnavailable, err)
	}
	return false, nil
}

// digest makes a task id of fixed length from a key of any.
func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}
