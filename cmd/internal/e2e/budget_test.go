package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/model/price"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// priced makes the replies of dearly cost one US dollar each. What a request of
// these scripts is expected to cost at most is between 0.3 and 0.9.
func priced(c *config.Config) {
	c.Models.Prices = map[string]config.Price{"anthropic/scripted": {Dollars: price.Dollars{Input: 100, CacheRead: 100, CacheWrite: 100, Output: 1}}}
}

// dearly makes each reply cost a US dollar.
func dearly(replies []modeltest.Reply) []modeltest.Reply {
	out := make([]modeltest.Reply, len(replies))
	for i, r := range replies {
		r.Usage = model.Usage{Input: 10_000}
		out[i] = r
	}
	return out
}

// spent is what is booked under a scope, and what is reserved.
func (w *inhabited) spent(name string) store.SpentOf {
	w.t.Helper()
	url := w.cfg.Redis.URL
	if url == "" {
		url = vcs.Secret("unix://" + w.cfg.DataDir + "/redis/redis.sock")
	}
	s, err := store.Open(url, time.Now)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	got, err := s.Spent(w.t.Context(), name)
	if err != nil {
		w.t.Fatal(err)
	}
	return got[0]
}

func (w *inhabited) scope(number int) (thread, month string) {
	job := jobs.Job{Thread: vcs.Thread{Repo: w.repo.Ref(), Number: number}}
	thread, _, month = runner.ScopeNames(job, time.Now().UTC().Format(runner.Month))
	return thread, month
}

// TestThreadBudget: a run that meets its thread's ceiling keeps what it has and
// says so; the next asks no model; who may raises the ceiling, within limits.
func TestThreadBudget(t *testing.T) { inhabitEach(t, threadBudget) }

func threadBudget(t *testing.T, inhabit housing) {
	script := []modeltest.Reply{calls(read("add.sh")), calls(write("notes.txt", "half\n"), edit("add.sh", "$1 - $2", "$1 * $2")), calls(command("make test"))}
	for i := range 9 {
		script = append(script, calls(command(fmt.Sprintf("echo %d", i))))
	}
	w := inhabit(t, project(), inOrder(map[string][]modeltest.Reply{
		"do not multiply": dearly([]modeltest.Reply{calls(read("add.sh")), calls(edit("add.sh", "$1 * $2", "$1 + $2")), calls(finish("it adds")), calls(finish("it adds"))}),
		"Adding is wrong": dearly(script),
	}, "do not multiply", "Adding is wrong"), priced, func(c *config.Config) {
		c.Budgets.Thread.USD, c.Budgets.RaiseUSD = 10.2, 5
	})
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	last := w.awaitText(number, "journal head")
	if !strings.Contains(last.Body, "budgets.thread") || !strings.Contains(last.Body, "$10.00") {
		t.Errorf("the last word does not say what ended it, and what was spent:\n%s", last.Body)
	}
	if r := w.one(jobs.Unverified); !strings.Contains(last.Body, string(r.Run)) {
		t.Errorf("run %s: %s", r.Run, last.Body)
	}
	if !w.wasTold("88 % of the limit on the budget of this thread") {
		t.Error("the model was not told to wrap up")
	}
	thread, month := w.scope(number)
	for _, scope := range []string{thread, month} {
		if s := w.spent(scope); s.Spent.MicroUSD != 10e6 || s.Reserved.MicroUSD != 0 {
			t.Errorf("%+v", s)
		}
	}

	asked := len(w.model.Requests())
	w.says(number, "maintainer", "/agent continue")
	w.await("a second end", func() error { return w.ends(number, 2) })
	if n := len(w.model.Requests()); n != asked || len(w.pulls()) != 1 {
		t.Errorf("%d requests more, %d pull requests", n-asked, len(w.pulls()))
	}

	w.says(number, "maintainer", "/agent budget +4")
	w.awaitText(number, "The budget of this thread is $14.2000 now")
	w.says(number, "maintainer", "/agent budget +4")
	w.awaitText(number, "$15.2000 now, which is the most that the operator allows")
	w.says(number, "maintainer", "/agent continue add, do not multiply")
	w.awaitText(number, "Done and verified")
	if s := w.spent(thread); s.Spent.MicroUSD != 14e6 || s.Reserved.MicroUSD != 0 {
		t.Errorf("in the end %+v", s)
	}
}

// ends complains unless so many jobs of a thread have ended.
func (w *inhabited) ends(number, n int) error {
	got := 0
	for _, c := range w.ours(number) {
		if strings.Contains(c.Body, "journal head") {
			got++
		}
	}
	if got != n {
		return fmt.Errorf("%d", got)
	}
	return nil
}

// wasTold reports whether the model was told one of the texts.
func (w *inhabited) wasTold(texts ...string) bool {
	for _, r := range w.model.Requests() {
		for _, text := range texts {
			if strings.Contains(said(r), text) || strings.Contains(string(r.Raw), text) {
				return true
			}
		}
	}
	return false
}

// TestMonthBudget: runs side by side do not spend more than the month has, and
// each says why it ended.
func TestMonthBudget(t *testing.T) {
	t.Parallel()
	script := dearly([]modeltest.Reply{calls(read("add.sh")), calls(read("test.sh")), calls(read("Makefile")), calls(command("ls")), calls(command("ls -a")), calls(finish("x")), calls(finish("x"))})
	for i := range script { // less than what is reserved, as it should be
		script[i].Usage = model.Usage{Input: 3_000}
	}
	w := inhabit(t, project(), turns(map[string][]modeltest.Reply{"Adding": script, "Taking away": script}), priced, func(c *config.Config) { c.Budgets.Month.USD = 1.6 })
	one, _ := w.issue("Adding", "", "/agent fix")
	two, _ := w.issue("Taking away", "", "/agent fix")
	over := 0
	for _, number := range []int{one, two} {
		last := w.awaitText(number, "journal head")
		if strings.Contains(last.Body, "budgets.month") {
			over++
		}
	}
	if over == 0 {
		t.Error("no run says that the month's budget is used up")
	}
	_, month := w.scope(one)
	if s := w.spent(month); s.Spent.MicroUSD > 1.6e6 || s.Spent.MicroUSD < 0.6e6 || s.Reserved.MicroUSD != 0 {
		t.Errorf("%+v", s)
	}
}

// TestUnknownPrice: what is not known cannot be held to a budget.
func TestUnknownPrice(t *testing.T) {
	t.Parallel()
	w := inhabit(t, project(), nil, func(c *config.Config) {
		c.Budgets.Month.USD = 5
		c.Models.Endpoints = map[string]*config.Endpoint{"far": {Driver: "openai", BaseURL: "https://models.example.com/v1"}}
	})
	number, _ := w.issue("Adding is wrong", "", "/agent fix --model far/secret")
	w.awaitText(number, "the price of model far/secret is not known")
	w.one(jobs.Refused)
	if n := len(w.model.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestCostIsShownWhileItRuns (rule B3).
func TestCostIsShownWhileItRuns(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	steps := turns(map[string][]modeltest.Reply{"Adding is wrong": dearly(mended())})
	held := make([]modeltest.Step, len(steps))
	for i, inner := range steps {
		held[i] = func(r modeltest.Request) modeltest.Reply {
			if spoken(r) == 2 {
				<-goOn
			}
			return inner(r)
		}
	}
	w := inhabit(t, project(), held, priced)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "$2.00")
	close(goOn)
	w.awaitText(number, "Done and verified")
	w.awaitText(number, "$5.00")
}
