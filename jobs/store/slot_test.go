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
)

var slots = []store.Slot{{Name: "repo", Limit: 1}, {Name: "all", Limit: 3}}

// aged is a job that was created so many minutes after the start.
func aged(id string, minutes int) jobs.Job {
	j := job(id)
	j.CreatedAt = start.Add(time.Duration(minutes) * time.Minute)
	return j
}

func TestSlotsAllOrNone(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		repo, all, counted := store.Slot{Name: "r", Limit: 2}, store.Slot{Name: "all", Limit: 3}, store.Slot{Name: "n"}
		other := store.Slot{Name: "o", Limit: 2}
		take := func(id string, slots []store.Slot, full string) {
			t.Helper()
			turn := must(s.TakeSlots(ctx, job(id), slots, time.Minute))(t)
			if turn.Full != full {
				t.Errorf("job %s: %q is full, want %q", id, turn.Full, full)
			}
		}
		holders := func(name string, want ...jobs.JobID) {
			t.Helper()
			if diff := cmp.Diff(want, must(s.SlotHolders(ctx, name))(t)); diff != "" {
				t.Errorf("holders of %s (-want +got):\n%s", name, diff)
			}
		}
		take("a", []store.Slot{repo, all, counted}, "")
		take("a", []store.Slot{repo, all, counted}, "") // renews
		take("b", []store.Slot{repo, all, counted}, "")
		take("c", []store.Slot{repo, all, counted}, "r")
		take("d", []store.Slot{other, all, counted}, "")
		take("e", []store.Slot{other, all, counted}, "all")
		holders("r", "a", "b")
		holders("all", "a", "b", "d")
		holders("o", "d") // e has not kept what was free
		holders("n", "a", "b", "d")
		if next := must(s.FreeSlots(ctx, "a", []store.Slot{repo, all, counted}))(t); !cmp.Equal(next, []jobs.JobID{"c", "e"}) {
			t.Errorf("woken are %v", next)
		}
		holders("r", "b")
		take("e", []store.Slot{other, all, counted}, "")
		take("c", []store.Slot{repo, all, counted}, "all")
		if turn := must(s.TakeSlots(ctx, job("z"), nil, time.Minute))(t); turn.Full != "" {
			t.Errorf("who asks for nothing waits for %s", turn.Full)
		}
	})
}

func TestSlotsExpireByTheServersClock(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, func() time.Time { return start.Add(-time.Hour) })
		one := []store.Slot{{Name: "r", Limit: 1}}
		must(s.TakeSlots(ctx, job("a"), one, ttl))(t)
		for range 3 {
			srv.pass(ttl * 2 / 3)
			check(t, s.KeepSlots(ctx, "a", one, ttl))
		}
		if turn := must(s.TakeSlots(ctx, job("b"), one, ttl))(t); turn.Full != "r" {
			t.Errorf("a slot that is kept was given away: %+v", turn)
		}
		srv.pass(ttl + 100*time.Millisecond)
		if got := must(s.SlotHolders(ctx, "r"))(t); len(got) != 0 {
			t.Errorf("still held by %v", got)
		}
		if turn := must(s.TakeSlots(ctx, job("b"), one, ttl))(t); turn.Full != "" {
			t.Errorf("the slot of one who is gone is full: %+v", turn)
		}
		check(t, s.KeepSlots(ctx, "a", one, ttl)) // it lives after all, and is counted
		if got := must(s.SlotHolders(ctx, "r"))(t); len(got) != 2 {
			t.Errorf("held by %v, want both", got)
		}
	})
}

func TestNeverMoreThanTheLimit(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		limited := []store.Slot{{Name: "r", Limit: 3}, {Name: "all", Limit: 3}}
		var live, most, ran atomic.Int32
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				for {
					turn, err := s.TakeSlots(ctx, aged(fmt.Sprint(i), i), limited, time.Minute)
					if err != nil {
						t.Error(err)
						return
					}
					if turn.Full != "" {
						<-time.After(time.Millisecond)
						continue
					}
					n := live.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					<-time.After(time.Millisecond)
					live.Add(-1)
					ran.Add(1)
					if _, err := s.FreeSlots(ctx, jobs.JobID(fmt.Sprint(i)), limited); err != nil {
						t.Error(err)
					}
					return
				}
			})
		}
		all.Wait()
		if most.Load() > 3 || ran.Load() != 40 {
			t.Errorf("%d ran at once, %d in all", most.Load(), ran.Load())
		}
	})
}

