package queue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/vcs"
)

func TestSameEventAtOnceIsOneTask(t *testing.T) {
	onBoth(t, func(t *testing.T, url vcs.Secret) {
		c := client(t, url)
		var fresh, handled atomic.Int32
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				duplicate, err := c.EnqueueEvent(ctx, event("comment:5"))
				if err != nil {
					t.Error(err)
				}
				if !duplicate {
					fresh.Add(1)
				}
			})
		}
		all.Wait()
		if d, err := c.Depth(ctx); err != nil || fresh.Load() != 1 || d != (queue.Depth{EventsWaiting: 1}) {
			t.Errorf("%d of 5 were new, depth %+v, %v", fresh.Load(), d, err)
		}
		got := make(chan vcs.Event, 5)
		stop := work(t, url, queue.WorkerConfig{}, queue.Handlers{Event: func(_ context.Context, ev vcs.Event) error {
			handled.Add(1)
			got <- ev
			return nil
		}})
		if diff := cmp.Diff(event("comment:5"), recv(t, "event is handled", got)); diff != "" {
			t.Errorf("event (-want +got):\n%s", diff)
		}
		eventually(t, "nothing waits", func() bool { d, err := c.Depth(ctx); return err == nil && d == queue.Depth{} })
		if duplicate, err := c.EnqueueEvent(ctx, event("comment:5")); err != nil || !duplicate {
			t.Errorf("the event again, after it was handled: duplicate %v, %v", duplicate, err)
		}
		if duplicate, err := c.EnqueueEvent(ctx, event("comment:6")); err != nil || duplicate {
			t.Errorf("another event: duplicate %v, %v", duplicate, err)
		}
		recv(t, "the other event is handled", got)
		stop()
		if handled.Load() != 2 {
			t.Errorf("%d events were handled, want 2", handled.Load())
		}
	})
}

func TestJobRoundTrip(t *testing.T) {
	onBoth(t, func(t *testing.T, url vcs.Secret) {
		c := client(t, url)
		for i, want := range []bool{false, true} {
			if duplicate, err := c.EnqueueJob(ctx, job("a")); err != nil || duplicate != want {
				t.Errorf("call %d: duplicate %v, %v", i, duplicate, err)
			}
		}
		got := make(chan jobs.Job, 2)
		work(t, url, queue.WorkerConfig{}, queue.Handlers{Job: func(_ context.Context, j jobs.Job, attempt int) error {
			if attempt != 0 {
				t.Errorf("attempt is %d", attempt)
			}
			got <- j
			return nil
		}})
		if diff := cmp.Diff(job("a"), recv(t, "job is handled", got)); diff != "" {
			t.Errorf("job (-want +got):\n%s", diff)
		}
	})
}

func TestJobNeedsAnID(t *testing.T) {
	onBoth(t, func(t *testing.T, url vcs.Secret) {
		if _, err := client(t, url).EnqueueJob(ctx, job("")); !errors.Is(err, vcs.ErrInvalid) || errors.Is(err, jobs.ErrUnavailable) {
			t.Errorf("error is %v, want vcs.ErrInvalid", err)
		}
	})
}

func TestAway(t *testing.T) {
	c := client(t, "redis://127.0.0.1:1")
	for name, call := range map[string]func() error{
		"Ping":         func() error { return c.Ping(ctx) },
		"EnqueueEvent": func() error { _, err := c.EnqueueEvent(ctx, event("x")); return err },
		"EnqueueJob":   func() error { _, err := c.EnqueueJob(ctx, job("x")); return err },
		"JobWaiting":   func() error { _, err := c.JobWaiting(ctx, "x"); return err },
		"Depth":        func() error { _, err := c.Depth(ctx); return err },
	} {
		if err := call(); !errors.Is(err, jobs.ErrUnavailable) {
			t.Errorf("%s: %v, want jobs.ErrUnavailable", name, err)
		}
	}
	if _, err := queue.Open("http://user:hunter2@x"); !errors.Is(err, vcs.ErrInvalid) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a wrong URL: %v", err)
	}
}

// lost is one call of Handlers.Lost.
type lost struct {
	kind, id string
	err      error
}

