package journal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs/journal"
)

// TestUsageByKindAndModel: fresh, read, written and out are told apart, for each
// model that answered, with what earlier attempts used and what is not counted.
func TestUsageByKindAndModel(t *testing.T) {
	reply := func(name string, cost int64, u model.Usage) journal.Record {
		return record(t, journal.TypeAgent, agent.Entry{Kind: agent.EntryReply, Reply: &model.Response{Model: name, CostMicroUSD: cost, Usage: u}})
	}
	carried := journal.Spent{Steps: 4, Usage: model.Usage{Input: 9, Output: 8}, CostMicroUSD: 1_000_000}
	report, err := journal.Fold([]journal.Record{
		record(t, journal.TypeStarted, journal.Started{Carried: &carried}),
		record(t, journal.TypeModel, journal.ModelChosen{Model: "a/x", Reason: "as configured", Price: "$4 in, $20 out a million, as of 2026-09-22"}),
		reply("a/x", 500_000, model.Usage{Input: 10, CacheRead: 200, CacheWrite: 30, Output: 4}),
		reply("b/y", 250_000, model.Usage{Input: 1, Output: 1}),
		reply("a/x", 100_000, model.Usage{Input: 5, CacheRead: 240, Output: 6}),
		record(t, journal.TypeModel, journal.ModelChosen{Model: "c/z", Reason: "in its place", Unpriced: true}),
		record(t, journal.TypeOutcome, journal.AgentEnded{Model: "a/x", CostMicroUSD: 999}), // not counted twice
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []journal.ModelSpent{
		{Model: "a/x", Spent: journal.Spent{Steps: 2, Usage: model.Usage{Input: 15, CacheRead: 440, CacheWrite: 30, Output: 10}, CostMicroUSD: 600_000}},
		{Model: "b/y", Spent: journal.Spent{Steps: 1, Usage: model.Usage{Input: 1, Output: 1}, CostMicroUSD: 250_000}},
	}
	if diff := cmp.Diff(want, report.ByModel); diff != "" {
		t.Error(diff)
	}
	spent := journal.Spent{Steps: 7, Usage: model.Usage{Input: 25, CacheRead: 440, CacheWrite: 30, Output: 19}, CostMicroUSD: 1_850_000}
	if diff := cmp.Diff(spent, report.Spent()); diff != "" {
		t.Error(diff)
	}
	text := report.Markdown()
	for _, line := range []string{
		"| Tokens | 16 fresh, 440 read from cache, 30 written to cache, 11 out, $0.8500; the cost of `c/z` is not known: the operator can set models.prices |",
		"| Tokens of one | `a/x`: 2 steps, 15 fresh, 440 read from cache, 30 written to cache, 10 out, $0.6000 |",
		"| Earlier attempts | 4 steps, 9 fresh, 0 read from cache, 0 written to cache, 8 out, $1.0000 |",
		"as configured; $4 in, $20 out a million, as of 2026-09-22 |",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("lacks %s\n%s", line, text)
		}
	}
}

// TestCostOfOldJournals is at the end of the run only.
func TestCostOfOldJournals(t *testing.T) {
	report, err := journal.Fold([]journal.Record{record(t, journal.TypeOutcome, journal.AgentEnded{CostMicroUSD: 7})})
	if err != nil || report.Spent().CostMicroUSD != 7 {
		t.Errorf("%+v, %v", report.Spent(), err)
	}
}

func record(t *testing.T, kind journal.Type, data any) journal.Record {
	t.Helper()
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return journal.Record{Type: kind, Data: raw}
}
