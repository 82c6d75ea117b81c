package store_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

const ttl = 300 * time.Millisecond

func TestLeaseFences(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		first := must(s.Acquire(ctx, "job", "worker-1", ttl))(t)
		if _, err := s.Acquire(ctx, "job", "worker-2", ttl); !errors.Is(err, jobs.ErrLeaseLost) {
			t.Fatalf("a held lease was given: %v", err)
		}
		if !must(s.Held(ctx, "job"))(t) || must(s.Held(ctx, "other"))(t) {
			t.Error("who is held and who is not is told wrongly")
		}
		for range 3 {
			srv.pass(ttl * 2 / 3)
			check(t, first.Renew(ctx))
		}
		srv.pass(ttl + 100*time.Millisecond)
		if must(s.Held(ctx, "job"))(t) {
			t.Error("an expired lease is held")
		}
		if err := first.Renew(ctx); !errors.Is(err, jobs.ErrLeaseLost) {
			t.Errorf("renewing an expired lease: %v, want jobs.ErrLeaseLost", err)
		}
		// The same worker again: what the first lease's holder does still counts for nothing.
		second := must(s.Acquire(ctx, "job", "worker-1", time.Minute))(t)
		if second.Token <= first.Token {
			t.Errorf("token %d after %d", second.Token, first.Token)
		}
		if err := first.Renew(ctx); !errors.Is(err, jobs.ErrLeaseLost) {
			t.Errorf("renewing a lost lease: %v, want jobs.ErrLeaseLost", err)
		}
		check(t, first.Release(ctx))
		if !must(s.Held(ctx, "job"))(t) {
			t.Error("the old holder has released the new one's lease")
		}
		check(t, second.Release(ctx))
		if must(s.Held(ctx, "job"))(t) {
			t.Error("a released lease is held")
		}
		if third := must(s.Acquire(ctx, "job", "worker-3", ttl))(t); third.Token <= second.Token {
			t.Errorf("token %d after %d", third.Token, second.Token)
		}
	})
}

// Whoever has lost the lease can neither act nor write, in whatever way the
// lease was lost.
func TestNothingWithoutTheLease(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		check(t, s.CreateJob(ctx, job("job")))
		if owner := must(s.Owner(ctx, "job"))(t); owner != "" {
			t.Errorf("owner is %q before anybody took it", owner)
		}
		first := must(s.Acquire(ctx, "job", "host:1", ttl))(t)
		if owner := must(s.Owner(ctx, "job"))(t); owner != "host:1" {
			t.Errorf("owner is %q", owner)
		}
		check(t, first.Check(ctx))
		branch := func(name string) func(*store.JobRecord) error {
			return func(r *store.JobRecord) error { r.Branch = name; return nil }
		}
		must(first.UpdateJob(ctx, "job", branch("first")))(t)
		must(first.MoveJob(ctx, "job", jobs.Preparing, "begun", nil))(t)

		// It goes between the reading and the writing of one update.
		_, err := first.UpdateJob(ctx, "job", func(r *store.JobRecord) error {
			srv.pass(ttl + 100*time.Millisecond)
			r.Branch = "late"
			return nil
		})
		refused := map[string]error{"the update under way": err, "Check": first.Check(ctx)}
		_, refused["UpdateJob"] = first.UpdateJob(ctx, "job", branch("late"))
		second := must(s.Acquire(ctx, "job", "host:1", time.Minute))(t) // the same worker
		_, refused["MoveJob"] = first.MoveJob(ctx, "job", jobs.Failed, "late", nil)
		refused["Check of the old one"] = first.Check(ctx)
		for name, err := range refused {
			if !errors.Is(err, jobs.ErrLeaseLost) || errors.Is(err, jobs.ErrUnavailable) {
				t.Errorf("%s: %v, want jobs.ErrLeaseLost", name, err)
			}
		}
		if rec := must(s.Job(ctx, "job"))(t); rec.Branch != "first" || rec.State != jobs.Preparing {
			t.Errorf("a late write is there: %+v", rec)
		}
		must(second.UpdateJob(ctx, "job", branch("second")))(t)
		own := errors.New("own")
		if _, err := second.UpdateJob(ctx, "job", func(*store.JobRecord) error { return own }); !errors.Is(err, own) {
			t.Errorf("a refused update: %v, want its own error", err)
		}
	})
}

