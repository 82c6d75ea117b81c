package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
)

// TestFallback: the first model's key is refused, the second does the work; the
// summary names both, and why.
func TestFallback(t *testing.T) {
	steps := append([]modeltest.Step{modeltest.FailStatus(http.StatusUnauthorized, "invalid x-api-key", 0)}, repair()...)
	w := start(t, project(), steps, func(c *config.Config) {
		c.Models.Default = "anthropic/scripted"
		c.Models.Fallbacks = map[string][]string{"anthropic/scripted": {"spare/scripted"}}
		c.Models.Endpoints = map[string]*config.Endpoint{"spare": {Driver: "openai", BaseURL: c.Models.OpenAI.BaseURL, API: "chat"}}
		c.Models.Prices = map[string]config.Price{"spare/scripted": {}}
		price := c.Models.Prices["spare/scripted"]
		price.Input, price.Output = 2, 10
		c.Models.Prices["spare/scripted"] = price
		c.Limits.USD = 1
	})
	number, _ := w.issue("Adding is wrong", "add 2 3 gives -1.", "/agent fix")
	last := w.awaitText(number, "journal head")
	for _, want := range []string{"Done and verified", "anthropic/scripted cannot answer (fatal, status 401", "spare/scripted goes on", "`spare/scripted`: in place of anthropic/scripted", "0 written to cache"} {
		if !strings.Contains(last.Body, want) {
			t.Errorf("the summary lacks %q:\n%s", want, last.Body)
		}
	}
	report := w.reports()[0]
	var who []string
	for _, m := range report.ByModel {
		who = append(who, m.Model)
	}
	if diff := cmp.Diff([]string{"spare/scripted"}, who); diff != "" {
		t.Error(diff)
	}
	// by hand: each reply of the script is 1,000 tokens in and 50 out
	if want := int64(report.Steps) * (1_000*2 + 50*10); report.Cost != want || report.Steps == 0 {
		t.Errorf("%d steps cost %d, want %d", report.Steps, report.Cost, want)
	}
}

// TestModelAsksToWait: a service that takes nothing for longer than a worker
// waits sends the job back to the queue, which is told in the thread; at the
// time it asked for, the job goes on where it was, with what was used counted.
func TestModelAsksToWait(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a minute")
	}
	t.Parallel()
	const after = 61 * time.Second // more than a worker waits
	steps := append([]modeltest.Step{modeltest.Do(read("add.sh")), modeltest.FailStatus(http.StatusTooManyRequests, "slow down", after)}, repair()...)
	w := start(t, project(), steps, scripted)
	number, _ := w.issue("Adding is wrong", "add 2 3 gives -1.", "/agent fix")
	waiting := w.awaitText(number, "takes no requests now; the job goes on by itself at")
	begun := time.Now()
	if !strings.Contains(waiting.Body, "**Paused**") {
		t.Errorf("the thread is told:\n%s", waiting.Body)
	}
	asked := len(w.model.Requests())
	w.awaitText(number, "journal head")
	if took := time.Since(begun); took < after-5*time.Second {
		t.Errorf("the job went on after %s, the service asked for %s", took, after)
	}
	if asked != 2 {
		t.Errorf("%d requests were sent before the wait, want 2: none while the service takes nothing", asked)
	}
	reports := w.reports()
	if len(reports) != 1 || reports[0].State != jobs.Verified {
		t.Fatalf("ended: %+v", reports)
	}
	if r := reports[0]; r.Resumed != 1 || r.Steps != 6 || r.Usage.Input != 6_000 {
		t.Errorf("taken up %d times, %d steps, %d tokens; want once, and the step before the wait counted", r.Resumed, r.Steps, r.Usage.Input)
	}
}

// TestProbeAtStart: serve finds out that a server writes its calls into the
// text, says so, and its first job works with that.
func TestProbeAtStart(t *testing.T) {
	inText := func(calls ...modeltest.Call) modeltest.Step {
		return func(modeltest.Request) modeltest.Reply {
			return modeltest.Reply{Fault: modeltest.FaultTextCalls, Calls: calls}
		}
	}
	word := func(w string) modeltest.Call {
		return modeltest.Call{Name: "note_word", Args: map[string]string{"word": w}}
	}
	long := func(r modeltest.Request) modeltest.Reply {
		return modeltest.Reply{Text: "kestrel", Usage: model.Usage{Input: int64(len(r.Raw) * 2 / 7), Output: 3}}
	}
	steps := []modeltest.Step{
		modeltest.Say("ready"), inText(word("green")), inText(word("red"), word("green")), long,
		inText(read("add.sh")), inText(edit("add.sh", "$1 - $2", "$1 + $2")), inText(command("make test")), inText(finish("adds")), inText(finish("adds")),
	}
	w := start(t, project(), steps, func(c *config.Config) {
		c.Models.Probe = true
		c.Models.Default = "own/scripted"
		c.Models.Endpoints = map[string]*config.Endpoint{"own": {Driver: "openai", BaseURL: c.Models.OpenAI.BaseURL, ContextTokens: 30_000}}
	})
	if !strings.Contains(w.log.String(), "model probed") {
		t.Errorf("serve began before its servers were probed:\n%s", w.log)
	}
	number, _ := w.issue("Adding is wrong", "add 2 3 gives -1.", "/agent fix")
	if last := w.awaitText(number, "journal head"); !strings.Contains(last.Body, "Done and verified") {
		t.Errorf("calls in the text were not read:\n%s", last.Body)
	}
	requests := w.model.Requests()
	if got := requests[len(requests)-1].MaxOutput; got != 30_000/4 {
		t.Errorf("replies may have %d tokens in a window of 30,000, want a quarter", got)
	}
}

// TestUnknownPriceUnderABudget: a person's model whose price is not known cannot
// be held to the operator's limit, and is not asked.
func TestUnknownPriceUnderABudget(t *testing.T) {
	w := start(t, project(), nil, func(c *config.Config) {
		scripted(c)
		c.Limits.USD = 1
		c.Models.Endpoints = map[string]*config.Endpoint{"far": {Driver: "openai", BaseURL: "https://models.example.com/v1"}}
	})
	number, _ := w.issue("Adding is wrong", "", "/agent fix --model far/secret")
	last := w.awaitText(number, "journal head")
	for _, want := range []string{"Not done", "what far/secret costs is not known", "models.prices"} {
		if !strings.Contains(last.Body, want) {
			t.Errorf("lacks %q:\n%s", want, last.Body)
		}
	}
}
