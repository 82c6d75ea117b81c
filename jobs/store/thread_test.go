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

func TestOneClaimWins(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		const racers = 20
		holders := make([]jobs.JobID, racers)
		var wins atomic.Int32
		var all sync.WaitGroup
		begin := make(chan struct{})
		for i := range racers {
			all.Go(func() {
				<-begin
				id := jobs.JobID(fmt.Sprintf("job-%d", i))
				holder, err := s.ClaimThread(ctx, thread, id, "")
				if err != nil {
					t.Error(err)
				}
				if holders[i] = holder; holder == id {
					wins.Add(1)
				}
			})
		}
		close(begin)
		all.Wait()
		if wins.Load() != 1 {
			t.Errorf("%d of %d claims won, want 1", wins.Load(), racers)
		}
		for _, h := range holders {
			if h != holders[0] {
				t.Errorf("the racers were told of %q and %q", h, holders[0])
			}
		}
	})
}

func TestClaimTakeoverAndRelease(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		other := thread
		other.Number = 8
		steps := []struct {
			thread    vcs.Thread
			job, gone jobs.JobID
			want      jobs.JobID
		}{
			{thread, "a", "", "a"},
			{thread, "a", "", "a"},  // again
			{thread, "b", "", "a"},  // held
			{thread, "b", "c", "a"}, // somebody else is gone
			{other, "b", "", "b"},   // another thread
			{thread, "b", "a", "b"}, // the holder is gone
			{thread, "c", "a", "b"}, // he has gone before
			{thread, "a", "", "b"},
		}
		for i, step := range steps {
			if got := must(s.ClaimThread(ctx, step.thread, step.job, step.gone))(t); got != step.want {
				t.Fatalf("step %d: holder is %q, want %q", i, got, step.want)
			}
		}
		check(t, s.ReleaseThread(ctx, thread, "a")) // not the holder
		if got := must(s.ThreadJob(ctx, thread))(t); got != "b" {
			t.Errorf("holder is %q after somebody else's release", got)
		}
		check(t, s.ReleaseThread(ctx, thread, "b"))
		if got := must(s.ThreadJob(ctx, thread))(t); got != "" {
			t.Errorf("holder is %q after the release", got)
		}
		if got := must(s.ThreadJob(ctx, other))(t); got != "b" {
			t.Errorf("holder of the other thread is %q", got)
		}
	})
}

func TestOneOfManyTakesOver(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		must(s.ClaimThread(ctx, thread, "gone", ""))(t)
		var wins atomic.Int32
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				id := jobs.JobID(fmt.Sprintf("job-%d", i))
				if holder, err := s.ClaimThread(ctx, thread, id, "gone"); err == nil && holder == id {
					wins.Add(1)
				}
			})
		}
		all.Wait()
		if wins.Load() != 1 {
			t.Errorf("%d jobs took over, want 1", wins.Load())
		}
	})
}

func TestAClaimIsFreshForAWhile(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		must(s.ClaimThread(ctx, thread, "a", ""))(t)
		must(s.ClaimThread(ctx, thread, "b", ""))(t)
		for id, want := range map[jobs.JobID]bool{"a": true, "b": false} {
			if got := must(s.Fresh(ctx, id))(t); got != want {
				t.Errorf("claim of %s is fresh: %v, want %v", id, got, want)
			}
		}
	})
}

func TestInbox(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		must(s.ClaimThread(ctx, thread, "live", ""))(t)
		var want []store.Message
		for i := range 5 {
			m := store.Message{ID: fmt.Sprintf("m%d", i), Author: person, Text: fmt.Sprintf("text <%d>", i)}
			want = append(want, m)
			for range 3 { // each is pushed again and again
				if taken := must(s.PushMessage(ctx, thread, "live", m))(t); !taken {
					t.Errorf("message %d is not taken", i)
				}
			}
		}
		if got := must(s.Messages(ctx, "other"))(t); len(got) != 0 {
			t.Errorf("another job reads %v", got)
		}
		for range 2 { // reading takes nothing
			if diff := cmp.Diff(want, must(s.Messages(ctx, "live"))(t)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		}
		check(t, s.TakeMessages(ctx, "live", "m1", "m3", "unknown"))
		check(t, s.TakeMessages(ctx, "live", "m1", "m3"))
		check(t, s.TakeMessages(ctx, "other", "m0"))
		if diff := cmp.Diff([]store.Message{want[0], want[2], want[4]}, must(s.Messages(ctx, "live"))(t)); diff != "" {
			t.Errorf("what is left (-want +got):\n%s", diff)
		}
		must(s.PushMessage(ctx, thread, "live", want[1]))(t) // after it was taken
		if got := must(s.Messages(ctx, "live"))(t); len(got) != 3 {
			t.Errorf("a message that was taken is there again: %v", got)
		}
		check(t, s.TakeMessages(ctx, "live", "m0", "m2", "m4"))
		if got := must(s.Messages(ctx, "live"))(t); len(got) != 0 {
			t.Errorf("left: %v", got)
		}
	})
}

