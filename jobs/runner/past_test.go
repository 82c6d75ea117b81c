package runner_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/runner"
)

// rec is a record of the fold, which needs no chain.
func rec(t *testing.T, kind journal.Type, data any) journal.Record {
	t.Helper()
	b, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return journal.Record{Schema: journal.Schema, Run: "r", Type: kind, Data: b}
}

// TestFoldPast: what counts of a run that is taken up, and what is done again.
func TestFoldPast(t *testing.T) {
	state := func(from, to jobs.State) journal.Record {
		return rec(t, journal.TypeState, journal.StateChanged{From: from, To: to})
	}
	check := func(phase journal.Phase) journal.Record {
		return rec(t, journal.TypeCheck, journal.CheckRan{Phase: phase, Name: "make test"})
	}
	resumed := rec(t, journal.TypeResumed, journal.Resumed{})
	request := rec(t, journal.TypeAgent, agent.Entry{Kind: agent.EntryRequest, Request: &agent.RequestRecord{}})
	outcome := rec(t, journal.TypeOutcome, journal.AgentEnded{State: string(agent.StateFinished)})
	begun := []journal.Record{rec(t, journal.TypeStarted, journal.Started{}), state(jobs.Queued, jobs.Preparing), state(jobs.Preparing, jobs.Baseline)}
	working := append(begun[:3:3], check(journal.Before), state(jobs.Baseline, jobs.Working))
	verifying := append(working[:5:5], request, outcome, state(jobs.Working, jobs.Verifying))
	cases := map[string]struct {
		records []journal.Record
		want    runner.Past
	}{
		"not begun":                     {nil, runner.Past{State: jobs.Queued}},
		"half a baseline":               {append(begun[:3:3], check(journal.Before), resumed), runner.Past{State: jobs.Baseline, Fruitless: 1}},
		"a baseline that ended":         {append(working[:5:5], resumed), runner.Past{State: jobs.Working, Baseline: true, Before: 1, Fruitless: 1}},
		"a request without a reply":     {append(working[:5:5], request), runner.Past{State: jobs.Working, Baseline: true, Before: 1, Entries: 1}},
		"half a proof":                  {append(verifying[:8:8], check(journal.After), resumed), runner.Past{State: jobs.Verifying, Baseline: true, Before: 1, Turns: 1, Fruitless: 1}},
		"a proof that ended":            {append(verifying[:8:8], check(journal.After), rec(t, journal.TypeVerdict, journal.Verdict{}), resumed), runner.Past{State: jobs.Verifying, Baseline: true, Before: 1, Turns: 1, After: 1, Settled: true, Fruitless: 1}},
		"paused where it was":           {append(working[:5:5], state(jobs.Working, jobs.Paused)), runner.Past{State: jobs.Working, Baseline: true, Before: 1}},
		"suspended where it was":        {append(verifying[:8:8], state(jobs.Verifying, jobs.AwaitingApproval)), runner.Past{State: jobs.Verifying, Baseline: true, Before: 1, Turns: 1}},
		"begun anew":                    {append(verifying[:8:8], rec(t, journal.TypeResumed, journal.Resumed{Anew: "lost"})), runner.Past{State: jobs.Queued, Fruitless: 1}},
		"taken up again and again":      {append(working[:5:5], resumed, state(jobs.Working, jobs.Paused), resumed, state(jobs.Paused, jobs.Working), resumed), runner.Past{State: jobs.Working, Baseline: true, Before: 1, Fruitless: 3}},
		"taken up, and gone further":    {append(working[:5:5], resumed, resumed, request), runner.Past{State: jobs.Working, Baseline: true, Before: 1, Entries: 1}},
		"a record that is not known":    {append(begun[:3:3], rec(t, "of_the_future", map[string]any{"a": 1})), runner.Past{State: jobs.Baseline}},
		"red, and the next turn begins": {append(verifying[:8:8], check(journal.After), rec(t, journal.TypeVerdict, journal.Verdict{}), state(jobs.Verifying, jobs.Working), request), runner.Past{State: jobs.Working, Baseline: true, Before: 1, Turns: 1, After: 1, Settled: true, Entries: 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := runner.FoldPast(c.records)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
