package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// Amount is money in millionths of a US dollar, and tokens of models.
type Amount struct {
	MicroUSD int64 `json:"micro_usd"`
	Tokens   int64 `json:"tokens"`
}

// maxAmount keeps sums exact in Lua, whose numbers are doubles: a thousand
// million dollars.
const maxAmount = 1 << 50

func (a Amount) check() error {
	if a.MicroUSD < 0 || a.Tokens < 0 || a.MicroUSD > maxAmount || a.Tokens > maxAmount {
		return fmt.Errorf("%w: an amount of %d micro-USD and %d tokens", vcs.ErrInvalid, a.MicroUSD, a.Tokens)
	}
	return nil
}

// Scope is what a budget is for: a run, a thread, a repository, a month.
type Scope struct {
	Name    string // a month's has the month in it
	Ceiling Amount // a zero is no ceiling, but is counted
	// Window is how long the counts are kept after the last reservation; zero
	// is 62 days, two months, and less than a day is a day.
	Window time.Duration
}

// How long budgets are kept: a month and those who ask about the last one,
// and longer than a call may be open.
const (
	budgetRetention = 62 * 24 * time.Hour
	leastRetention  = 24 * time.Hour
)

// Reservation is what a call of a model may cost at most.
type Reservation struct {
	ID     string // of the call; the same again replaces the first
	Run    jobs.RunID
	Amount Amount
	Scopes []Scope
}

// OverError says which ceiling a reservation would pass.
type OverError struct {
	Scope                            string
	Ceiling, Spent, Reserved, Wanted Amount
}

func (e *OverError) Error() string {
	return fmt.Sprintf("budget of %s: %d of %d micro-USD and %d of %d tokens are spent, %d and %d reserved, %d and %d wanted", e.Scope,
		e.Spent.MicroUSD, e.Ceiling.MicroUSD, e.Spent.Tokens, e.Ceiling.Tokens, e.Reserved.MicroUSD, e.Reserved.Tokens, e.Wanted.MicroUSD, e.Wanted.Tokens)
}

// Reserve takes the amount from all scopes or from none, before the call. The
// error is an *OverError when a ceiling would be passed, which leaves an
// earlier reservation under the same id as it was; every error means that the
// call must not be made.
func (s *Store) Reserve(ctx context.Context, r Reservation) error {
	if r.ID == "" || r.Run == "" || len(r.Scopes) == 0 {
		return fmt.Errorf("%w: a reservation needs an id, a run and a scope", vcs.ErrInvalid)
	}
	args := []any{r.ID, string(r.Run), r.Amount.MicroUSD, r.Amount.Tokens}
	err := r.Amount.check()
	for i, scope := range r.Scopes {
		if strings.ContainsAny(scope.Name, "\n") || slices.ContainsFunc(r.Scopes[:i], func(o Scope) bool { return o.Name == scope.Name }) {
			return fmt.Errorf("%w: scopes of a budget named %q", vcs.ErrInvalid, scope.Name)
		}
		window := scope.Window
		if window <= 0 {
			window = budgetRetention
		}
		window = max(window, leastRetention)
		err = errors.Join(err, scope.Ceiling.check())
		args = append(args, scope.Name, scope.Ceiling.MicroUSD, scope.Ceiling.Tokens, window.Milliseconds())
	}
	if err != nil {
		return err
	}
	got, err := s.scripts.reserve.Run(ctx, s.redis, nil, args...).Int64Slice()
	if err != nil {
		return unavailable("reserving a budget", err)
	}
	const answers = 5 // number of the scope from 1, then what is spent and reserved there
	if len(got) != answers || got[0] < 0 || got[0] > int64(len(r.Scopes)) {
		return fmt.Errorf("reserving a budget: redis answers %v", got)
	}
	if got[0] == 0 {
		return nil
	}
	over := r.Scopes[got[0]-1]
	return &OverError{Scope: over.Name, Ceiling: over.Ceiling, Spent: Amount{got[1], got[2]}, Reserved: Amount{got[3], got[4]}, Wanted: r.Amount}
}

// Settle replaces a reservation by what was really spent, which may be more.
// Settling again changes nothing; ErrNotFound for what was never reserved, or
// was settled more than an hour ago.
func (s *Store) Settle(ctx context.Context, id string, spent Amount) error {
	if err := spent.check(); err != nil {
		return err
	}
	n, err := s.scripts.settle.Run(ctx, s.redis, nil, id, spent.MicroUSD, spent.Tokens).Int()
	if err == nil && n == 0 {
		return fmt.Errorf("%w: reservation %s", ErrNotFound, id)
	}
	return unavailable("settling a budget", err)
}

// Drop gives a reservation back: the call was not made. Without one, nothing
// changes.
func (s *Store) Drop(ctx context.Context, id string) error {
	err := s.Settle(ctx, id, Amount{})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// SettleRun settles what a run has left open at its full amount: its worker
// died, and nobody knows what the calls cost. It tells how many there were.
func (s *Store) SettleRun(ctx context.Context, run jobs.RunID) (int, error) {
	n, err := s.scripts.settleRun.Run(ctx, s.redis, nil, string(run)).Int()
	return n, unavailable("settling the budget of run "+string(run), err)
}

// SpentOf is what a scope has used.
type SpentOf struct {
	Name            string
	Spent, Reserved Amount
}

// Spent reads scopes by their names, in their order.
func (s *Store) Spent(ctx context.Context, names ...string) ([]SpentOf, error) {
	pipe := s.redis.Pipeline()
	cmds := make([]*redis.SliceCmd, len(names))
	for i, name := range names {
		cmds[i] = pipe.HMGet(ctx, key("budget", name), "usd", "tok", "rusd", "rtok")
	}
	if len(names) == 0 {
		return nil, nil
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, unavailable("reading budgets", err)
	}
	out := make([]SpentOf, len(names))
	for i, cmd := range cmds {
		var row struct {
			USD  int64 `redis:"usd"`
			Tok  int64 `redis:"tok"`
			RUSD int64 `redis:"rusd"`
			RTok int64 `redis:"rtok"`
		}
		if err := cmd.Scan(&row); err != nil {
			return nil, fmt.Errorf("decoding budget %s: %w", names[i], err)
		}
		out[i] = SpentOf{Name: names[i], Spent: Amount{row.USD, row.Tok}, Reserved: Amount{row.RUSD, row.RTok}}
	}
	return out, nil
}

// RaiseThread adds micro-USD to what a thread may spend beyond its ceiling, at
// most so many in all, and gives the sum. It counts once per key, which is
// that of the command's event.
func (s *Store) RaiseThread(ctx context.Context, thread vcs.Thread, once string, microUSD, most int64) (total int64, err error) {
	if err := errors.Join(Amount{MicroUSD: microUSD}.check(), Amount{MicroUSD: most}.check()); err != nil {
		return 0, err
	}
	keys := []string{key("raised", thread.Key()), key("raise", thread.Key()+":"+once)}
	total, err = s.scripts.raise.Run(ctx, s.redis, keys, microUSD, most, int(budgetRetention.Seconds())).Int64()
	return total, unavailable("raising the budget of "+thread.Key(), err)
}

// Raised is what has been added to a thread's ceiling, in micro-USD.
func (s *Store) Raised(ctx context.Context, thread vcs.Thread) (int64, error) {
	n, err := s.redis.Get(ctx, key("raised", thread.Key())).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return n, unavailable("reading the budget of "+thread.Key(), err)
}
