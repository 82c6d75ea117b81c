package config

import (
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/store"
)

// Budgets are what runs may spend together (rule B1). One run's own ceilings
// are Limits.
type Budgets struct {
	// Thread is for all runs of one issue or pull request.
	Thread Budget `yaml:"thread"`
	// Repository is for all runs of a repository in a calendar month, in UTC.
	Repository Budget `yaml:"repository"`
	// Month is for all runs in a calendar month, in UTC.
	Month Budget `yaml:"month"`
	// RaiseUSD is how much the command `budget` may add to a thread's in all.
	RaiseUSD float64 `yaml:"raise_usd"`
}

// Budget is a ceiling; zero is none.
type Budget struct {
	USD    float64 `yaml:"usd"`
	Tokens int64   `yaml:"tokens"`
}

func (b Budget) amount() store.Amount {
	return store.Amount{MicroUSD: int64(b.USD * microUSD), Tokens: b.Tokens}
}

// Ceilings are the budgets as the runner takes them.
func (b Budgets) Ceilings() runner.Ceilings {
	return runner.Ceilings{Thread: b.Thread.amount(), Repository: b.Repository.amount(), Month: b.Month.amount()}
}

// Raise is RaiseUSD in millionths of a US dollar.
func (b Budgets) Raise() int64 { return int64(b.RaiseUSD * microUSD) }

// Fairness is how many runs may live at once, as the worker takes it.
func (j Jobs) Fairness() runner.Fairness {
	return runner.Fairness{PerRepository: j.PerRepository, PerOwner: j.PerOwner, All: j.Live, Worker: j.Concurrency}
}

func (b Budgets) validate(f *faults) {
	for name, v := range map[string]float64{
		"budgets.thread.usd": b.Thread.USD, "budgets.repository.usd": b.Repository.USD, "budgets.month.usd": b.Month.USD, "budgets.raise_usd": b.RaiseUSD,
		"budgets.thread.tokens": float64(b.Thread.Tokens), "budgets.repository.tokens": float64(b.Repository.Tokens), "budgets.month.tokens": float64(b.Month.Tokens),
	} {
		if !(v >= 0 && v < mostBudget) { // which NaN is not either
			f.add("%s: %v: want between 0, which is no ceiling, and %g", name, v, float64(mostBudget))
		}
	}
	if b.RaiseUSD > 0 && b.Thread.USD == 0 {
		f.add("budgets.raise_usd: there is no budgets.thread.usd to raise")
	}
}

// mostBudget keeps sums of them within 64 bits.
const mostBudget = 1e12
