package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// Budget is what runs spend together (rule B1): money and tokens are taken
// before a request is sent, and what it did not use is given back.
type Budget interface {
	Reserve(ctx context.Context, r store.Reservation) error
	Settle(ctx context.Context, id string, spent store.Amount) error
	Spent(ctx context.Context, names ...string) ([]store.SpentOf, error)
	Raised(ctx context.Context, thread vcs.Thread) (int64, error)
}

// Ceilings are what runs may spend together. Zero is no ceiling.
type Ceilings struct {
	Thread     store.Amount // in all
	Repository store.Amount // in a month
	Month      store.Amount // of everything
}

// money reports whether any of them counts money.
func (c Ceilings) money() bool {
	return c.Thread.MicroUSD > 0 || c.Repository.MicroUSD > 0 || c.Month.MicroUSD > 0
}

// ScopeNames are the names under which a job's spending is counted, with the
// month in UTC.
func ScopeNames(job jobs.Job, month string) (thread, repository, all string) {
	return "thread:" + job.Thread.Key(), "repository:" + string(job.Thread.Repo.Forge) + ":" + job.Thread.Repo.FullName() + ":" + month, "month:" + month
}

// Month is how a time's month is named in a scope.
const Month = "2006-01"

// scopes are the ceilings of the run's job, as they are now.
func (s *session) scopes(ctx context.Context) ([]store.Scope, error) {
	thread, repository, all := ScopeNames(s.job, s.cfg.Now().UTC().Format(Month))
	c := s.cfg.Ceilings
	if c.Thread.MicroUSD > 0 {
		raised, err := s.ctl.Budget.Raised(ctx, s.job.Thread)
		if err != nil {
			return nil, err
		}
		c.Thread.MicroUSD += raised
	}
	return []store.Scope{{Name: thread, Ceiling: c.Thread}, {Name: repository, Ceiling: c.Repository}, {Name: all, Ceiling: c.Month}}, nil
}

// purse is a model that pays before it is asked.
type purse struct {
	model.Model
	s      *session
	choice Choice
}

// purse puts a budget in front of a model; the mechanic costs nothing.
func (s *session) purse(m model.Model, c Choice) model.Model {
	if m == nil || s.ctl.Budget == nil || m.Name() == Mechanic {
		return m
	}
	return &purse{Model: m, s: s, choice: c}
}

// purses are a worker's other models, each behind the budget. They are priced
// like the one that edits, whose choice holds the dearest of them.
func (s *session) purses(w worker) agent.Roles {
	return agent.Roles{Plan: s.purse(w.roles.Plan, w.choice), Summarise: s.purse(w.roles.Summarise, w.choice), Review: s.purse(w.roles.Review, w.choice)}
}

// Complete reserves the most that the request can cost, asks, and settles.
func (p *purse) Complete(ctx context.Context, req model.Request) (model.Response, error) {
	most := p.most(req)
	id, err := p.s.reserve(ctx, most)
	if err != nil {
		return model.Response{}, err
	}
	res, err := p.Model.Complete(ctx, req)
	spent := store.Amount{MicroUSD: res.CostMicroUSD, Tokens: res.Usage.InputTotal() + res.Usage.Output}
	if ctx.Err() != nil && err != nil {
		return res, err // what it cost is not known: it stays reserved until the run ends
	}
	if settleErr := p.s.ctl.Budget.Settle(context.WithoutCancel(ctx), id, spent); settleErr != nil {
		p.s.log.Warn("spending could not be settled, the whole reservation stays", "reservation", id, "error", settleErr)
	}
	p.s.tellShare(context.WithoutCancel(ctx))
	return res, err
}

// most is what a request can cost: nothing read from the cache and all written
// to it where that is dearer, and the longest reply.
func (p *purse) most(req model.Request) store.Amount {
	fixed := int64(model.EstimateFixed(req.System, req.Tools))
	input := int64(model.EstimateRequest(req))
	if body, err := json.Marshal(req.Messages); err == nil { // what is no text counts as well; the driver says what is wrong with it
		input = max(input, fixed+int64(float64(len(body))/model.BytesPerToken)+1)
	}
	output := int64(req.MaxOutputTokens)
	if output == 0 {
		output = agent.DefaultMaxOutputTokens
	}
	var usd int64
	for _, u := range []model.Usage{{Input: input, Output: output}, {CacheWrite: input, Output: output}} {
		usd = max(usd, p.choice.Tariff.Cost(u), p.choice.Tariff.Price.Cost(u))
	}
	return store.Amount{MicroUSD: usd, Tokens: input + output}
}

// reserve takes an amount from all ceilings, or says which one is reached.
func (s *session) reserve(ctx context.Context, most store.Amount) (string, error) {
	scopes, err := s.scopes(ctx)
	if err != nil {
		return "", err
	}
	s.requests++
	// What a worker before this one had reserved, and what became of it, is not
	// known: it stays, and counts in full when the run ends.
	id := fmt.Sprintf("%s:%d:%d", s.ctl.Run, s.ctl.Token, s.requests)
	err = s.ctl.Budget.Reserve(ctx, store.Reservation{ID: id, Run: s.ctl.Run, Amount: most, Scopes: scopes})
	if over, ok := errors.AsType[*store.OverError](err); ok {
		return "", &agent.BudgetError{What: s.overWords(over)}
	}
	return id, err
}

// overWords names a ceiling for people.
func (s *session) overWords(over *store.OverError) string {
	thread, repository, _ := ScopeNames(s.job, s.cfg.Now().UTC().Format(Month))
	switch over.Scope {
	case thread:
		return "the budget of this thread (budgets.thread)"
	case repository:
		return "this month's budget of the repository (budgets.repository)"
	}
	return "this month's budget (budgets.month)"
}

// share is how much of the shared ceiling that is used up the most is used.
type share struct {
	mu   sync.Mutex
	used float64 // under mu
	what string  // under mu
}

// shared tells the agent, so that it wraps up in time (rule B2).
func (s *session) shared() (float64, string) {
	s.share.mu.Lock()
	defer s.share.mu.Unlock()
	return s.share.used, s.share.what
}

// tellShare looks up how much is used.
func (s *session) tellShare(ctx context.Context) {
	scopes, err := s.scopes(ctx)
	if err != nil {
		return
	}
	names := make([]string, len(scopes))
	for i, c := range scopes {
		names[i] = c.Name
	}
	spent, err := s.ctl.Budget.Spent(ctx, names...)
	if err != nil || len(spent) != len(scopes) {
		return
	}
	s.share.mu.Lock()
	defer s.share.mu.Unlock()
	s.share.used, s.share.what = 0, "" // a ceiling may have been raised meanwhile
	for i, c := range scopes {
		for _, part := range [][2]int64{{spent[i].Spent.MicroUSD, c.Ceiling.MicroUSD}, {spent[i].Spent.Tokens, c.Ceiling.Tokens}} {
			if part[1] <= 0 {
				continue
			}
			if used := float64(part[0]) / float64(part[1]); used > s.share.used {
				s.share.used, s.share.what = used, s.overWords(&store.OverError{Scope: c.Name})
			}
		}
	}
}
