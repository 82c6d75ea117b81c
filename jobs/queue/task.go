package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// TaskState is what the queue will do about a job.
type TaskState string

// The closed set of task states.
const (
	TaskNone     TaskState = "none"     // the queue does not know the job
	TaskWaiting  TaskState = "waiting"  // it will be handed to a worker, now or later
	TaskActive   TaskState = "active"   // a worker that gives signs of life has it
	TaskStuck    TaskState = "stuck"    // its worker has given no sign of life for half a minute
	TaskArchived TaskState = "archived" // given up, and told so
	TaskDone     TaskState = "done"     // handled, within the last three days
)

// moreTasks is how many tasks a job can have besides its first: a task that is
// stuck comes back by itself after two minutes, so that a third is hardly ever
// needed.
const moreTasks = 3

// taskID names a task of a job: the first as the job itself.
func taskID(job jobs.JobID, generation int) string {
	if generation == 0 {
		return string(job)
	}
	return string(job) + "#" + strconv.Itoa(generation)
}

// Asynq's keys, as far as the states are read from them: its inspector asks a
// list of queues first, which is not written again when Redis has lost it.
func taskKey(queue, id string) string    { return "asynq:{" + queue + "}:t:" + id }
func listKey(queue, which string) string { return "asynq:{" + queue + "}:" + which }

// Our own keys beside them: who was handled within the dedupe window, and
// since when what is not handled yet is there.
func seenKey(queue, id string) string { return "greenwright:seen:" + queue + ":" + id }
func sinceKey(queue string) string    { return "greenwright:queued:" + queue }

// stateLua tells the state of a task: KEYS task, leases, mark of what was
// handled; ARGV id. A lease is in whole seconds.
//
//nolint:dupword // Lua
const stateLua = `
local state, msg = unpack(redis.call('HMGET', KEYS[1], 'state', 'msg'))
if state and not msg then return 'stuck' end
if state == 'active' then
  local lease = redis.call('ZSCORE', KEYS[2], ARGV[1])
  if not lease or tonumber(lease) < tonumber(redis.call('TIME')[1]) then return 'stuck' end
end
if not state and redis.call('EXISTS', KEYS[3]) == 1 then return 'completed' end
return state or ''`

// states reads a job's tasks.
func (c *Client) states(ctx context.Context, id jobs.JobID) ([]TaskState, error) {
	out := make([]TaskState, moreTasks+1)
	for g := range out {
		s, err := c.state(ctx, runsQueue, taskID(id, g))
		if err != nil {
			return nil, err
		}
		out[g] = s
	}
	return out, nil
}

func (c *Client) state(ctx context.Context, queue, id string) (TaskState, error) {
	keys := []string{taskKey(queue, id), listKey(queue, "lease"), seenKey(queue, id)}
	text, err := c.scripts.state.Run(ctx, c.redis, keys, id).Text()
	if err != nil {
		return "", fmt.Errorf("%w: reading a task: %w", jobs.ErrUnavailable, err)
	}
	switch text {
	case "":
		return TaskNone, nil
	case "active":
		return TaskActive, nil
	case "stuck":
		return TaskStuck, nil
	case "archived":
		return TaskArchived, nil
	case "completed":
		return TaskDone, nil
	}
	return TaskWaiting, nil // pending, scheduled, retry
}

// JobTask is the state of the most lively task of a job.
func (c *Client) JobTask(ctx context.Context, id jobs.JobID) (TaskState, error) {
	states, err := c.states(ctx, id)
	if err != nil {
		return "", err
	}
	return liveliest(states), nil
}

func liveliest(states []TaskState) TaskState {
	rank := map[TaskState]int{TaskDone: 1, TaskArchived: 2, TaskStuck: 3, TaskActive: 4, TaskWaiting: 5}
	best := TaskNone
	for _, s := range states {
		if rank[s] > rank[best] {
			best = s
		}
	}
	return best
}

// JobWaiting reports whether the queue will still do something for the job: a
// task of it waits, or a worker that is alive has one.
func (c *Client) JobWaiting(ctx context.Context, id jobs.JobID) (bool, error) {
	s, err := c.JobTask(ctx, id)
	return s == TaskWaiting || s == TaskActive, err
}

