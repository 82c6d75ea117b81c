package queue_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/vcs"
)

// raw is a client beside the queue's.
func raw(t *testing.T, url vcs.Secret) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(url.Reveal())
	check(t, err)
	c := redis.NewClient(opts)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// dieWith leaves the job's task as a worker does that took it and was killed
// so long ago.
func dieWith(t *testing.T, r *redis.Client, id string, ago time.Duration) {
	t.Helper()
	got, err := r.LMove(ctx, "asynq:{runs}:pending", "asynq:{runs}:active", "RIGHT", "LEFT").Result()
	if err != nil || got != id {
		t.Fatalf("the next task is %q, %v; want %s", got, err, id)
	}
	check(t, r.HSet(ctx, "asynq:{runs}:t:"+id, "state", "active").Err())
	check(t, r.ZAdd(ctx, "asynq:{runs}:lease", redis.Z{Member: id, Score: float64(time.Now().Add(30*time.Second - ago).Unix())}).Err())
}

func enqueue(t *testing.T, c *queue.Client, id string) {
	t.Helper()
	if duplicate, err := c.EnqueueJob(ctx, job(id)); err != nil || duplicate {
		t.Fatalf("enqueuing %s: duplicate %v, %v", id, duplicate, err)
	}
}

func TestTaskStates(t *testing.T) {
	onBoth(t, func(t *testing.T, url vcs.Secret) {
		c, r := client(t, url), raw(t, url)
		is := func(want queue.TaskState) {
			t.Helper()
			if got, err := c.JobTask(ctx, "a"); err != nil || got != want {
				t.Errorf("state is %q, %v; want %q", got, err, want)
			}
			waits := want == queue.TaskWaiting || want == queue.TaskActive
			if got, err := c.JobWaiting(ctx, "a"); err != nil || got != waits {
				t.Errorf("a job that is %s waits: %v, %v", want, got, err)
			}
		}
		again := func(want bool) {
			t.Helper()
			if duplicate, err := c.EnqueueAgain(ctx, job("a")); err != nil || duplicate != want {
				t.Errorf("enqueuing again: duplicate %v, %v", duplicate, err)
			}
		}
		is(queue.TaskNone)
		enqueue(t, c, "a")
		is(queue.TaskWaiting)
		again(true)
		dieWith(t, r, "a", 0)
		is(queue.TaskActive)
		again(true)
		check(t, r.ZAdd(ctx, "asynq:{runs}:lease", redis.Z{Member: "a", Score: float64(time.Now().Unix() - 2)}).Err())
		is(queue.TaskStuck)
		for i := 1; i <= 3; i++ { // each goes to a worker that dies
			again(false)
			is(queue.TaskWaiting)
			again(true)
			dieWith(t, r, fmt.Sprintf("a#%d", i), time.Minute)
			is(queue.TaskStuck)
		}
		again(true) // four are enough
		if n := r.LLen(ctx, "asynq:{runs}:active").Val(); n != 4 {
			t.Errorf("%d tasks of one job", n)
		}
		if duplicate, err := c.EnqueueJob(ctx, job("a")); err != nil || !duplicate {
			t.Errorf("the first task again: duplicate %v, %v", duplicate, err)
		}
	})
}

// A job that was handled, given up, or lost with its worker comes once more.
func TestEnqueueAgainRuns(t *testing.T) {
	onBoth(t, func(t *testing.T, url vcs.Secret) {
		c, r := client(t, url), raw(t, url)
		var runs atomic.Int32
		told := make(chan lost, 9)
		stop := work(t, url, queue.WorkerConfig{}, queue.Handlers{
			Lost: func(_ context.Context, kind, id string, err error) { told <- lost{kind, id, err} },
			Job: func(_ context.Context, j jobs.Job, _ int) error {
				if runs.Add(1); j.ID == "bad" {
					return errors.New("permanent")
				}
				return nil
			},
		})
		rest := func(id jobs.JobID, want queue.TaskState) {
			t.Helper()
			eventually(t, string(id)+" is "+string(want), func() bool { s, err := c.JobTask(ctx, id); return err == nil && s == want })
		}
		enqueue(t, c, "good")
		enqueue(t, c, "bad")
		rest("good", queue.TaskDone)
		rest("bad", queue.TaskArchived)
		for range 5 { // more often than there are tasks of one job
			for _, id := range []string{"good", "bad"} {
				if duplicate, err := c.EnqueueAgain(ctx, job(id)); err != nil || duplicate {
					t.Fatalf("%s again: duplicate %v, %v", id, duplicate, err)
				}
			}
			rest("good", queue.TaskDone)
			rest("bad", queue.TaskArchived)
		}
		if n := runs.Load(); n != 12 {
			t.Errorf("%d runs, want 12", n)
		}
		for range 6 {
			if l := recv(t, "the loss is told", told); l.id != "bad" || l.kind != queue.KindJob {
				t.Errorf("told of %s %s", l.kind, l.id)
			}
		}
		stop()
		if n := len(r.Keys(ctx, "asynq:{runs}:t:*").Val()); n > 2 {
			t.Errorf("%d tasks are kept", n)
		}
	})
}

