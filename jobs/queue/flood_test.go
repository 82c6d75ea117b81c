package queue_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// office works through jobs as a worker of the program does: a slot of the
// repository, one of its own.
type office struct {
	t       *testing.T
	client  *queue.Client
	store   *store.Store
	ceiling int
	runs    int
	takes   time.Duration // one run

	mu    sync.Mutex
	begun []jobs.JobID // under mu
	live  int          // under mu
	most  int          // under mu
	when  map[jobs.JobID]time.Time
}

func newOffice(t *testing.T, url vcs.Secret, ceiling, runs int, takes time.Duration) *office {
	t.Helper()
	s, err := store.Open(url, time.Now)
	check(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return &office{t: t, client: client(t, url), store: s, ceiling: ceiling, runs: runs, takes: takes, when: map[jobs.JobID]time.Time{}}
}

func (o *office) handle(ctx context.Context, job jobs.Job, _ int) error {
	slots := []store.Slot{{Name: "repo:" + job.Thread.Repo.FullName(), Limit: o.ceiling}, {Name: "worker:1", Limit: o.runs}}
	turn, err := o.store.TakeSlots(ctx, job, slots, time.Minute)
	if err != nil {
		return err
	}
	if err := turn.Busy(time.Now()); err != nil {
		return err
	}
	o.mu.Lock()
	o.begun, o.when[job.ID] = append(o.begun, job.ID), time.Now()
	o.live++
	o.most = max(o.most, o.live)
	o.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(o.takes):
	}
	o.mu.Lock()
	o.live--
	o.mu.Unlock()
	next, err := o.store.FreeSlots(context.WithoutCancel(ctx), job.ID, slots)
	if err != nil {
		return err
	}
	return o.client.Wake(context.WithoutCancel(ctx), next...)
}

func (o *office) began(id jobs.JobID) (time.Time, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	at, ok := o.when[id]
	return at, ok
}

// jobOfRepo is the nth job of a repository.
func jobOfRepo(repo string, n int) jobs.Job {
	j := job(fmt.Sprintf("%s-%d", repo, n))
	j.Thread.Repo.Name, j.Thread.Number = repo, n
	j.CreatedAt = j.CreatedAt.Add(time.Duration(n) * time.Second)
	return j
}

// 200 jobs of one repository, then one of another: it begins within the time
// of one run, with a ceiling per repository and also without.
func TestAFloodDelaysOthersByOneRun(t *testing.T) {
	needRedis(t)
	for _, ceiling := range []int{2, 0} {
		t.Run(fmt.Sprintf("ceiling %d", ceiling), func(t *testing.T) {
			t.Parallel()
			url := embedded(t, shortDir(t)).URL
			const flood, runs, takes = 200, 4, 2 * time.Second
			o := newOffice(t, url, ceiling, runs, takes)
			for i := range flood {
				_, err := o.client.EnqueueJob(ctx, jobOfRepo("big", i))
				check(t, err)
			}
			stop := work(t, url, queue.WorkerConfig{Runs: runs, Lobby: 2, Drain: 100 * time.Millisecond}, queue.Handlers{Job: o.handle})
			eventually(t, "the flood has begun", func() bool { _, ok := o.began("big-0"); return ok })
			_, err := o.client.EnqueueJob(ctx, jobOfRepo("small", 0))
			check(t, err)
			asked := time.Now()
			eventually(t, "the other has begun", func() bool { _, ok := o.began("small-0"); return ok })
			at, _ := o.began("small-0")
			t.Logf("the other began after %s", at.Sub(asked).Round(time.Millisecond))
			const look = 500 * time.Millisecond // the queue is looked at now and then
			if at.Sub(asked) > takes+look {
				t.Errorf("the other waited %s, a run takes %s", at.Sub(asked), takes)
			}
			eventually(t, "the flood goes on", func() bool { o.mu.Lock(); defer o.mu.Unlock(); return len(o.begun) > 12 })
			stop()
			o.mu.Lock()
			defer o.mu.Unlock()
			if o.most > runs {
				t.Errorf("%d ran at once, want at most %d", o.most, runs)
			}
			place := 0
			for _, id := range o.begun {
				if id == "small-0" {
					continue
				}
				var n int
				_, err := fmt.Sscanf(string(id), "big-%d", &n)
				check(t, err)
				if n-place > runs+2 {
					t.Errorf("%s began at place %d", id, place)
				}
				place++
			}
		})
	}
}

// Nobody waits for ever, and every job runs once.
func TestAFloodIsWorkedOff(t *testing.T) {
	needRedis(t)
	url := embedded(t, shortDir(t)).URL
	const repos, each = 5, 40
	o := newOffice(t, url, 2, 4, 5*time.Millisecond)
	for i := range each {
		for r := range repos {
			_, err := o.client.EnqueueJob(ctx, jobOfRepo(fmt.Sprint("r", r), i))
			check(t, err)
		}
	}
	begun := time.Now()
	work(t, url, queue.WorkerConfig{Runs: 4, Lobby: 2}, queue.Handlers{Job: o.handle})
	eventually(t, "all have run", func() bool {
		d, err := o.client.Depth(ctx)
		return err == nil && d == queue.Depth{}
	})
	t.Logf("%d jobs took %s", repos*each, time.Since(begun).Round(time.Millisecond))
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.begun) != repos*each || len(o.when) != repos*each {
		t.Errorf("%d runs of %d jobs, want %d", len(o.begun), len(o.when), repos*each)
	}
	if o.most > 4 {
		t.Errorf("%d ran at once", o.most)
	}
}
