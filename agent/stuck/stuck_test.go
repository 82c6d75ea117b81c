package stuck_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/stuck"
)

// try asks and tells about one call and returns the stricter verdict.
func try(d *stuck.Detector, args, tree, result string) stuck.Verdict {
	if v := d.Before("run_command", json.RawMessage(args), tree); v != stuck.Go {
		return v
	}
	return d.After("run_command", json.RawMessage(args), tree, result)
}

func TestThresholds(t *testing.T) {
	d := stuck.New()
	var got []stuck.Verdict
	for range 6 {
		got = append(got, try(d, `{"a":1,"b":2}`, "t", "same"))
	}
	if diff := cmp.Diff([]stuck.Verdict{stuck.Go, stuck.Go, stuck.Nudge, stuck.Block, stuck.Block, stuck.End}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCountsAsARepeat(t *testing.T) {
	cases := []struct {
		name string
		call func(i int) (args, tree, result string)
		want stuck.Verdict // of the fourth
	}{
		{"spelled differently", func(i int) (string, string, string) {
			return []string{`{"a":1,"b":2}`, `{ "b":2, "a":1 }`}[i%2], "t", "r"
		}, stuck.Block},
		{"clock in the result", func(i int) (string, string, string) {
			return `{}`, "t", fmt.Sprintf("12:00:0%d took 0.%d3s at 0xc00%d in /tmp/go-build%d/x", i, i, i, i)
		}, stuck.Block},
		{"another result", func(i int) (string, string, string) { return `{}`, "t", fmt.Sprintf("%d tests left", i) }, stuck.Go},
		{"another tree", func(i int) (string, string, string) { return `{}`, fmt.Sprint(i), "r" }, stuck.Go},
		{"another call", func(i int) (string, string, string) { return fmt.Sprintf(`{"a":%d}`, i), "t", "r" }, stuck.Go},
	}
	for _, c := range cases {
		d := stuck.New()
		var last stuck.Verdict
		for i := range 4 {
			args, tree, result := c.call(i)
			last = try(d, args, tree, result)
		}
		if last != c.want {
			t.Errorf("%s: verdict %v", c.name, last)
		}
	}
}

func TestNudgesAreCapped(t *testing.T) {
	d := stuck.New()
	nudges := 0
	for call := range 10 {
		for range 3 {
			if try(d, fmt.Sprintf(`{"n":%d}`, call), "t", "r") == stuck.Nudge {
				nudges++
			}
		}
	}
	if nudges != stuck.MaxNudges {
		t.Errorf("%d nudges", nudges)
	}
}