// What was handled is not handled again when asynq did not get to know.
func TestHandledOnceAlthoughAsynqForgot(t *testing.T) {
	onBoth(t, func(t *testing.T, url vcs.Secret) {
		c, r := client(t, url), raw(t, url)
		handled := make(chan jobs.JobID, 5)
		work(t, url, queue.WorkerConfig{}, queue.Handlers{Job: func(_ context.Context, j jobs.Job, _ int) error { handled <- j.ID; return nil }})
		check(t, r.Set(ctx, "greenwright:seen:runs:b", 1, time.Hour).Err())
		if duplicate, err := c.EnqueueJob(ctx, job("b")); err != nil || !duplicate {
			t.Errorf("a job that was handled: duplicate %v, %v", duplicate, err)
		}
		enqueue(t, c, "a")
		recv(t, "a is handled", handled)
		eventually(t, "a is done", func() bool { s, err := c.JobTask(ctx, "a"); return err == nil && s == queue.TaskDone })
		// The same task comes back: its answer to asynq was lost.
		check(t, r.Rename(ctx, "greenwright:seen:runs:a", "kept").Err())
		enqueue(t, c, "a")
		recv(t, "a is handled again without its mark", handled)
		eventually(t, "a is done", func() bool { s, err := c.JobTask(ctx, "a"); return err == nil && s == queue.TaskDone })
		if len(handled) > 0 {
			t.Errorf("%s was handled as well", <-handled)
		}
	})
}

func TestWakeAndOldest(t *testing.T) {
	onBoth(t, func(t *testing.T, url vcs.Secret) {
		c, r := client(t, url), raw(t, url)
		oldest := func() map[string]time.Duration {
			t.Helper()
			got, err := c.Oldest(ctx)
			check(t, err)
			return got
		}
		if got := oldest(); len(got) != 0 {
			t.Errorf("nothing waits, the oldest is %v", got)
		}
		calls := make(chan int, 9)
		var n atomic.Int32
		work(t, url, queue.WorkerConfig{}, queue.Handlers{Job: func(_ context.Context, _ jobs.Job, attempt int) error {
			calls <- attempt
			if n.Add(1) > 2 {
				return nil
			}
			return &jobs.ClassError{Class: jobs.Retryable, RetryAt: time.Now().Add(time.Hour), Err: jobs.ErrBusy}
		}})
		enqueue(t, c, "a")
		for want := range 3 {
			if got := recv(t, fmt.Sprint("call ", want), calls); got != 0 {
				t.Errorf("waiting counts as a try: %d", got)
			}
			if want == 2 {
				break
			}
			eventually(t, "the job is put off", func() bool { return r.ZCard(ctx, "asynq:{runs}:retry").Val() == 1 })
			if got := oldest(); got["runs"] < time.Millisecond || len(got) != 1 {
				t.Errorf("the oldest is %v", got)
			}
			check(t, c.Wake(ctx, "never", "a"))
		}
		eventually(t, "nothing waits", func() bool { return len(oldest()) == 0 })
		check(t, c.Wake(ctx, "a"))
		if n := r.LLen(ctx, "asynq:{runs}:pending").Val(); n != 0 {
			t.Error("a job that has ended was woken")
		}
	})
}

// A shutdown is told to handlers at once.
func TestDrainingIsToldAtOnce(t *testing.T) {
	needRedis(t)
	url := embedded(t, shortDir(t)).URL
	c := client(t, url)
	begun, told := make(chan struct{}), make(chan time.Time, 1)
	stop := work(t, url, queue.WorkerConfig{Drain: 20 * time.Second}, queue.Handlers{Job: func(ctx context.Context, _ jobs.Job, _ int) error {
		close(begun)
		select {
		case <-queue.Draining(ctx):
			if ctx.Err() != nil {
				t.Error("the handler's context has ended as well")
			}
			told <- time.Now()
		case <-ctx.Done():
		}
		return jobs.ErrShutdown
	}})
	enqueue(t, c, "a")
	recv(t, "the job has begun", begun)
	before := time.Now()
	stop()
	if took := recv(t, "it is told", told).Sub(before); took > time.Second {
		t.Errorf("told after %s", took)
	}
	if took := time.Since(before); took > 10*time.Second {
		t.Errorf("the shutdown took %s", took)
	}
	if s, err := c.JobTask(ctx, "a"); err != nil || s != queue.TaskWaiting {
		t.Errorf("the job that was handed over is %s, %v", s, err)
	}
	if queue.Draining(ctx) != nil {
		t.Error("a context that is no handler's drains")
	}
}