// TestRefusalWithoutTheLease: a change that the new holder's record does not
// allow is refused since the lease is lost, and not for the record's sake.
func TestRefusalWithoutTheLease(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		check(t, s.CreateJob(ctx, job("a")))
		first := must(s.Acquire(ctx, "a", "worker-1", ttl))(t)
		no := errors.New("no")
		refuse := func(*store.JobRecord) error { return no }
		if _, err := first.UpdateJob(ctx, "a", refuse); !errors.Is(err, no) {
			t.Errorf("with the lease: %v, want the refusal", err)
		}
		srv.pass(ttl + 100*time.Millisecond)
		if _, err := first.UpdateJob(ctx, "a", refuse); !errors.Is(err, jobs.ErrLeaseLost) {
			t.Errorf("without the lease: %v, want jobs.ErrLeaseLost", err)
		}
	})
}

func TestOneOfManyGetsTheLease(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		var wins atomic.Int32
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				if _, err := s.Acquire(ctx, "job", fmt.Sprint(i), time.Minute); err == nil {
					wins.Add(1)
				} else if !errors.Is(err, jobs.ErrLeaseLost) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if wins.Load() != 1 {
			t.Errorf("%d workers got the lease", wins.Load())
		}
	})
}

func TestJournalNeedsTheLease(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		first := must(s.Acquire(ctx, "job", "worker-1", ttl))(t)
		w := journal.NewWriter("run", first.Journal("run"), time.Now, nil)
		for i := range 3 {
			check(t, w.Append(ctx, journal.TypeNote, journal.Note{Text: fmt.Sprintf("<%d> \u2028", i)}))
		}
		srv.pass(ttl + 100*time.Millisecond)
		old := first.Journal("run")
		if err := w.Append(ctx, journal.TypeNote, journal.Note{Text: "late"}); !errors.Is(err, jobs.ErrLeaseLost) {
			t.Errorf("writing without a lease: %v, want jobs.ErrLeaseLost", err)
		}
		second := must(s.Acquire(ctx, "job", "worker-2", time.Minute))(t)
		if err := old.Append(ctx, 4, []byte("late")); !errors.Is(err, jobs.ErrLeaseLost) {
			t.Errorf("writing with a lost lease: %v, want jobs.ErrLeaseLost", err)
		}
		if errors.Is(old.Append(ctx, 4, []byte("late")), jobs.ErrUnavailable) {
			t.Error("a lost lease counts as a Redis that is away")
		}
		lines := must(s.JournalLines(ctx, "run"))(t)
		got, err := journal.Parse(lines)
		check(t, err)
		want := must(journal.Lines(w.Records()))(t)
		if diff := cmp.Diff(want, lines); diff != "" || len(got) != 3 {
			t.Errorf("journal of %d records (-want +got):\n%s", len(got), diff)
		}
		check(t, second.Journal("run-2").Append(ctx, 1, []byte("new")))
		if n := len(must(s.JournalLines(ctx, "run-2"))(t)); n != 1 {
			t.Errorf("the second run has %d lines", n)
		}
	})
}

func TestJournalTakesALineOnceAndInOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		j := must(s.Acquire(ctx, "job", "worker", time.Minute))(t).Journal("run")
		check(t, j.Append(ctx, 1, []byte("one")))
		check(t, j.Append(ctx, 2, []byte("two")))
		check(t, j.Append(ctx, 2, []byte("two"))) // the answer was lost, the client sends it again
		if err := j.Append(ctx, 2, []byte("other")); err == nil {
			t.Error("another line took the place of one")
		}
		if err := j.Append(ctx, 1, []byte("one")); err == nil {
			t.Error("a line was taken out of order")
		}
		if diff := cmp.Diff([][]byte{[]byte("one"), []byte("two")}, must(s.JournalLines(ctx, "run"))(t)); diff != "" {
			t.Errorf("journal (-want +got):\n%s", diff)
		}
	})
}

