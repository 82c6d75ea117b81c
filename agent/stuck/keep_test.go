package stuck_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/stuck"
)

// TestKeptDetectorGoesOn: a detector that is kept and restored at any place
// gives the same findings as one that is not.
func TestKeptDetectorGoesOn(t *testing.T) {
	for seed := range uint64(40) {
		random := rand.New(rand.NewPCG(seed, 7))
		whole, other := stuck.New(), stuck.New()
		tree, found := "t0", 0
		for i := range 300 {
			c := stuck.Call{Name: fmt.Sprint("tool", random.IntN(2)), Args: json.RawMessage(fmt.Sprintf(`{"a":%d}`, random.IntN(2))), Tree: tree}
			next := tree
			if random.IntN(5) == 0 {
				next = fmt.Sprint("t", random.IntN(4))
			}
			res := stuck.Result{Text: fmt.Sprint("result ", random.IntN(2)), Tree: next, Progress: random.IntN(20) == 0, Informs: random.IntN(2) == 0}
			if random.IntN(7) == 0 {
				again := stuck.New()
				again.Restore(other.Keep())
				if diff := cmp.Diff(other.Keep(), again.Keep()); diff != "" {
					t.Fatalf("seed %d, %d: %s", seed, i, diff)
				}
				other = again
			}
			both := func(f func(d *stuck.Detector) any) {
				a, b := f(whole), f(other)
				if diff := cmp.Diff(a, b); diff != "" {
					t.Fatalf("seed %d, %d: %s", seed, i, diff)
				}
				if v, ok := a.(stuck.Finding); ok && v.Verdict != stuck.Go {
					found++
				}
			}
			both(func(d *stuck.Detector) any { return d.Before(c) })
			both(func(d *stuck.Detector) any { return d.After(c, res) })
			switch random.IntN(12) {
			case 0:
				both(func(d *stuck.Detector) any { return d.Failed("check", fmt.Sprint(i%2), next) })
			case 1:
				whole.Passed("check")
				other.Passed("check")
			case 2:
				whole.Reset()
				other.Reset()
			}
			tree = next
		}
		if found == 0 {
			t.Errorf("seed %d: nothing was ever found", seed)
		}
	}
}

// TestBrokenCellsAreLeftOut: a detector takes whatever there is.
func TestBrokenCellsAreLeftOut(t *testing.T) {
	d := stuck.New()
	d.Restore(map[string]string{"counts": "?", "repeat/!": "x", "log/x": "", "visit/t": "many", "known/": "", "failed/c": "", "else": "1"})
	if f := d.After(stuck.Call{Name: "a", Tree: "t"}, stuck.Result{Tree: "t"}); f.Verdict != stuck.Go {
		t.Errorf("finding %+v", f)
	}
}
