package runner_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// payer is a model whose replies cost what it says, and which may not answer.
type payer struct {
	usd   int64
	asked int
	err   error
	hook  func()
}

func (p *payer) Name() string { return "test/payer" }

func (p *payer) Complete(context.Context, model.Request) (model.Response, error) {
	p.asked++
	if p.hook != nil {
		p.hook()
	}
	return model.Response{CostMicroUSD: p.usd, Usage: model.Usage{Input: 10, Output: 5}}, p.err
}

const oneDollar = 1_000_000

// tariff makes a request of a few words with 1,000 tokens of reply cost a
// dollar at most, and a little.
func tariff() runner.Choice {
	return runner.Choice{Tariff: model.Tariff{Price: model.Price{Input: 1, Output: 1000 * oneDollar}}}
}

func request() model.Request {
	return model.Request{Messages: []model.Message{model.Text(model.RoleUser, "hello")}, MaxOutputTokens: 1000}
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(vcs.Secret("redis://"+miniredis.RunT(t).Addr()), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func aJob() jobs.Job {
	return jobs.Job{ID: "j", Thread: vcs.Thread{Repo: vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}, Number: 1}}
}

func spentOn(t *testing.T, s *store.Store) (spent, reserved int64) {
	t.Helper()
	thread, _, _ := runner.ScopeNames(aJob(), time.Now().UTC().Format(runner.Month))
	got, err := s.Spent(t.Context(), thread)
	if err != nil {
		t.Fatal(err)
	}
	return got[0].Spent.MicroUSD, got[0].Reserved.MicroUSD
}

// TestMostIsTheMost: the tools are part of a request, writing to a cache can be
// dearer than no cache, and a fallback than the model itself.
func TestMostIsTheMost(t *testing.T) {
	price := func(in, write, out int64) runner.Choice {
		return runner.Choice{Tariff: model.Tariff{Price: model.Price{Input: in, CacheWrite: write, Output: out}}}
	}
	plain := runner.MostOf(price(oneDollar, 0, 0), request())
	withTools := request()
	withTools.Tools = []model.ToolSpec{{Name: "t", Description: strings.Repeat("a long story ", 1000), Schema: []byte(`{}`)}}
	if got := runner.MostOf(price(oneDollar, 0, 0), withTools); got.MicroUSD < plain.MicroUSD+2000 || got.Tokens < plain.Tokens+2000 {
		t.Errorf("with tools %+v, without %+v", got, plain)
	}
	if got := runner.MostOf(price(oneDollar, 2*oneDollar, 0), request()); got.MicroUSD != 2*plain.MicroUSD {
		t.Errorf("written to the cache %+v, plain %+v", got, plain)
	}
	joined := price(oneDollar, 0, 0)
	joined.Join(runner.Choice{Tariff: model.Tariff{Price: model.Price{Input: oneDollar}, LongAbove: 1, Long: model.Price{Input: 5 * oneDollar}}})
	if got := runner.MostOf(joined, request()); got.MicroUSD != 5*plain.MicroUSD {
		t.Errorf("with a fallback that is dearer for long requests %+v, plain %+v", got, plain)
	}
}

// TestPurse: no request is sent for which there is no room, what was not used
// is given back, and a raise counts at once.
func TestPurse(t *testing.T) {
	s := openStore(t)
	m := &payer{usd: oneDollar / 2}
	p, shared, err := runner.Purse(aJob(), "r", s, runner.Ceilings{Thread: store.Amount{MicroUSD: 2 * oneDollar}}, nil, m, tariff())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := p.Complete(t.Context(), request()); err != nil {
			t.Fatal(err)
		}
	}
	if spent, reserved := spentOn(t, s); spent != oneDollar || reserved != 0 {
		t.Errorf("spent %d, reserved %d", spent, reserved)
	}
	_, err = p.Complete(t.Context(), request())
	if over, ok := errors.AsType[*agent.BudgetError](err); !ok || m.asked != 2 || !strings.Contains(over.What, "budgets.thread") {
		t.Fatalf("%v, asked %d times", err, m.asked)
	}
	if used, _ := shared(); used != 0.5 {
		t.Errorf("%v of the ceiling are used", used)
	}
	if _, err := s.RaiseThread(t.Context(), aJob().Thread, "k", 8*oneDollar, 8*oneDollar); err != nil {
		t.Fatal(err)
	}
	if _, err = p.Complete(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	if used, what := shared(); used != 0.15 || !strings.Contains(what, "budgets.thread") {
		t.Errorf("after the raise %v of %q are used", used, what)
	}
}

// TestReservationOfALostWorker stays until the run that goes on repeats the
// request, and counts once.
func TestReservationOfALostWorker(t *testing.T) {
	s := openStore(t)
	ceilings := runner.Ceilings{Thread: store.Amount{MicroUSD: 10 * oneDollar}}
	ctx, die := context.WithCancel(t.Context())
	dying := &payer{usd: oneDollar, hook: die, err: context.Canceled}
	first, _, err := runner.Purse(aJob(), "r", s, ceilings, nil, dying, tariff())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Complete(ctx, request()); err == nil {
		t.Fatal("no error")
	}
	if spent, reserved := spentOn(t, s); spent != 0 || reserved < oneDollar {
		t.Fatalf("spent %d, reserved %d", spent, reserved)
	}
	second, _, err := runner.Purse(aJob(), "r", s, ceilings, nil, &payer{usd: oneDollar / 4}, tariff())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Complete(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	if n, err := s.SettleRun(t.Context(), "r"); n != 0 || err != nil {
		t.Errorf("%d reservations are open, %v", n, err)
	}
	if spent, reserved := spentOn(t, s); spent != oneDollar/4 || reserved != 0 {
		t.Errorf("spent %d, reserved %d", spent, reserved)
	}
}