func TestTheOldestIsNext(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		one := []store.Slot{{Name: "r", Limit: 1}}
		take := func(j jobs.Job) store.Turn {
			t.Helper()
			return must(s.TakeSlots(ctx, j, one, time.Minute))(t)
		}
		take(aged("first", 0))
		var last store.Turn
		for _, n := range []int{5, 2, 9, 3} { // the order of their looks is not that of their age
			last = take(aged(fmt.Sprint(n), n))
		}
		if want := (store.Turn{Full: "r", Place: 1}); last != want {
			t.Errorf("turn of the second is %+v, want %+v", last, want)
		}
		now := start
		var ce *jobs.ClassError
		if err := last.Busy(now); !errors.Is(err, jobs.ErrBusy) || !errors.As(err, &ce) || ce.RetryAt.Sub(now) < time.Second || ce.RetryAt.Sub(now) > 2*time.Second {
			t.Errorf("the second is told %v, %+v", err, ce)
		}
		if err := (store.Turn{Full: "r", Place: 5000}).Busy(now); !errors.As(err, &ce) || ce.RetryAt.Sub(now) != 30*time.Second {
			t.Errorf("who is far behind looks again at %v", ce.RetryAt)
		}
		if err := (store.Turn{}).Busy(now); err != nil {
			t.Errorf("who may run is told %v", err)
		}
		holder := jobs.JobID("first")
		for _, want := range []jobs.JobID{"2", "3", "5", "9"} {
			next := must(s.FreeSlots(ctx, holder, one))(t)
			if !cmp.Equal(next, []jobs.JobID{want}) {
				t.Fatalf("woken are %v, want %s", next, want)
			}
			for _, n := range []int{9, 5, 3, 2} { // the youngest looks first
				id := jobs.JobID(fmt.Sprint(n))
				if n < int(want[0]-'0') {
					continue // has run
				}
				if got := take(aged(string(id), n)).Full == ""; got != (id == want) {
					t.Fatalf("job %s runs: %v, want %s to", id, got, want)
				}
			}
			holder = want
		}
	})
}

// One who waits and dies, or leaves, holds nobody up.
func TestTheDeadAreNotInLine(t *testing.T) {
	srv := onMini(t)
	s := open(t, srv, nil)
	one := []store.Slot{{Name: "r", Limit: 1}}
	take := func(j jobs.Job) bool { return must(s.TakeSlots(ctx, j, one, 10*time.Minute))(t).Full == "" }
	take(aged("run", 0))
	take(aged("dead", 1))
	take(aged("stopped", 2))
	must(s.FreeSlots(ctx, "stopped", one))(t)
	must(s.FreeSlots(ctx, "run", one))(t)
	if take(aged("next", 3)) {
		t.Error("one passed the dead before anybody can know")
	}
	srv.pass(90 * time.Second)
	if take(aged("next", 3)) {
		t.Error("one passed the dead before anybody can know")
	}
	srv.pass(31 * time.Second)
	if !take(aged("next", 3)) {
		t.Error("the dead hold up the living")
	}
	if take(aged("dead", 1)) {
		t.Error("a second one runs")
	}
}

// Where groups share a slot, those with fewer live runs go first, and a group
// whose own ceiling holds it up holds up nobody else.
func TestGroupsAreServedInTurn(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		shared := store.Slot{Name: "all", Limit: 4}
		slotsOf := func(group string, limit int) []store.Slot {
			return []store.Slot{{Name: group, Limit: limit}, shared}
		}
		for i := range 40 {
			turn := must(s.TakeSlots(ctx, aged(fmt.Sprintf("big-%d", i), i), slotsOf("big", 0), time.Minute))(t)
			if (turn.Full == "") != (i < 4) {
				t.Fatalf("job %d: %+v", i, turn)
			}
		}
		if turn := must(s.TakeSlots(ctx, aged("small", 100), slotsOf("small", 0), time.Minute))(t); turn.Full != "all" {
			t.Fatalf("the small one: %+v", turn)
		}
		if next := must(s.FreeSlots(ctx, "big-0", slotsOf("big", 0)))(t); !cmp.Equal(next, []jobs.JobID{"small"}) {
			t.Errorf("woken are %v, want the small one", next)
		}
		if turn := must(s.TakeSlots(ctx, aged("big-4", 4), slotsOf("big", 0), time.Minute))(t); turn.Full != "all" {
			t.Errorf("the big group goes on: %+v", turn)
		}
		if turn := must(s.TakeSlots(ctx, aged("small", 100), slotsOf("small", 0), time.Minute))(t); turn.Full != "" {
			t.Errorf("the small one waits: %+v", turn)
		}
		// Now the big one gets a ceiling: its 36 do not stand in the way.
		if turn := must(s.TakeSlots(ctx, aged("big-4", 4), slotsOf("big", 2), time.Minute))(t); turn.Full != "big" {
			t.Errorf("the ceiling of a group: %+v", turn)
		}
		must(s.FreeSlots(ctx, "big-1", slotsOf("big", 2)))(t)
		if turn := must(s.TakeSlots(ctx, aged("other", 200), slotsOf("other", 0), time.Minute))(t); turn.Full != "" {
			t.Errorf("another group waits: %+v", turn)
		}
	})
}