func TestRedisAway(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		check(t, s.CreateJob(ctx, job("a")))
		lease := must(s.Acquire(ctx, "a", "worker", time.Minute))(t)
		srv.away()
		calls := map[string]func(context.Context) error{
			"CreateJob": func(ctx context.Context) error { return s.CreateJob(ctx, job("b")) },
			"Job":       func(ctx context.Context) error { _, err := s.Job(ctx, "a"); return err },
			"UpdateJob": func(ctx context.Context) error {
				_, err := s.UpdateJob(ctx, "a", func(*store.JobRecord) error { return nil })
				return err
			},
			"MoveJob":       func(ctx context.Context) error { _, err := s.MoveJob(ctx, "a", jobs.Preparing, "", nil); return err },
			"Recent":        func(ctx context.Context) error { _, err := s.Recent(ctx, 3); return err },
			"Count":         func(ctx context.Context) error { _, err := s.Count(ctx, "x", "y", ttl); return err },
			"Info":          func(ctx context.Context) error { _, err := s.Info(ctx); return err },
			"ClaimThread":   func(ctx context.Context) error { _, err := s.ClaimThread(ctx, thread, "a", ""); return err },
			"Fresh":         func(ctx context.Context) error { _, err := s.Fresh(ctx, "a"); return err },
			"ThreadJob":     func(ctx context.Context) error { _, err := s.ThreadJob(ctx, thread); return err },
			"ReleaseThread": func(ctx context.Context) error { return s.ReleaseThread(ctx, thread, "a") },
			"PushMessage": func(ctx context.Context) error {
				_, err := s.PushMessage(ctx, thread, "a", store.Message{})
				return err
			},
			"TakeMessages": func(ctx context.Context) error { return s.TakeMessages(ctx, "a", "m") },
			"Messages":     func(ctx context.Context) error { _, err := s.Messages(ctx, "a"); return err },
			"Owner":        func(ctx context.Context) error { _, err := s.Owner(ctx, "a"); return err },
			"Check":        lease.Check,
			"Lease.UpdateJob": func(ctx context.Context) error {
				_, err := lease.UpdateJob(ctx, "a", func(*store.JobRecord) error { return nil })
				return err
			},
			"Lease.MoveJob": func(ctx context.Context) error {
				_, err := lease.MoveJob(ctx, "a", jobs.Preparing, "", nil)
				return err
			},
			"Live":        func(ctx context.Context) error { _, err := s.Live(ctx); return err },
			"Reindex":     func(ctx context.Context) error { _, err := s.Reindex(ctx); return err },
			"LastJob":     func(ctx context.Context) error { _, err := s.LastJob(ctx, thread); return err },
			"ThreadJobs":  func(ctx context.Context) error { _, err := s.ThreadJobs(ctx, thread, 3); return err },
			"TakeSlots":   func(ctx context.Context) error { _, err := s.TakeSlots(ctx, job("a"), slots, ttl); return err },
			"KeepSlots":   func(ctx context.Context) error { return s.KeepSlots(ctx, "a", slots, ttl) },
			"FreeSlots":   func(ctx context.Context) error { _, err := s.FreeSlots(ctx, "a", slots); return err },
			"SlotHolders": func(ctx context.Context) error { _, err := s.SlotHolders(ctx, "x"); return err },
			"Reserve":     func(ctx context.Context) error { return s.Reserve(ctx, reservation("1", 1)) },
			"Settle":      func(ctx context.Context) error { return s.Settle(ctx, "1", store.Amount{}) },
			"Drop":        func(ctx context.Context) error { return s.Drop(ctx, "1") },
			"SettleRun":   func(ctx context.Context) error { _, err := s.SettleRun(ctx, "r"); return err },
			"Spent":       func(ctx context.Context) error { _, err := s.Spent(ctx, "x"); return err },
			"RaiseThread": func(ctx context.Context) error { _, err := s.RaiseThread(ctx, thread, "k", 1, 2); return err },
			"Raised":      func(ctx context.Context) error { _, err := s.Raised(ctx, thread); return err },
			"AskApproval": func(ctx context.Context) error { _, err := s.AskApproval(ctx, asked("a", "h")); return err },
			"Approvals":   func(ctx context.Context) error { _, err := s.Approvals(ctx, "a"); return err },
			"Decide": func(ctx context.Context) error {
				_, err := s.Decide(ctx, "a", "1", jobs.Denied, person, "", start)
				return err
			},
			"ExpireApprovals":  func(ctx context.Context) error { _, err := s.ExpireApprovals(ctx, "a", start); return err },
			"Archived":         func(ctx context.Context) error { return s.Archived(ctx, "r") },
			"SetMaintenance":   func(ctx context.Context) error { return s.SetMaintenance(ctx, "x") },
			"Maintenance":      func(ctx context.Context) error { _, _, err := s.Maintenance(ctx); return err },
			"Maintenance ends": func(ctx context.Context) error { return s.SetMaintenance(ctx, "") },
			"Unread":           func(ctx context.Context) error { _, err := s.Unread(ctx, thread); return err },
			"DropMessages":     func(ctx context.Context) error { return s.DropMessages(ctx, thread, "a") },
			"PushPending":      func(ctx context.Context) error { return s.PushPending(ctx, job("b")) },
			"Pending":          func(ctx context.Context) error { _, _, err := s.Pending(ctx, thread); return err },
			"DropPending":      func(ctx context.Context) error { return s.DropPending(ctx, thread, "a") },
			"RequestStop":      func(ctx context.Context) error { return s.RequestStop(ctx, "a", person) },
			"StopRequested":    func(ctx context.Context) error { _, err := s.StopRequested(ctx, "a"); return err },
			"Acquire":          func(ctx context.Context) error { _, err := s.Acquire(ctx, "b", "worker", ttl); return err },
			"Held":             func(ctx context.Context) error { _, err := s.Held(ctx, "a"); return err },
			"Renew":            lease.Renew,
			"Release":          lease.Release,
			"Journal.Append":   func(ctx context.Context) error { return lease.Journal("r").Append(ctx, 1, []byte("x")) },
			"JournalLines":     func(ctx context.Context) error { _, err := s.JournalLines(ctx, "r"); return err },
			"UpdateJob again": func(ctx context.Context) error {
				_, err := s.UpdateJob(ctx, "a", func(*store.JobRecord) error { return nil })
				return err
			},
		}
		var all sync.WaitGroup
		for name, call := range calls {
			all.Go(func() {
				err := call(ctx)
				if !errors.Is(err, jobs.ErrUnavailable) || jobs.ClassOf(err) != jobs.Retryable || errors.Is(err, jobs.ErrLeaseLost) {
					t.Errorf("%s: %v, want jobs.ErrUnavailable", name, err)
				}
			})
		}
		all.Wait()
	})
}

