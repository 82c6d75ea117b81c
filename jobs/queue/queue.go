package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
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
	// dedupeWindow is how long a finished task's id is remembered: GitHub
	// lets people redeliver for three days.
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
}

// Open connects lazily to the Redis at url: redis://, rediss:// or unix://.
func Open(url vcs.Secret) (*Client, error) {
	rdb, err := connect(url, 0)
	if err != nil {
		return nil, err
	}
	return &Client{redis: rdb, asynq: asynq.NewClientFromRedisClient(rdb), inspector: asynq.NewInspectorFromRedisClient(rdb)}, nil
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

// EnqueueEvent claims the event's key and stores the event, in one round
// trip. The error wraps jobs.ErrUnavailable when Redis does not take it.
func (c *Client) EnqueueEvent(ctx context.Context, ev vcs.Event) (duplicate bool, err error) {
	payload, err := json.Marshal(ev)
	if err != nil {
		return false, fmt.Errorf("encoding event %s: %w", ev.DeliveryID, err)
	}
	return c.enqueue(ctx, asynq.NewTask(KindEvent, payload), asynq.Queue(eventsQueue), asynq.TaskID(digest(ev.Key())),
		asynq.MaxRetry(noLimit), asynq.Timeout(eventTimeout), asynq.Retention(dedupeWindow))
}

// EnqueueJob stores a job under its id; the same id twice is a duplicate. The
// error wraps jobs.ErrUnavailable when Redis does not take it.
func (c *Client) EnqueueJob(ctx context.Context, job jobs.Job) (duplicate bool, err error) {
	if job.ID == "" {
		return false, fmt.Errorf("%w: a job without an id", vcs.ErrInvalid)
	}
	payload, err := json.Marshal(job)
	if err != nil {
		return false, fmt.Errorf("encoding job %s: %w", job.ID, err)
	}
	return c.enqueue(ctx, asynq.NewTask(KindJob, payload), asynq.Queue(runsQueue), asynq.TaskID(string(job.ID)),
		asynq.MaxRetry(noLimit), asynq.Timeout(runTimeout), asynq.Retention(dedupeWindow))
}

func (c *Client) enqueue(ctx context.Context, task *asynq.Task, opts ...asynq.Option) (bool, error) {
	_, err := c.asynq.EnqueueContext(ctx, task, opts...)
	switch {
	case errors.Is(err, asynq.ErrTaskIDConflict), errors.Is(err, asynq.ErrDuplicateTask):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("%w: %w", jobs.ErrUnavailable, err)
	}
	return false, nil
}

// JobWaiting reports whether the queue still holds the job: waiting, running
// or to be tried again. A job that it does not hold will not run.
func (c *Client) JobWaiting(_ context.Context, id jobs.JobID) (bool, error) {
	info, err := c.inspector.GetTaskInfo(runsQueue, string(id))
	switch {
	case errors.Is(err, asynq.ErrTaskNotFound), errors.Is(err, asynq.ErrQueueNotFound):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%w: %w", jobs.ErrUnavailable, err)
	}
	return info.State != asynq.TaskStateArchived && info.State != asynq.TaskStateCompleted, nil
}

// Depth counts the tasks of the two queues.
type Depth struct {
	EventsWaiting, EventsArchived int
	RunsWaiting, RunsActive       int
}

// Depth reads the sizes of the queues.
func (c *Client) Depth(_ context.Context) (Depth, error) {
	var d Depth
	known, err := c.inspector.Queues()
	if err != nil {
		return d, fmt.Errorf("%w: %w", jobs.ErrUnavailable, err)
	}
	for name, fill := range map[string]func(*asynq.QueueInfo){
		eventsQueue: func(i *asynq.QueueInfo) {
			d.EventsWaiting, d.EventsArchived = i.Pending+i.Scheduled+i.Retry+i.Active, i.Archived
		},
		runsQueue: func(i *asynq.QueueInfo) { d.RunsWaiting, d.RunsActive = i.Pending+i.Scheduled+i.Retry, i.Active },
	} {
		if !slices.Contains(known, name) {
			continue // nothing was ever put into it
		}
		info, err := c.inspector.GetQueueInfo(name)
		if err != nil {
			return d, fmt.Errorf("%w: %w", jobs.ErrUnavailable, err)
		}
		fill(info)
	}
	return d, nil
}

// digest makes a task id of fixed length from a key of any.
func digest(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:16])
}
