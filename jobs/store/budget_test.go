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

// reservation takes so many micro-USD, and ten times as many tokens.
func reservation(id string, n int64) store.Reservation {
	return store.Reservation{ID: id, Run: "run", Amount: store.Amount{MicroUSD: n, Tokens: 10 * n}, Scopes: []store.Scope{
		{Name: "run:run", Ceiling: store.Amount{MicroUSD: 100}},
		{Name: "month:2026-01", Ceiling: store.Amount{MicroUSD: 1000, Tokens: 2000}},
	}}
}

func spent(t *testing.T, s *store.Store, name string, spent, reserved int64) {
	t.Helper()
	want := []store.SpentOf{{Name: name, Spent: store.Amount{MicroUSD: spent, Tokens: 10 * spent}, Reserved: store.Amount{MicroUSD: reserved, Tokens: 10 * reserved}}}
	if diff := cmp.Diff(want, must(s.Spent(ctx, name))(t)); diff != "" {
		t.Errorf("budget (-want +got):\n%s", diff)
	}
}

func amount(n int64) store.Amount { return store.Amount{MicroUSD: n, Tokens: 10 * n} }

func TestBudgets(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		spent(t, s, "run:run", 0, 0)
		check(t, s.Reserve(ctx, reservation("1", 60)))
		var over *store.OverError
		if err := s.Reserve(ctx, reservation("2", 41)); !errors.As(err, &over) || errors.Is(err, jobs.ErrUnavailable) {
			t.Fatalf("above the ceiling: %v", err)
		}
		want := store.OverError{Scope: "run:run", Ceiling: store.Amount{MicroUSD: 100}, Reserved: amount(60), Wanted: amount(41)}
		if diff := cmp.Diff(want, *over); diff != "" {
			t.Errorf("refusal (-want +got):\n%s", diff)
		}
		spent(t, s, "month:2026-01", 0, 60) // all or none
		check(t, s.Reserve(ctx, reservation("2", 40)))
		check(t, s.Settle(ctx, "1", amount(75))) // more than reserved
		check(t, s.Settle(ctx, "1", amount(75))) // again
		spent(t, s, "run:run", 75, 40)
		check(t, s.Drop(ctx, "2"))
		check(t, s.Drop(ctx, "2"))
		check(t, s.Drop(ctx, "never"))
		spent(t, s, "run:run", 75, 0)
		spent(t, s, "month:2026-01", 75, 0)
		if err := s.Settle(ctx, "never", amount(1)); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("settling what was never reserved: %v", err)
		}
		// The tokens of the month: 2000, of which 750 are spent.
		r := reservation("3", 126)
		r.Scopes[0].Ceiling = store.Amount{}
		if err := s.Reserve(ctx, r); !errors.As(err, &over) || over.Scope != "month:2026-01" || over.Spent != amount(75) {
			t.Errorf("above the month's tokens: %v", err)
		}
	})
}

func TestTheSameReservationAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		check(t, s.Reserve(ctx, reservation("1", 70)))
		check(t, s.Reserve(ctx, reservation("1", 70))) // a resumed run asks again
		spent(t, s, "run:run", 0, 70)
		check(t, s.Reserve(ctx, reservation("1", 100)))
		spent(t, s, "run:run", 0, 100)
		if err := s.Reserve(ctx, reservation("1", 101)); err == nil {
			t.Error("it passed the ceiling")
		}
		spent(t, s, "run:run", 0, 100) // as it was
		moved := reservation("1", 5)
		moved.Scopes = moved.Scopes[:1]
		check(t, s.Reserve(ctx, moved))
		spent(t, s, "run:run", 0, 5)
		spent(t, s, "month:2026-01", 0, 0)
		check(t, s.Settle(ctx, "1", amount(30)))
		check(t, s.Reserve(ctx, reservation("1", 70))) // the answer was lost, the call is made again
		spent(t, s, "run:run", 30, 70)
		check(t, s.Settle(ctx, "1", amount(0)))
		spent(t, s, "run:run", 30, 0)
	})
}

// A run whose worker died is counted as if all had been spent.
func TestSettleRunFailsClosed(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		check(t, s.Reserve(ctx, reservation("1", 10)))
		check(t, s.Reserve(ctx, reservation("2", 20)))
		check(t, s.Reserve(ctx, reservation("3", 30)))
		other := reservation("4", 5)
		other.Run = "other"
		check(t, s.Reserve(ctx, other))
		check(t, s.Settle(ctx, "2", amount(1)))
		for i, want := range []int{2, 0} {
			if n := must(s.SettleRun(ctx, "run"))(t); n != want {
				t.Errorf("call %d has settled %d, want %d", i, n, want)
			}
		}
		spent(t, s, "run:run", 41, 5)
		check(t, s.Settle(ctx, "1", amount(1))) // too late: it stays
		spent(t, s, "run:run", 41, 5)
	})
}

