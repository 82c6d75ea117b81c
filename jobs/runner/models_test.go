package runner_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/runner"
)

// TestLimitsFitTheModel: the window and the reply are the model's, not more than
// the operator's, and what was used is taken off.
func TestLimitsFitTheModel(t *testing.T) {
	cases := map[string]struct {
		set    agent.Limits
		choice runner.Choice
		used   journal.Spent
		want   agent.Limits
	}{
		"nothing known":          {want: agent.Limits{}},
		"a huge window":          {choice: runner.Choice{Window: 1_050_000, MaxOutput: 128_000}, want: agent.Limits{ContextTokens: 200_000, MaxOutputTokens: 16_000}},
		"a huge window, wanted":  {set: agent.Limits{ContextTokens: 900_000}, choice: runner.Choice{Window: 1_050_000}, want: agent.Limits{ContextTokens: 900_000, MaxOutputTokens: 16_000}},
		"more than there is":     {set: agent.Limits{ContextTokens: 128_000}, choice: runner.Choice{Window: 32_768}, want: agent.Limits{ContextTokens: 32_768, MaxOutputTokens: 8_192}},
		"short replies":          {choice: runner.Choice{Window: 200_000, MaxOutput: 8_000}, want: agent.Limits{ContextTokens: 200_000, MaxOutputTokens: 8_000}},
		"short replies only":     {choice: runner.Choice{MaxOutput: 4_096}, want: agent.Limits{MaxOutputTokens: 4_096}},
		"something used":         {set: agent.Limits{InputTokens: 100, OutputTokens: 50, CostMicroUSD: 10}, used: journal.Spent{Usage: model.Usage{Input: 20, CacheRead: 20, Output: 10}, CostMicroUSD: 3}, want: agent.Limits{InputTokens: 60, OutputTokens: 40, CostMicroUSD: 7}},
		"all used is not free":   {set: agent.Limits{CostMicroUSD: 10}, used: journal.Spent{CostMicroUSD: 30}, want: agent.Limits{CostMicroUSD: 1}},
		"no limit stays without": {used: journal.Spent{CostMicroUSD: 30}, want: agent.Limits{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, runner.FitLimits(c.set, c.choice, c.used)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWaitingIsBounded: by attempts, by time, by what the job has used, and by
// there being a queue.
func TestWaitingIsBounded(t *testing.T) {
	slow := func(d time.Duration) error {
		return fmt.Errorf("asking the model: %w", model.FromStatus(429, "slow down", d, nil))
	}
	queue := runner.Control{Resumable: true}
	last, spent := queue, journal.Spent{CostMicroUSD: 5}
	last.Attempt = 5
	cases := map[string]struct {
		ctl  runner.Control
		used journal.Spent
		set  agent.Limits
		err  error
		want time.Duration // zero: the job ends
	}{
		"two minutes":              {ctl: queue, err: slow(2 * time.Minute), want: 2 * time.Minute},
		"an outage":                {ctl: queue, err: model.FromStatus(503, "down", 0, nil), want: 5 * time.Minute},
		"two hours":                {ctl: queue, err: slow(2 * time.Hour), want: 2 * time.Hour},
		"tomorrow":                 {ctl: queue, err: slow(24 * time.Hour)},
		"the last attempt":         {ctl: last, err: slow(2 * time.Minute)},
		"without a queue":          {err: slow(2 * time.Minute)},
		"the money is used up":     {ctl: queue, used: spent, set: agent.Limits{CostMicroUSD: 5}, err: slow(2 * time.Minute)},
		"the money is not":         {ctl: queue, used: spent, set: agent.Limits{CostMicroUSD: 6}, err: slow(2 * time.Minute), want: 2 * time.Minute},
		"what waiting cures not":   {ctl: queue, err: model.FromStatus(401, "key", 0, nil)},
		"not a model's":            {ctl: queue, err: errors.New("x")},
		"a quota is no rate limit": {ctl: queue, err: model.FromStatus(429, "insufficient_quota", time.Minute, nil)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := runner.WaitForModel(t.Context(), c.set, c.ctl, c.used, c.err)
			var class *jobs.ClassError
			switch errors.As(err, &class); {
			case c.want == 0 && err != nil:
				t.Errorf("waits: %v", err)
			case c.want == 0:
			case class == nil || class.Class != jobs.Retryable:
				t.Errorf("does not wait: %v", err)
			default:
				if got := time.Until(class.RetryAt); got > c.want || got < c.want-time.Minute {
					t.Errorf("waits for %s, want %s", got, c.want)
				}
			}
		})
	}
}
