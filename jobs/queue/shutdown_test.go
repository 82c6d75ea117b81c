package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/vcs"
)

// A shutdown waits for what ends in time, and only then tells the rest.
func TestShutdownWaits(t *testing.T) {
	needRedis(t)
	url := embedded(t, shortDir(t)).URL
	c := client(t, url)
	begun, ended := make(chan struct{}), make(chan error, 1)
	stop := work(t, url, queue.WorkerConfig{Drain: 10 * time.Second}, queue.Handlers{Job: func(ctx context.Context, _ jobs.Job, _ int) error {
		close(begun)
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
		ended <- context.Cause(ctx)
		return nil
	}})
	if _, err := c.EnqueueJob(ctx, job("a")); err != nil {
		t.Fatal(err)
	}
	recv(t, "the job has begun", begun)
	before := time.Now()
	stop()
	if cause := recv(t, "the job has ended", ended); cause != nil {
		t.Errorf("the job was told to stop: %v", cause)
	}
	if took := time.Since(before); took > 5*time.Second {
		t.Errorf("the shutdown took %s", took)
	}
	if w, err := c.JobWaiting(ctx, "a"); w || err != nil {
		t.Errorf("the job that has ended waits: %v, %v", w, err)
	}
}

// What runs longer than the drain is told why it must stop, and comes back,
// whatever error it makes of that.
func TestShutdownBringsBack(t *testing.T) {
	answers := map[string]func(context.Context) error{
		"classified":   func(ctx context.Context) error { return jobs.Classify(jobs.InterruptClass, context.Cause(ctx)) },
		"the cause":    context.Cause,
		"plain cancel": func(ctx context.Context) error { return ctx.Err() },
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			needRedis(t)
			url := embedded(t, shortDir(t)).URL
			c := client(t, url)
			begun, causes := make(chan struct{}, 2), make(chan error, 2)
			wait := func(ctx context.Context) error {
				begun <- struct{}{}
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return answer(ctx)
			}
			fail := func(_ context.Context, kind, id string, err error) { t.Errorf("%s %s is lost: %v", kind, id, err) }
			stop := work(t, url, queue.WorkerConfig{Drain: 300 * time.Millisecond}, queue.Handlers{
				Job:   func(ctx context.Context, _ jobs.Job, _ int) error { return wait(ctx) },
				Event: func(ctx context.Context, _ vcs.Event) error { return wait(ctx) }, Lost: fail,
			})
			if _, err := c.EnqueueJob(ctx, job("a")); err != nil {
				t.Fatal(err)
			}
			if _, err := c.EnqueueEvent(ctx, event("x")); err != nil {
				t.Fatal(err)
			}
			recv(t, "one has begun", begun)
			recv(t, "both have begun", begun)
			before := time.Now()
			stop()
			if took := time.Since(before); took < 300*time.Millisecond || took > 10*time.Second {
				t.Errorf("the shutdown took %s", took)
			}
			for range 2 {
				if cause := recv(t, "it was told", causes); !errors.Is(cause, jobs.ErrShutdown) {
					t.Errorf("the cause is %v, want jobs.ErrShutdown", cause)
				}
			}
			attempts, events := make(chan int, 1), make(chan struct{}, 1)
			work(t, url, queue.WorkerConfig{}, queue.Handlers{
				Job:   func(_ context.Context, _ jobs.Job, attempt int) error { attempts <- attempt; return nil },
				Event: func(context.Context, vcs.Event) error { events <- struct{}{}; return nil }, Lost: fail,
			})
			if n := recv(t, "the job comes back", attempts); n != 0 {
				t.Errorf("the shutdown has counted as a try: attempt %d", n)
			}
			recv(t, "the event comes back", events)
		})
	}
}

// A handler has the values of the context that the worker was made with, not
// its end.
func TestHandlersDoNotEndWithTheProgramsContext(t *testing.T) {
	needRedis(t)
	url := embedded(t, shortDir(t)).URL
	c := client(t, url)
	type name struct{}
	made, cancel := context.WithCancel(context.WithValue(ctx, name{}, "value"))
	defer cancel()
	begun, ended := make(chan any, 1), make(chan error, 1)
	w, err := queue.NewWorker(made, url, queue.WorkerConfig{Runs: 1, Drain: time.Second}, queue.Handlers{
		Event: func(context.Context, vcs.Event) error { return nil },
		Job: func(ctx context.Context, _ jobs.Job, _ int) error {
			begun <- ctx.Value(name{})
			select {
			case <-ctx.Done():
			case <-time.After(300 * time.Millisecond):
			}
			ended <- context.Cause(ctx)
			return nil
		},
	}, (&logged{}).log())
	check(t, err)
	done := make(chan error, 1)
	go func() { done <- w.Run(made) }()
	if _, err := c.EnqueueJob(ctx, job("a")); err != nil {
		t.Fatal(err)
	}
	recv(t, "the job has begun", begun)
	cancel()
	if cause := recv(t, "the job has ended", ended); cause != nil {
		t.Errorf("the job was told to stop: %v", cause)
	}
	check(t, recv(t, "the worker ends", done))
}
