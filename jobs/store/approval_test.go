package store_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

func asked(job jobs.JobID, hash string) jobs.Approval {
	return jobs.Approval{Job: job, Run: "run", Kind: jobs.ApproveCommand, Hash: hash, Shown: "rm -rf <x>", Reason: "why", AskedAt: start, Expires: start.Add(jobs.ApprovalLife)}
}

func TestApprovals(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		first := must(s.AskApproval(ctx, asked("a", "h1")))(t)
		again := must(s.AskApproval(ctx, asked("a", "h1")))(t) // a resumed run
		second := must(s.AskApproval(ctx, asked("a", "h2")))(t)
		if first.ID != "1" || second.ID != "2" || !cmp.Equal(first, again) {
			t.Errorf("asked are %+v, %+v and %+v", first, again, second)
		}
		must(s.AskApproval(ctx, asked("b", "h1")))(t)
		if diff := cmp.Diff([]jobs.Approval{first, second}, must(s.Approvals(ctx, "a"))(t)); diff != "" {
			t.Errorf("approvals (-want +got):\n%s", diff)
		}
		now := start.Add(time.Hour)
		got := must(s.Decide(ctx, "a", "1", jobs.Denied, person, "no <way>", now))(t)
		want := first
		want.Decision, want.By, want.Why, want.DecidedAt = jobs.Denied, person, "no <way>", now
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("decided (-want +got):\n%s", diff)
		}
		other, err := s.Decide(ctx, "a", "1", jobs.Approved, vcs.Actor{ID: 3, Login: "other"}, "", now)
		if !errors.Is(err, store.ErrDecided) || !cmp.Equal(want, other) {
			t.Errorf("approving what is denied: %+v, %v", other, err)
		}
		if diff := cmp.Diff(want, must(s.AskApproval(ctx, asked("a", "h1")))(t)); diff != "" {
			t.Errorf("asked again after the denial (-want +got):\n%s", diff)
		}
		if got := must(s.Decide(ctx, "a", "2", jobs.Approved, person, "", now))(t); got.Decision != jobs.Approved {
			t.Errorf("the other one is %q", got.Decision)
		}
		for _, id := range []string{"3", ""} {
			if _, err := s.Decide(ctx, "a", id, jobs.Approved, person, "", now); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("approval %q: %v, want store.ErrNotFound", id, err)
			}
		}
		for _, d := range []jobs.Decision{jobs.Waiting, jobs.Expired, "maybe"} {
			if _, err := s.Decide(ctx, "b", "1", d, person, "", now); !errors.Is(err, vcs.ErrInvalid) {
				t.Errorf("decision %q: %v, want vcs.ErrInvalid", d, err)
			}
		}
		named := asked("b", "h2")
		named.ID = "1"
		if _, err := s.AskApproval(ctx, named); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("an id twice: %v", err)
		}
		if _, err := s.AskApproval(ctx, asked("b", "")); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("without a hash: %v", err)
		}
	})
}

func TestApprovalsExpire(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		for _, hash := range []string{"h1", "h2", "h3"} {
			must(s.AskApproval(ctx, asked("a", hash)))(t)
		}
		end := start.Add(jobs.ApprovalLife)
		must(s.Decide(ctx, "a", "2", jobs.Approved, person, "", end.Add(-time.Second)))(t)
		if got := must(s.ExpireApprovals(ctx, "a", end.Add(-time.Nanosecond)))(t); len(got) != 0 {
			t.Errorf("expired too early: %+v", got)
		}
		got, err := s.Decide(ctx, "a", "1", jobs.Approved, person, "", end)
		if !errors.Is(err, store.ErrExpired) || got.Decision != jobs.Expired {
			t.Errorf("approving too late: %+v, %v", got, err)
		}
		expired := must(s.ExpireApprovals(ctx, "a", end))(t)
		if len(expired) != 1 || expired[0].ID != "3" || expired[0].Decision != jobs.Expired {
			t.Errorf("expired now: %+v", expired)
		}
		if got := must(s.ExpireApprovals(ctx, "a", end))(t); len(got) != 0 {
			t.Errorf("expired again: %+v", got)
		}
		if _, err := s.Decide(ctx, "a", "3", jobs.Approved, person, "", start); !errors.Is(err, store.ErrExpired) {
			t.Errorf("approving what has expired, with a clock that is wrong: %v", err)
		}
		again := must(s.AskApproval(ctx, asked("a", "h1")))(t)
		if again.ID != "4" || again.Decision != jobs.Waiting {
			t.Errorf("asked again after it expired: %+v", again)
		}
	})
}

func TestOneAnswerCounts(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		ids := make(chan string, 20)
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				a, err := s.AskApproval(ctx, asked("a", "h"))
				if err != nil {
					t.Error(err)
				}
				ids <- a.ID
			})
			all.Go(func() {
				if _, err := s.AskApproval(ctx, asked("a", fmt.Sprint("h", len(ids)%3))); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		close(ids)
		id := <-ids
		for other := range ids {
			if other != id {
				t.Errorf("the same question has ids %s and %s", id, other)
			}
		}
		var counted atomic.Int32
		for i := range 10 {
			all.Go(func() {
				d := jobs.Approved
				if i%2 == 0 {
					d = jobs.Denied
				}
				_, err := s.Decide(ctx, "a", id, d, person, "", start)
				if err == nil {
					counted.Add(1)
				} else if !errors.Is(err, store.ErrDecided) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if counted.Load() != 1 {
			t.Errorf("%d answers counted", counted.Load())
		}
	})
}
