package price_test

import (
	"math"
	"net/url"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/price"
)

func load(t *testing.T) price.Table {
	t.Helper()
	table, err := price.Load()
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func day(t *testing.T, s string) time.Time {
	t.Helper()
	d, err := time.Parse(time.DateOnly, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestTheTableHolds: each line is dated, sourced, and plausible in itself.
func TestTheTableHolds(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range load(t).Entries() {
		if key := e.Model + " from " + e.From; seen[key] {
			t.Errorf("%s is there twice", key)
		} else {
			seen[key] = true
		}
		for _, s := range e.Sources {
			if u, err := url.Parse(s); err != nil || u.Scheme != "https" || u.Host == "" {
				t.Errorf("%s: source %q is no address", e.Model, s)
			}
		}
		if e.CacheRead >= e.Input || e.Output <= e.Input || e.CacheWrite != 0 && e.CacheWrite < e.Input {
			t.Errorf("%s: %+v: a column is in another's place", e.Model, e.Dollars)
		}
		if e.LongAbove > 0 && (e.Long.Input <= e.Input || e.Long.Output <= e.Output) {
			t.Errorf("%s: long requests are no dearer", e.Model)
		}
		if e.Window > 0 && e.Window < 100_000 || e.MaxOutput > 0 && e.MaxOutput >= e.Window {
			t.Errorf("%s: window %d with replies of %d", e.Model, e.Window, e.MaxOutput)
		}
	}
}

func TestFind(t *testing.T) {
	table := load(t)
	cases := []struct {
		name, at string
		want     int64 // input, micro dollars for a million
	}{
		{"anthropic/claude-opus-5-5", "2026-11-30", 4_000_000},
		{"anthropic/claude-haiku-4-5-20251001", "2026-11-30", 1_000_000},
		{"openai/gpt-5-2025-08-07", "2026-11-30", 1_250_000},
		{"gemini/gemini-4-argon", "2026-11-30", 2_000_000},
		{"gemini/gemini-4-argon", "2026-12-01", 4_000_000},
		{"openai/gpt-6", "2026-11-30", -1}, // a prefix of others is none of them
		{"openai/gpt-6.1-sol-fast", "2026-11-30", -1},
		{"anthropic/claude-opus-5-5-2026", "2026-11-30", -1},
		{"openai/claude-opus-5-5", "2026-11-30", -1},
		{"", "2026-11-30", -1},
	}
	for _, c := range cases {
		e, ok := table.Find(c.name, day(t, c.at))
		if ok != (c.want >= 0) || ok && e.Tariff().Input != c.want {
			t.Errorf("Find(%q, %s) = %+v, %v, want input %d", c.name, c.at, e, ok, c.want)
		}
	}
}

// TestLongRequests: what is above the line costs the other price as a whole.
func TestLongRequests(t *testing.T) {
	e, ok := load(t).Find("openai/gpt-6.1-sol", day(t, "2026-11-30"))
	if !ok {
		t.Fatal("not found")
	}
	short := model.Usage{Input: 1_000, CacheRead: 271_000, Output: 1_000}
	long := short
	long.Input++
	// by hand: 1,000 × 2 + 271,000 × 0.1 + 1,000 × 10 dollars for a million
	if got := e.Tariff().Cost(short); got != 39_100 {
		t.Errorf("272,000 tokens cost %d, want 39,100", got)
	}
	// 1,001 × 4 + 271,000 × 0.2 + 1,000 × 15
	if got := e.Tariff().Cost(long); got != 73_204 {
		t.Errorf("272,001 tokens cost %d, want 73,204", got)
	}
}

func TestNoPrice(t *testing.T) {
	for _, v := range []float64{-1, math.NaN(), math.Inf(1), 20_000} {
		if (price.Dollars{Output: v}).Validate() == nil {
			t.Errorf("%v is taken for a price", v)
		}
	}
	if err := (price.Dollars{Input: 15, Output: 75}).Validate(); err != nil {
		t.Error(err)
	}
}
