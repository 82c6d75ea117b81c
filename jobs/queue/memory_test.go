package queue_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// finish does with a job what a run of the program does in Redis.
func finish(ctx context.Context, s *store.Store, j jobs.Job) error {
	if err := s.CreateJob(ctx, j); err != nil {
		return err
	}
	if _, err := s.ClaimThread(ctx, j.Thread, j.ID, ""); err != nil {
		return err
	}
	slots := []store.Slot{{Name: "repo", Limit: 9}}
	if _, err := s.TakeSlots(ctx, j, slots, time.Minute); err != nil {
		return err
	}
	lease, err := s.Acquire(ctx, j.ID, "worker", time.Minute)
	if err != nil {
		return err
	}
	run := jobs.RunID("0193-" + string(j.ID))
	if _, err := lease.MoveJob(ctx, j.ID, jobs.Preparing, "begun", func(r *store.JobRecord) { r.Run, r.Attempts = run, 1 }); err != nil {
		return err
	}
	for seq := range 40 {
		if err := lease.Journal(run).Append(ctx, uint64(seq+1), bytes.Repeat([]byte("x"), 1024)); err != nil {
			return err
		}
	}
	r := store.Reservation{ID: string(run) + ":1", Run: run, Amount: store.Amount{MicroUSD: 5}, Scopes: []store.Scope{{Name: "run:" + string(run)}, {Name: "thread:" + j.Thread.Key()}, {Name: "repo"}, {Name: "month"}}}
	if err := s.Reserve(ctx, r); err != nil {
		return err
	}
	if err := s.Settle(ctx, r.ID, r.Amount); err != nil {
		return err
	}
	if err := s.Archived(ctx, run); err != nil {
		return err
	}
	if _, err := lease.MoveJob(ctx, j.ID, jobs.NeedsHuman, "a reason of some length", func(r *store.JobRecord) { r.Untold = strings.Repeat("report ", 500) }); err != nil {
		return err
	}
	if _, err := lease.UpdateJob(ctx, j.ID, func(r *store.JobRecord) error { r.Untold = ""; return nil }); err != nil {
		return err
	}
	if _, err := s.FreeSlots(ctx, j.ID, slots); err != nil {
		return err
	}
	if err := lease.Release(ctx); err != nil {
		return err
	}
	return s.ReleaseThread(ctx, j.Thread, j.ID)
}

// What a finished job and its event leave behind in Redis, over all keys.
func TestMemoryOfAFinishedJob(t *testing.T) {
	needRedis(t)
	url := embedded(t, shortDir(t)).URL
	c, r := client(t, url), raw(t, url)
	s, err := store.Open(url, time.Now)
	check(t, err)
	t.Cleanup(func() { _ = s.Close() })
	stop := work(t, url, queue.WorkerConfig{Runs: 4}, queue.Handlers{
		Job: func(ctx context.Context, j jobs.Job, _ int) error { return finish(ctx, s, j) },
		Event: func(ctx context.Context, ev vcs.Event) error {
			j := jobOfRepo("r", ev.Thread.Number)
			j.Command.Text = strings.Repeat("please fix it ", 20)
			_, err := c.EnqueueJob(ctx, j)
			return err
		},
	})
	const n = 200
	for i := range n {
		ev := event(fmt.Sprint(i))
		ev.Thread.Number, ev.Comment.Body = i, strings.Repeat("a comment of some length ", 160)
		_, err := c.EnqueueEvent(ctx, ev)
		check(t, err)
	}
	eventually(t, "all are handled", func() bool {
		recs, err := s.Recent(ctx, n)
		d, err2 := c.Depth(ctx)
		return err == nil && err2 == nil && len(recs) == n && d == queue.Depth{} && !slices.ContainsFunc(recs, func(r store.JobRecord) bool { return !r.State.Final() })
	})
	stop()
	kinds, total, soon := map[string]int64{}, int64(0), int64(0)
	for _, k := range r.Keys(ctx, "*").Val() {
		bytes := r.MemoryUsage(ctx, k).Val()
		if ttl := r.TTL(ctx, k).Val(); ttl > 0 && ttl <= time.Hour {
			soon += bytes
			continue
		}
		total += bytes
		kinds[strings.Join(strings.Split(k, ":")[:2], ":")] += bytes
	}
	for kind, bytes := range kinds {
		t.Logf("%-28s %6d bytes per job", kind, bytes/n)
	}
	t.Logf("a finished job leaves %d bytes, %d more for an hour at most", total/n, soon/n)
	if most := int64(4 << 10); total/n > most {
		t.Errorf("a finished job leaves %d bytes, want at most %d", total/n, most)
	}
}
