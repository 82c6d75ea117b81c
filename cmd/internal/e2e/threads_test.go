package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/store"
)

const (
	// chaosThreads is how many threads ask at once.
	chaosThreads = "CHAOS_THREADS"
	usualThreads = 60
	crewSize     = 4
	// perRun is what may be left of a run in Redis when its journal has gone
	// to the archive: the job's record, marks against a second one, its place
	// in lists. Measured: 1.8 kB.
	perRun = 4 << 10
)

// TestThreads: many threads ask at once, each three times over: by two hooks,
// one of which delivers again. Each has one job and one run, and what Redis
// keeps of a run is little.
func TestThreads(t *testing.T) {
	n := int(number(t, chaosThreads, usualThreads))
	answer := does("finish", map[string]any{"summary": "read it", "answer": "It subtracts."})
	c := newChaos(t, forever(func(modeltest.Request) modeltest.Reply { return calls(answer) }))
	c.front = true
	for i := range crewSize {
		cmd := c.worker(pace + "=20000") // of a machine that is not busy with itself
		if i < 2 {
			c.hub.AddHook(c.hookAt(c.addrs[cmd]))
		}
	}
	rdb := c.client()
	before := used(t, rdb)
	begun := time.Now()
	asked := map[int64]time.Time{}
	for i := range n {
		at := time.Now()
		_, comment := c.issue(fmt.Sprintf("Question %d", i), "", "/agent ask why?")
		asked[comment.ID] = at
	}
	c.redeliver()
	st := c.store()
	c.awaitFor(time.Minute+time.Duration(n)*3*time.Second, "all ends", func() error { return c.allEnded(st, n) })
	took := time.Since(begun)
	c.quiet()
	c.checkThreads(st, asked)
	t.Logf("%d threads, %d deliveries in %s", n, len(c.commentDeliveries()), took.Round(100*time.Millisecond))
	c.checkMemory(rdb, n, used(t, rdb)-before)
}

// commentDeliveries are those that ask.
func (c *chaos) commentDeliveries() (n []string) {
	for _, d := range c.hub.Deliveries() {
		if d.Event == "issue_comment" && strings.Contains(string(d.Body), "/agent ask") {
			n = append(n, d.ID)
		}
	}
	return n
}