func TestBudgetHoldsOverAllWorkers(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		var taken atomic.Int64
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				id := fmt.Sprint(i)
				err := s.Reserve(ctx, reservation(id, 7))
				var over *store.OverError
				switch {
				case errors.As(err, &over):
				case err != nil:
					t.Error(err)
				default:
					taken.Add(7)
					if err := s.Settle(ctx, id, amount(7)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if taken.Load() != 98 {
			t.Errorf("%d of 100 were taken, want 98", taken.Load())
		}
		spent(t, s, "run:run", 98, 0)
	})
}

func TestBudgetsOfAnHourAndOfTwoMonths(t *testing.T) {
	srv := onMini(t)
	s := open(t, srv, nil)
	r := reservation("1", 10)
	r.Scopes[0].Window = time.Hour // is a day: a call must not outlive its budget
	check(t, s.Reserve(ctx, r))
	srv.pass(2 * time.Hour)
	spent(t, s, "run:run", 0, 10)
	srv.pass(23 * time.Hour)
	spent(t, s, "run:run", 0, 0)
	check(t, s.Settle(ctx, "1", amount(10)))
	spent(t, s, "run:run", 10, 0) // never below zero
	spent(t, s, "month:2026-01", 10, 0)
	srv.pass(48 * time.Hour)
	spent(t, s, "run:run", 0, 0)
	srv.pass(57 * 24 * time.Hour)
	spent(t, s, "month:2026-01", 10, 0)
	srv.pass(5 * 24 * time.Hour)
	spent(t, s, "month:2026-01", 0, 0)
	if n := len(raw(t, srv).Keys(ctx, "*").Val()); n != 0 {
		t.Errorf("%d keys are left", n)
	}
}

func TestBudgetRefusesNonsense(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		check(t, s.Reserve(ctx, reservation("0", 1)))
		for name, change := range map[string]func(*store.Reservation){
			"no id":         func(r *store.Reservation) { r.ID = "" },
			"no run":        func(r *store.Reservation) { r.Run = "" },
			"no scope":      func(r *store.Reservation) { r.Scopes = nil },
			"negative":      func(r *store.Reservation) { r.Amount.Tokens = -1 },
			"huge":          func(r *store.Reservation) { r.Amount.MicroUSD = 1 << 60 },
			"huge ceiling":  func(r *store.Reservation) { r.Scopes[0].Ceiling.Tokens = 1 << 60 },
			"negative ceil": func(r *store.Reservation) { r.Scopes[1].Ceiling.Tokens = -1 },
			"name of two":   func(r *store.Reservation) { r.Scopes[1].Name = "a\nb" },
			"the same name": func(r *store.Reservation) { r.Scopes[1].Name = r.Scopes[0].Name },
		} {
			r := reservation("1", 1)
			change(&r)
			if err := s.Reserve(ctx, r); !errors.Is(err, vcs.ErrInvalid) {
				t.Errorf("%s: %v, want vcs.ErrInvalid", name, err)
			}
		}
		if err := s.Settle(ctx, "0", store.Amount{Tokens: -1}); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("a negative bill: %v", err)
		}
		big := reservation("big", 1<<49)
		big.Scopes = []store.Scope{{Name: "big"}}
		big.Amount.Tokens = 1 << 49
		check(t, s.Reserve(ctx, big))
		check(t, s.Settle(ctx, "big", store.Amount{MicroUSD: 1<<49 + 1, Tokens: 1<<49 + 3}))
		if got := must(s.Spent(ctx, "big"))(t)[0].Spent; got != (store.Amount{MicroUSD: 1<<49 + 1, Tokens: 1<<49 + 3}) {
			t.Errorf("large sums are not exact: %+v", got)
		}
	})
}

func TestRaiseThread(t *testing.T) {
	onBoth(t, func(t *testing.T, srv server) {
		s := open(t, srv, nil)
		if n := must(s.Raised(ctx, thread))(t); n != 0 {
			t.Errorf("raised by %d before anybody asked", n)
		}
		for i, step := range []struct {
			once          string
			n, most, want int64
		}{
			{"a", 2, 10, 2},
			{"a", 2, 10, 2}, // the same command again
			{"b", 5, 10, 7},
			{"c", 5, 10, 10},
			{"d", 5, 10, 10},
			{"e", 5, 8, 10}, // the operator has lowered the most: what was given stays
			{"f", 5, 12, 12},
		} {
			if got := must(s.RaiseThread(ctx, thread, step.once, step.n, step.most))(t); got != step.want {
				t.Errorf("step %d: %d, want %d", i, got, step.want)
			}
		}
		if n := must(s.Raised(ctx, thread))(t); n != 12 {
			t.Errorf("raised by %d, want 12", n)
		}
		if _, err := s.RaiseThread(ctx, thread, "g", -1, 12); !errors.Is(err, vcs.ErrInvalid) {
			t.Errorf("lowering: %v", err)
		}
		if n := must(s.Raised(ctx, vcs.Thread{Repo: thread.Repo, Number: 8}))(t); n != 0 {
			t.Errorf("another thread is raised by %d", n)
		}
	})
}
