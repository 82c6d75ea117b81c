package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

func ids(recs []store.JobRecord) []jobs.JobID {
	var out []jobs.JobID
	for _, r := range recs {
		out = append(out, r.Job.ID)
	}
	return out
}

// raw is a client beside the store.
func raw(t testing.TB, srv server) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(srv.url.Reveal())
	check(t, err)
	c := redis.NewClient(opts)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestLive(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		at := start
		s := open(t, srv, func() time.Time { return at })
		for _, id := range []string{"c", "a", "b", "d"} {
			check(t, s.CreateJob(ctx, job(id)))
			at = at.Add(time.Second)
		}
		live := func(want ...jobs.JobID) {
			t.Helper()
			if diff := cmp.Diff(want, ids(must(s.Live(ctx))(t))); diff != "" {
				t.Errorf("live (-want +got):\n%s", diff)
			}
		}
		live("c", "a", "b", "d")
		must(s.MoveJob(ctx, "c", jobs.Preparing, "", nil))(t)
		must(s.MoveJob(ctx, "a", jobs.Failed, "", nil))(t)
		lease := must(s.Acquire(ctx, "d", "w", time.Minute))(t)
		must(lease.MoveJob(ctx, "d", jobs.NeedsHuman, "", nil))(t)
		live("c", "b")
		must(s.UpdateJob(ctx, "a", func(r *store.JobRecord) error { r.Untold = ""; return nil }))(t) // after its end
		check(t, s.CreateJob(ctx, job("a")))                                                         // an event again
		live("c", "b")

		c := raw(t, srv)
		check(t, c.Del(ctx, "greenwright:jobs:live").Err())
		live()
		if n := must(s.Reindex(ctx))(t); n != 2 {
			t.Errorf("%d jobs were missing, want 2", n)
		}
		live("c", "b")
		if n := must(s.Reindex(ctx))(t); n != 0 {
			t.Errorf("%d jobs were missing, want none", n)
		}
		check(t, c.Del(ctx, "greenwright:job:c").Err()) // too old
		check(t, c.ZAdd(ctx, "greenwright:jobs:live", redis.Z{Score: 1, Member: "a"}).Err())
		live("b")
		if n := c.ZCard(ctx, "greenwright:jobs:live").Val(); n != 1 {
			t.Errorf("the set has %d members", n)
		}
	})
}

// A record of an older version is in no set.
func TestReindexFindsOldRecords(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s, c := open(t, srv, nil), raw(t, srv)
		const n = 700 // more than a batch
		for i := range n {
			state := jobs.Working
			if i%7 != 0 {
				state = jobs.Verified
			}
			b, err := json.Marshal(map[string]any{"job": job(fmt.Sprint(i)), "state": state, "created_at": start.Add(time.Duration(n-i) * time.Second)})
			check(t, err)
			check(t, c.Set(ctx, "greenwright:job:"+fmt.Sprint(i), b, time.Hour).Err())
		}
		if found := must(s.Reindex(ctx))(t); found != n/7 {
			t.Errorf("found %d, want %d", found, n/7)
		}
		got := must(s.Live(ctx))(t)
		if len(got) != n/7 || got[0].Job.ID != "693" {
			t.Errorf("%d are live, the oldest is %v", len(got), ids(got)[:1])
		}
		if got := must(s.ThreadJobs(ctx, thread, 3))(t); len(got) != 3 || got[0].Job.ID != "0" {
			t.Errorf("jobs of the thread: %v", ids(got))
		}
	})
}