// redeliver sends everything of one hook again, while workers work.
func (c *chaos) redeliver() {
	c.t.Helper()
	if err := c.hub.Flush(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	url := ""
	for _, d := range c.hub.Deliveries() {
		if url == "" {
			url = d.URL
		}
		if d.URL == url && d.Event == "issue_comment" {
			c.hub.Redeliver(d, 1)
		}
	}
	if err := c.hub.Flush(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

func (c *chaos) allEnded(st *store.Store, n int) error {
	recs, err := st.Recent(c.t.Context(), 10*n)
	if err != nil {
		return err
	}
	ended := 0
	for _, rec := range recs {
		if rec.State.Final() && rec.Untold == "" {
			ended++
		}
	}
	if ended < n {
		return fmt.Errorf("%d of %d have ended", ended, n)
	}
	return nil
}

// checkThreads: one job, one run, one comment in each thread, and no two runs
// of a thread at the same time.
func (c *chaos) checkThreads(st *store.Store, asked map[int64]time.Time) {
	c.t.Helper()
	recs, err := c.records(c.t.Context(), st)
	if err != nil {
		c.t.Fatal(err)
	}
	archive, err := journal.OpenArchive(c.t.Context(), c.bucket)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	held, err := archive.Runs(c.t.Context())
	if err != nil || len(held) != len(asked) {
		c.t.Errorf("%d runs in the bucket for %d threads, %v", len(held), len(asked), err)
	}
	spans := map[int][]journal.Report{}
	var waits []time.Duration
	for _, h := range held {
		records, err := archive.Load(c.t.Context(), h.Run)
		if err != nil {
			c.t.Fatal(err)
		}
		report, err := journal.Fold(records)
		if err != nil {
			c.t.Fatal(err)
		}
		job := report.Started.Job
		waits = append(waits, report.Begin.Sub(asked[job.Comment.ID]))
		for _, other := range spans[job.Thread.Number] {
			if report.Begin.Before(other.End) && other.Begin.Before(report.End) {
				c.t.Errorf("runs %s and %s of thread %d lived at the same time", report.Run, other.Run, job.Thread.Number)
			}
		}
		spans[job.Thread.Number] = append(spans[job.Thread.Number], report)
	}
	for id := range asked {
		if len(recs[id]) != 1 || recs[id][0].State != jobs.Answered || recs[id][0].Attempts != 1 {
			c.t.Errorf("comment %d became %+v", id, recs[id])
			continue
		}
		if number := recs[id][0].Job.Thread.Number; len(spans[number]) != 1 || len(c.ours(number)) != 1 {
			c.t.Errorf("thread %d has %d runs and %d comments", number, len(spans[number]), len(c.ours(number)))
		}
	}
	slices.Sort(waits)
	c.t.Logf("from delivery to start: p50 %s, p99 %s", waits[len(waits)/2].Round(time.Millisecond), waits[len(waits)*99/100].Round(time.Millisecond))
}

// used is the memory of the server's data, in bytes.
func used(t *testing.T, rdb *redis.Client) int64 {
	t.Helper()
	info, err := rdb.InfoMap(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	if _, err := fmt.Sscan(info["Memory"]["used_memory"], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// kept is what keys of one kind take.
type kept struct {
	keys  int
	bytes int64
	// later is what of it is there after an hour and a minute, and at most how
	// long the keys stay; negative for good.
	later int64
	ttl   time.Duration
}

// checkMemory adds up what the runs take in Redis, now and when their journals
// are only in the archive.
func (c *chaos) checkMemory(rdb *redis.Client, n int, grown int64) {
	c.t.Helper()
	ctx := c.t.Context()
	kinds, total := map[string]*kept{}, kept{}
	iter := rdb.Scan(ctx, 0, "*", 1000).Iterator()
	for iter.Next(ctx) {
		size, ttl, err := weigh(ctx, rdb, iter.Val())
		if err != nil {
			c.t.Fatal(err)
		}
		kind := kindOf(iter.Val())
		if kinds[kind] == nil {
			kinds[kind] = &kept{}
		}
		for _, k := range []*kept{kinds[kind], &total} {
			k.keys, k.bytes = k.keys+1, k.bytes+size
			if ttl < 0 || ttl > time.Hour+time.Minute {
				k.later += size
			}
			if ttl < 0 || k.ttl >= 0 && ttl > k.ttl {
				k.ttl = ttl
			}
		}
	}
	if err := iter.Err(); err != nil {
		c.t.Fatal(err)
	}
	for kind, k := range kinds {
		life := "for good"
		if k.ttl >= 0 {
			life = "at most " + k.ttl.Round(time.Second).String()
		}
		c.t.Logf("%-28s %6d keys, %6d bytes a run, %6d after the journal's hour, %s", kind, k.keys, k.bytes/int64(n), k.later/int64(n), life)
	}
	c.t.Logf("in all %d bytes a run, %d after the journal's hour; used_memory grew by %d a run", total.bytes/int64(n), total.later/int64(n), grown/int64(n))
	if total.later/int64(n) > perRun {
		c.t.Errorf("%d bytes are left of a run, want at most %d", total.later/int64(n), perRun)
	}
}

func weigh(ctx context.Context, rdb *redis.Client, key string) (int64, time.Duration, error) {
	pipe := rdb.Pipeline()
	size, ttl := pipe.MemoryUsage(ctx, key, 0), pipe.PTTL(ctx, key)
	_, err := pipe.Exec(ctx)
	return size.Val(), ttl.Val(), err
}

// kindOf is a key without what is a job's own.
func kindOf(key string) string {
	parts := strings.SplitN(key, ":", 4)
	if parts[0] == "greenwright" && len(parts) > 2 {
		return strings.Join(parts[:2], ":")
	}
	return strings.Join(parts[:min(len(parts), 3)], ":")
}
