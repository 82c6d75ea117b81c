package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

func TestJobRecord(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		at := start
		s := open(t, srv, func() time.Time { return at })
		if _, err := s.Job(ctx, "a"); !errors.Is(err, store.ErrNotFound) || errors.Is(err, jobs.ErrUnavailable) {
			t.Errorf("a job that is not there: %v, want store.ErrNotFound", err)
		}
		if _, err := s.UpdateJob(ctx, "a", func(*store.JobRecord) error { return nil }); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an update of a job that is not there: %v, want store.ErrNotFound", err)
		}
		check(t, s.CreateJob(ctx, job("a")))
		at = at.Add(time.Minute)
		other := job("a")
		other.Command.Text = "something else"
		check(t, s.CreateJob(ctx, other))
		want := store.JobRecord{Job: job("a"), State: jobs.Queued, Cause: "accepted", CreatedAt: start, UpdatedAt: start}
		if diff := cmp.Diff(want, must(s.Job(ctx, "a"))(t)); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
		moved := must(s.MoveJob(ctx, "a", jobs.Preparing, "begun", func(r *store.JobRecord) { r.Branch = "x" }))(t)
		want.State, want.Cause, want.Branch, want.UpdatedAt = jobs.Preparing, "begun", "x", at
		if diff := cmp.Diff(want, moved); diff != "" {
			t.Errorf("moved record (-want +got):\n%s", diff)
		}
		if _, err := s.MoveJob(ctx, "a", jobs.Verified, "", nil); !errors.Is(err, jobs.ErrTransition) {
			t.Errorf("a move that is not allowed: %v, want jobs.ErrTransition", err)
		}
		own := errors.New("own")
		if _, err := s.UpdateJob(ctx, "a", func(r *store.JobRecord) error { r.Branch = "y"; return own }); !errors.Is(err, own) || errors.Is(err, jobs.ErrUnavailable) {
			t.Errorf("a refused update: %v, want its own error", err)
		}
		if diff := cmp.Diff(want, must(s.Job(ctx, "a"))(t)); diff != "" {
			t.Errorf("record after what was refused (-want +got):\n%s", diff)
		}
	})
}

// An error that has a Timeout method, like those of the network, is still the
// caller's own.
func TestUpdateKeepsTheCallersError(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		check(t, s.CreateJob(ctx, job("a")))
		_, err := s.UpdateJob(ctx, "a", func(*store.JobRecord) error { return timeout{} })
		if !errors.Is(err, timeout{}) || errors.Is(err, jobs.ErrUnavailable) {
			t.Errorf("error is %v, want the caller's own", err)
		}
	})
}

type timeout struct{}

func (timeout) Error() string { return "own" }
func (timeout) Timeout() bool { return true }

func TestUpdatesDoNotOverwriteEachOther(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		check(t, s.CreateJob(ctx, job("a")))
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := s.UpdateJob(ctx, "a", func(r *store.JobRecord) error { r.Attempts++; return nil }); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := must(s.Job(ctx, "a"))(t).Attempts; got != 8 {
			t.Errorf("%d of 8 updates are there", got)
		}
	})
}

func TestUpdateGivesUpAgainstEndlessConflicts(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		check(t, s.CreateJob(ctx, job("a")))
		tries := 0
		_, err := s.UpdateJob(ctx, "a", func(*store.JobRecord) error {
			tries++
			_, err := s.UpdateJob(ctx, "a", func(r *store.JobRecord) error { r.Attempts++; return nil })
			return err
		})
		if !errors.Is(err, jobs.ErrUnavailable) || tries < 2 || tries > 100 {
			t.Errorf("after %d tries: %v, want jobs.ErrUnavailable", tries, err)
		}
	})
}

func TestRecent(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		at := start
		s := open(t, srv, func() time.Time { return at })
		for i := range 5 {
			at = at.Add(time.Second)
			check(t, s.CreateJob(ctx, job(fmt.Sprint(i))))
		}
		for n, want := range map[int][]jobs.JobID{-1: nil, 0: nil, 2: {"4", "3"}, 50: {"4", "3", "2", "1", "0"}} {
			var got []jobs.JobID
			for _, r := range must(s.Recent(ctx, n))(t) {
				got = append(got, r.Job.ID)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Recent(%d) (-want +got):\n%s", n, diff)
			}
		}
	})
}

func TestCountWindows(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		at := start
		s := open(t, srv, func() time.Time { return at })
		steps := []struct {
			after        time.Duration
			name, member string
			want         int
		}{
			{0, "x", "a", 1},
			{0, "x", "a", 1}, // again
			{0, "y", "a", 1}, // another counter
			{30 * time.Minute, "x", "b", 2},
			{20 * time.Minute, "x", "c", 3},
			{0, "x", "b", 2},
			{11 * time.Minute, "x", "d", 3},  // a has left
			{100 * time.Minute, "x", "e", 1}, // all have
			{0, "x", "c", 2},                 // at the same moment: in order of arrival
			{0, "x", "b", 3},
			{0, "x", "a", 4},
			{0, "x", "d", 5},
			{0, "x", "a", 4},
		}
		for i, step := range steps {
			at = at.Add(step.after)
			if got := must(s.Count(ctx, step.name, step.member, time.Hour))(t); got != step.want {
				t.Fatalf("step %d: place is %d, want %d", i, got, step.want)
			}
		}
	})
}

func TestInfo(t *testing.T) {
	srv := realRedis(t)
	got := must(open(t, srv, nil).Info(ctx))(t)
	if got.Version == "" || got.AppendOnly || got.Policy != "noeviction" || got.ClockOffset.Abs() > time.Minute {
		t.Errorf("info is %+v", got)
	}
}

func TestOpenNamesTheSecretNowhere(t *testing.T) {
	_, err := store.Open("http://user:hunter2@example.com", time.Now)
	if !errors.Is(err, vcs.ErrInvalid) {
		t.Errorf("error is %v, want vcs.ErrInvalid", err)
	}
}