// EnqueueAgain puts a job into the queue once more, whatever became of its
// earlier tasks: one that is stuck with a dead worker, was given up, or was
// handled when the job had to wait for people. It is a duplicate when a task of
// the job waits, or is with a worker that is alive, or when so many are stuck
// that one of them will come back first. A job that is delivered twice meets
// its own lease.
func (c *Client) EnqueueAgain(ctx context.Context, job jobs.Job) (duplicate bool, err error) {
	states, err := c.states(ctx, job.ID)
	if err != nil {
		return false, err
	}
	if best := liveliest(states); best == TaskWaiting || best == TaskActive {
		return true, nil
	}
	return c.enqueueNext(ctx, job, states)
}

// TakeOver is EnqueueAgain for a job whose lease nobody holds: the worker that
// has its task gives signs of life to asynq for half a minute after its death.
func (c *Client) TakeOver(ctx context.Context, job jobs.Job) (duplicate bool, err error) {
	states, err := c.states(ctx, job.ID)
	if err != nil {
		return false, err
	}
	if liveliest(states) == TaskWaiting {
		return true, nil
	}
	return c.enqueueNext(ctx, job, states)
}

// enqueueNext stores another task of a job.
func (c *Client) enqueueNext(ctx context.Context, job jobs.Job, states []TaskState) (duplicate bool, err error) {
	for g := 1; g < len(states); g++ {
		if states[g] == TaskStuck || states[g] == TaskActive {
			continue
		}
		if states[g] != TaskNone {
			if err := c.remove(taskID(job.ID, g)); err != nil {
				return false, err
			}
		}
		return c.enqueueJob(ctx, job, g)
	}
	return true, nil
}

// remove makes room for another task: this one was given up.
func (c *Client) remove(id string) error {
	err := c.inspector.DeleteTask(runsQueue, id)
	if err != nil && !errors.Is(err, asynq.ErrTaskNotFound) && !errors.Is(err, asynq.ErrQueueNotFound) {
		return fmt.Errorf("%w: removing a task: %w", jobs.ErrUnavailable, err)
	}
	return nil
}

// wakeLua moves a task that is to be tried later to those that are ready: KEYS
// task, retry, scheduled, pending; ARGV id, now in nanoseconds. Asynq's own way
// (RunTask) needs its list of queues.
const wakeLua = `
if redis.call('ZREM', KEYS[2], ARGV[1]) + redis.call('ZREM', KEYS[3], ARGV[1]) == 0 then return 0 end
redis.call('RPUSH', KEYS[4], ARGV[1])
redis.call('HSET', KEYS[1], 'state', 'pending', 'pending_since', ARGV[2])
return 1`

// Wake hands out now, before others, what would be tried again later.
func (c *Client) Wake(ctx context.Context, ids ...jobs.JobID) error {
	for _, id := range ids {
		for g := range moreTasks + 1 {
			task := taskID(id, g)
			keys := []string{taskKey(runsQueue, task), listKey(runsQueue, "retry"), listKey(runsQueue, "scheduled"), listKey(runsQueue, "pending")}
			if err := c.scripts.wake.Run(ctx, c.redis, keys, task, time.Now().UnixNano()).Err(); err != nil {
				return fmt.Errorf("%w: waking job %s: %w", jobs.ErrUnavailable, id, err)
			}
		}
	}
	return nil
}

// enterLua lets a task in unless it was handled before, and notes since when
// it waits: KEYS mark, times; ARGV id, now in milliseconds.
const enterLua = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('ZADD', KEYS[2], 'NX', ARGV[2], ARGV[1])
return 1`

// leaveLua marks a task as handled, for ARGV[2] seconds, none for 0.
const leaveLua = `
if ARGV[2] ~= '0' then redis.call('SET', KEYS[1], 1, 'EX', ARGV[2]) end
redis.call('ZREM', KEYS[2], ARGV[1])
return 1`

// scripts are what must happen in Redis as one step.
type scripts struct{ state, wake, enter, leave, oldest *redis.Script }

func newScripts() scripts {
	return scripts{
		state:  redis.NewScript(stateLua),
		wake:   redis.NewScript(wakeLua),
		enter:  redis.NewScript(enterLua),
		leave:  redis.NewScript(leaveLua),
		oldest: redis.NewScript(oldestLua),
	}
}

// jobOf reads the job of a task, whichever of the job's tasks it is.
func jobOf(t *asynq.Task) (jobs.JobID, error) {
	var job struct {
		ID jobs.JobID `json:"id"`
	}
	if err := json.Unmarshal(t.Payload(), &job); err != nil {
		return "", fmt.Errorf("decoding a job: %w", err)
	}
	if job.ID == "" {
		return "", fmt.Errorf("%w: a task without a job", vcs.ErrInvalid)
	}
	return job.ID, nil
}