// outcome is what a handler answers at its first calls; after that, nil.
func TestWhatBecomesOfAnError(t *testing.T) {
	plain := errors.New("plain trouble")
	cases := []struct {
		name     string
		answers  []error
		panics   bool
		attempts []int
		lost     string        // what Lost is told, empty for nothing
		after    time.Duration // at least, before the second call
	}{
		{name: "done", answers: []error{nil}, attempts: []int{0}},
		{name: "retryable", answers: []error{jobs.Classify(jobs.Retryable, plain)}, attempts: []int{0, 1}},
		{name: "retryable at a time", answers: []error{&jobs.ClassError{Class: jobs.Retryable, RetryAt: time.Now().Add(time.Hour), Err: plain}}, attempts: []int{0, 1}, after: 3500 * time.Millisecond},
		{name: "redis away", answers: []error{jobs.ErrUnavailable}, attempts: []int{0, 1}},
		{name: "permanent", answers: []error{plain}, attempts: []int{0}, lost: "plain trouble"},
		{name: "classified permanent", answers: []error{jobs.Classify(jobs.Permanent, jobs.ErrUnavailable)}, attempts: []int{0}, lost: "queue unavailable"},
		{name: "of an unknown class", answers: []error{jobs.Classify("odd", plain)}, attempts: []int{0}, lost: "plain trouble"},
		{name: "canceled", answers: []error{jobs.ErrStopped}, attempts: []int{0}},
		{name: "refused", answers: []error{jobs.Classify(jobs.RefusedClass, plain)}, attempts: []int{0}},
		{name: "interrupted", answers: []error{jobs.Classify(jobs.InterruptClass, plain), jobs.ErrShutdown}, attempts: []int{0, 0, 0}},
		{name: "held by another", answers: []error{jobs.Classify(jobs.Retryable, jobs.ErrLeaseLost)}, attempts: []int{0, 0}},
		{name: "panic", panics: true, attempts: []int{0}, lost: "panic: boom"},
	}
	needRedis(t)
	url := embedded(t, shortDir(t)).URL
	c := client(t, url)
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			id := strings.ReplaceAll(tc.name, " ", "-")
			var mu sync.Mutex
			var attempts []int
			var times []time.Time
			told := make(chan lost, 3)
			stop := work(t, url, queue.WorkerConfig{}, queue.Handlers{
				Lost: func(_ context.Context, kind, id string, err error) { told <- lost{kind, id, err} },
				Job: func(_ context.Context, _ jobs.Job, attempt int) error {
					mu.Lock()
					defer mu.Unlock()
					n := len(attempts)
					attempts, times = append(attempts, attempt), append(times, time.Now())
					if tc.panics {
						panic("boom")
					}
					if n >= len(tc.answers) {
						return nil
					}
					var ce *jobs.ClassError
					if errors.As(tc.answers[n], &ce) && !ce.RetryAt.IsZero() {
						ce.RetryAt = time.Now().Add(3500 * time.Millisecond)
					}
					return tc.answers[n]
				},
			})
			defer stop()
			if _, err := c.EnqueueJob(ctx, job(id)); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the queue is done with the job", func() bool { w, err := c.JobWaiting(ctx, jobs.JobID(id)); return err == nil && !w })
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(tc.attempts, attempts); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
			if len(times) > 1 && times[1].Sub(times[0]) < tc.after {
				t.Errorf("tried again after %s, want at least %s", times[1].Sub(times[0]), tc.after)
			}
			if tc.lost == "" {
				if len(told) > 0 {
					t.Errorf("a loss was told: %+v", <-told)
				}
				return
			}
			l := recv(t, "the loss is told", told)
			if l.kind != queue.KindJob || l.id != id || l.err.Error() != tc.lost {
				t.Errorf("told of %s %s: %q, want %q", l.kind, l.id, l.err, tc.lost)
			}
		})
	}
}