// What comes while others are taken stays.
func TestTakingLosesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		must(s.ClaimThread(ctx, thread, "live", ""))(t)
		const messages = 50
		var all sync.WaitGroup
		for i := range messages {
			all.Go(func() {
				if _, err := s.PushMessage(ctx, thread, "live", store.Message{ID: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				if err := s.TakeMessages(ctx, "live", "0", "1"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		check(t, s.TakeMessages(ctx, "live", "0", "1"))
		if got := must(s.Messages(ctx, "live"))(t); len(got) != messages-2 {
			t.Errorf("%d messages are left, want %d", len(got), messages-2)
		}
	})
}

func TestMessagesToAJobThatIsGone(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		must(s.ClaimThread(ctx, thread, "live", ""))(t)
		must(s.PushMessage(ctx, thread, "live", store.Message{ID: "1", Text: "late"}))(t)
		if got := must(s.Unread(ctx, thread))(t); len(got) != 0 {
			t.Errorf("messages of the holder count as left behind: %v", got)
		}
		check(t, s.ReleaseThread(ctx, thread, "live"))
		if taken := must(s.PushMessage(ctx, thread, "live", store.Message{ID: "2"}))(t); taken {
			t.Error("a message to a job that has gone was taken")
		}
		want := map[jobs.JobID][]store.Message{"live": {{ID: "1", Text: "late"}}}
		for range 2 { // looking changes nothing
			if diff := cmp.Diff(want, must(s.Unread(ctx, thread))(t)); diff != "" {
				t.Errorf("left behind (-want +got):\n%s", diff)
			}
		}
		check(t, s.DropMessages(ctx, thread, "live"))
		if got := must(s.Unread(ctx, thread))(t); len(got) != 0 {
			t.Errorf("still left behind: %v", got)
		}
	})
}

func TestPending(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		for i, id := range []string{"c", "a", "b"} { // the oldest is neither first in nor first by name
			j := job(id)
			j.CreatedAt = start.Add(time.Duration(len("cab")-i) * time.Minute)
			check(t, s.PushPending(ctx, j))
			again := j
			again.Check = &vcs.Check{Name: "another check of the same head"}
			check(t, s.PushPending(ctx, again))
		}
		other := thread
		other.Number = 8
		if _, ok, err := s.Pending(ctx, other); ok || err != nil {
			t.Errorf("another thread has something waiting, %v", err)
		}
		for i, want := range []string{"b", "a", "c"} {
			first := must2(s.Pending(ctx, thread))(t)
			if got := must2(s.Pending(ctx, thread))(t); got.ID != first.ID {
				t.Errorf("looking changed what is first: %s, %s", first.ID, got.ID)
			}
			full := job(want)
			full.CreatedAt = start.Add(time.Duration(i+1) * time.Minute)
			if diff := cmp.Diff(full, first); diff != "" {
				t.Errorf("job %d (-want +got):\n%s", i, diff)
			}
			check(t, s.DropPending(ctx, thread, first.ID))
			check(t, s.DropPending(ctx, thread, first.ID))
		}
		if _, ok, err := s.Pending(ctx, thread); ok || err != nil {
			t.Errorf("something still waits, %v", err)
		}
	})
}

func must2[T any](v T, ok bool, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil || !ok {
			t.Fatalf("nothing there: %v", err)
		}
		return v
	}
}

func TestStopRequests(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		if by := must(s.StopRequested(ctx, "a"))(t); by != "" {
			t.Errorf("stop of %q before anybody asked", by)
		}
		check(t, s.RequestStop(ctx, "a", person))
		check(t, s.RequestStop(ctx, "a", person))
		if by := must(s.StopRequested(ctx, "a"))(t); by != "somebody" {
			t.Errorf("stop of %q", by)
		}
		if by := must(s.StopRequested(ctx, "b"))(t); by != "" {
			t.Errorf("another job is to stop for %q", by)
		}
	})
}

// A request to stop that a worker does not hear takes its lease away, by the
// server's clock; one that it has heard does not.
func TestUnheardStop(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		deaf, hearing := must(s.Acquire(ctx, "deaf", "w1", time.Minute))(t), must(s.Acquire(ctx, "hearing", "w2", time.Minute))(t)
		for range 2 { // asked again, it has been asked as long
			check(t, s.RequestStop(ctx, "deaf", person))
			check(t, s.RequestStop(ctx, "hearing", person))
		}
		if got := must(s.UnheardStops(ctx, time.Minute))(t); len(got) != 0 {
			t.Errorf("unheard at once: %v", got)
		}
		check(t, s.HearStop(ctx, "hearing"))
		if diff := cmp.Diff([]jobs.JobID{"deaf"}, must(s.UnheardStops(ctx, 0))(t)); diff != "" {
			t.Errorf("unheard (-want +got):\n%s", diff)
		}
		if must(s.BreakUnheard(ctx, "hearing"))(t) || !must(s.BreakUnheard(ctx, "deaf"))(t) || must(s.BreakUnheard(ctx, "deaf"))(t) {
			t.Error("the wrong lease is broken, or one twice")
		}
		if err := deaf.Check(ctx); !errors.Is(err, jobs.ErrLeaseLost) {
			t.Errorf("the deaf one's lease: %v, want jobs.ErrLeaseLost", err)
		}
		check(t, hearing.Check(ctx))
	})
}