// A server that comes back without the end of a journal gets it again from the
// writer, and never a journal with a hole.
func TestJournalWithoutItsEnd(t *testing.T) {
	srv := miniredis.RunT(t)
	s := open(t, server{url: vcs.Secret("redis://" + srv.Addr())}, nil)
	lease := must(s.Acquire(ctx, "job", "worker", time.Minute))(t)
	sink := lease.Journal("run")
	w := journal.NewWriter("run", sink, time.Now, nil)
	note := func(n int) {
		t.Helper()
		for range n {
			check(t, w.Append(ctx, journal.TypeNote, journal.Note{Text: "x"}))
		}
	}
	note(2)
	kept := must(srv.Stream("greenwright:journal:run"))(t)
	note(3)
	srv.Del("greenwright:journal:run")
	for _, e := range kept {
		must(srv.XAdd("greenwright:journal:run", e.ID, e.Values))(t)
	}
	var gap *jobs.GapError
	if err := sink.Append(ctx, 6, []byte("{}")); !errors.As(err, &gap) || gap.Have != 2 {
		t.Fatalf("a line behind a hole: %v, want a *jobs.GapError at 2", err)
	}
	note(1)
	records, err := journal.Parse(must(s.JournalLines(ctx, "run"))(t))
	if err != nil || len(records) != 6 {
		t.Errorf("%d records, %v", len(records), err)
	}
}