func TestEventsAreGivenUpToo(t *testing.T) {
	needRedis(t)
	url := embedded(t, shortDir(t)).URL
	c := client(t, url)
	told := make(chan lost, 1)
	var out logged
	workLogged(t, url, queue.WorkerConfig{}, queue.Handlers{
		Event: func(context.Context, vcs.Event) error { panic("boom") },
		Lost: func(_ context.Context, kind, id string, err error) {
			told <- lost{kind, id, err}
			panic("the one who is told panics as well")
		},
	}, &out)
	if _, err := c.EnqueueEvent(ctx, event("x")); err != nil {
		t.Fatal(err)
	}
	if l := recv(t, "the loss is told", told); l.kind != queue.KindEvent {
		t.Errorf("told of a %s", l.kind)
	}
	eventually(t, "the event is in the archive", func() bool { d, err := c.Depth(ctx); return err == nil && d == queue.Depth{EventsArchived: 1} })
	if duplicate, err := c.EnqueueEvent(ctx, event("x")); err != nil || !duplicate {
		t.Errorf("an event from the archive, again: duplicate %v, %v", duplicate, err)
	}
	if !strings.Contains(out.String(), "TestEventsAreGivenUpToo") {
		t.Errorf("the stack of the panic is not in the log:\n%s", out.String())
	}
}

// JobWaiting is true for a job that will run, or runs; Depth counts the same.
func TestJobWaitingAndDepth(t *testing.T) {
	needRedis(t)
	url := embedded(t, shortDir(t)).URL
	c := client(t, url)
	waiting := func(id string, want bool, d queue.Depth) {
		t.Helper()
		var got bool
		var depth queue.Depth
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end) && (got != want || depth != d || depth == queue.Depth{RunsWaiting: -1}); <-time.After(10 * time.Millisecond) {
			var err error
			if got, err = c.JobWaiting(ctx, jobs.JobID(id)); err != nil {
				t.Fatal(err)
			}
			if depth, err = c.Depth(ctx); err != nil {
				t.Fatal(err)
			}
			if got == want && depth == d {
				return
			}
		}
		if got != want || depth != d {
			t.Errorf("%s waits: %v, want %v; depth is %+v, want %+v", id, got, want, depth, d)
		}
	}
	if w, err := c.JobWaiting(ctx, "never"); w || err != nil { // not even the queue is there
		t.Errorf("a job that never was waits: %v, %v", w, err)
	}
	if d, err := c.Depth(ctx); err != nil || d != (queue.Depth{}) {
		t.Errorf("depth of queues that are not there: %+v, %v", d, err)
	}
	for i, id := range []string{"done", "archived", "retry", "active"} {
		if _, err := c.EnqueueJob(ctx, job(id)); err != nil {
			t.Fatal(err)
		}
		waiting(id, true, queue.Depth{RunsWaiting: i + 1})
	}
	waiting("unknown", false, queue.Depth{RunsWaiting: 4})
	begun, release := make(chan struct{}), make(chan struct{})
	stop := work(t, url, queue.WorkerConfig{Drain: time.Second}, queue.Handlers{Job: func(_ context.Context, j jobs.Job, _ int) error {
		switch j.ID {
		case "archived":
			return errors.New("permanent")
		case "retry":
			return &jobs.ClassError{Class: jobs.Retryable, RetryAt: time.Now().Add(time.Hour), Err: errors.New("later")}
		case "active":
			close(begun)
			<-release
		}
		return nil
	}})
	recv(t, "the job is active", begun)
	for id, want := range map[string]bool{"done": false, "archived": false, "retry": true, "active": true} {
		waiting(id, want, queue.Depth{RunsWaiting: 1, RunsActive: 1})
	}
	close(release)
	stop()
	for id, want := range map[string]bool{"done": false, "archived": false, "retry": true, "active": false} {
		waiting(id, want, queue.Depth{RunsWaiting: 1})
	}
}

func TestManyEventsAreEachHandledOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, url vcs.Secret) {
		c := client(t, url)
		const events = 60
		var mu sync.Mutex
		seen := map[string]int{}
		handler := queue.Handlers{Event: func(_ context.Context, ev vcs.Event) error {
			mu.Lock()
			defer mu.Unlock()
			seen[ev.Object]++
			return nil
		}}
		work(t, url, queue.WorkerConfig{}, handler)
		work(t, url, queue.WorkerConfig{}, handler) // a second process
		for i := range events {
			if _, err := c.EnqueueEvent(ctx, event(fmt.Sprint(i))); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "nothing waits", func() bool { d, err := c.Depth(ctx); return err == nil && d == queue.Depth{} })
		mu.Lock()
		defer mu.Unlock()
		for i := range events {
			if n := seen[fmt.Sprint(i)]; n != 1 {
				t.Errorf("event %d was handled %d times", i, n)
			}
		}
	})
}