func TestLastJobOfAThread(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		at := start
		s := open(t, srv, func() time.Time { return at })
		if _, err := s.LastJob(ctx, thread); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("before any: %v", err)
		}
		for i := range 60 {
			check(t, s.CreateJob(ctx, job(fmt.Sprint(i))))
			at = at.Add(time.Second)
		}
		end := func(id jobs.JobID, into jobs.JobID) {
			must(s.MoveJob(ctx, id, jobs.Canceled, "", func(r *store.JobRecord) { r.Into = into }))(t)
		}
		end("5", "")
		end("3", "")
		end("4", "9") // became a message
		must(s.UpdateJob(ctx, "5", func(r *store.JobRecord) error { r.Untold = "x"; return nil }))(t)
		if got := must(s.LastJob(ctx, thread))(t); got.Job.ID != "3" {
			t.Errorf("the last one is %s, want 3", got.Job.ID)
		}
		other := vcs.Thread{Repo: thread.Repo, Number: 8}
		if _, err := s.LastJob(ctx, other); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("of another thread: %v", err)
		}
		if diff := cmp.Diff([]jobs.JobID{"59", "58"}, ids(must(s.ThreadJobs(ctx, thread, 2))(t))); diff != "" {
			t.Errorf("jobs of the thread (-want +got):\n%s", diff)
		}
		if n := len(must(s.ThreadJobs(ctx, thread, 1000))(t)); n != 50 {
			t.Errorf("%d jobs of the thread are known, want 50", n)
		}
	})
}

func TestMaintenance(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		for _, text := range []string{"", "moving", "", ""} {
			check(t, s.SetMaintenance(ctx, text))
			got, on, err := s.Maintenance(ctx)
			if got != text || on != (text != "") || err != nil {
				t.Errorf("maintenance is %q, %v, %v; want %q", got, on, err, text)
			}
		}
	})
}

func TestAnArchivedJournalGoesSoon(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s, c := open(t, srv, nil), raw(t, srv)
		j := must(s.Acquire(ctx, "job", "w", time.Minute))(t).Journal("run")
		left := func() time.Duration { return c.TTL(ctx, "greenwright:journal:run").Val() }
		check(t, j.Append(ctx, 1, []byte("one")))
		check(t, s.Archived(ctx, "run"))
		if d := left(); d > time.Hour || d < 50*time.Minute {
			t.Errorf("it lives for %s", d)
		}
		check(t, j.Append(ctx, 2, []byte("two")))
		if d := left(); d < 6*24*time.Hour {
			t.Errorf("a journal that goes on lives for %s", d)
		}
		check(t, s.Archived(ctx, "never")) // nothing to shorten
	})
}

func TestSwapsOfTheSameRecordDoNotMeet(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, func() time.Time { return start }) // all writes are the same bytes
		check(t, s.CreateJob(ctx, job("a")))
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				if _, err := s.UpdateJob(ctx, "a", func(r *store.JobRecord) error { r.Attempts++; return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := must(s.Job(ctx, "a"))(t).Attempts; got != 6 {
			t.Errorf("%d of 6 updates are there", got)
		}
	})
}

// A job whose end is not told yet is live until it is, and its thread's last
// job from the beginning of that: what is told late takes no other's place.
func TestUntoldIsLive(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		end := func(id, untold string) {
			check(t, s.CreateJob(ctx, job(id)))
			must(s.MoveJob(ctx, jobs.JobID(id), jobs.Failed, "x", func(r *store.JobRecord) { r.Untold = untold }))(t)
		}
		end("a", "It failed.")
		if live := must(s.Live(ctx))(t); len(live) != 1 || live[0].Job.ID != "a" {
			t.Errorf("live: %+v", live)
		}
		end("b", "")
		must(s.UpdateJob(ctx, "a", func(r *store.JobRecord) error { r.Untold = ""; return nil }))(t)
		if live := must(s.Live(ctx))(t); len(live) != 0 {
			t.Errorf("live after all is told: %+v", live)
		}
		if last := must(s.LastJob(ctx, thread))(t); last.Job.ID != "b" {
			t.Errorf("the last job is %s", last.Job.ID)
		}
	})
}

// A record that this version cannot read hides no other.
func TestOneUnreadableRecord(t *testing.T) {
	srv := miniredis.RunT(t)
	s := open(t, server{url: vcs.Secret("redis://" + srv.Addr())}, nil)
	for _, id := range []string{"a", "b", "c"} {
		check(t, s.CreateJob(ctx, job(id)))
	}
	check(t, srv.Set("greenwright:job:b", "{\"job\":7}"))
	if live := must(s.Live(ctx))(t); len(live) != 2 {
		t.Errorf("live: %+v", live)
	}
	if n := must(s.Reindex(ctx))(t); n != 0 {
		t.Errorf("%d were missing", n)
	}
}
