package stuck_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/stuck"
)

// move is one call of a story.
type move struct {
	name, args, tree, result, after string
	progress                        bool
}

// try asks and tells about one call and returns the stricter finding.
func try(d *stuck.Detector, m move) stuck.Finding {
	if m.name == "" {
		m.name = "run_command"
	}
	if m.after == "" {
		m.after = m.tree
	}
	c := stuck.Call{Name: m.name, Args: json.RawMessage(m.args), Tree: m.tree}
	if f := d.Before(c); f.Verdict != stuck.Go {
		return f
	}
	return d.After(c, stuck.Result{Text: m.result, Tree: m.after, Progress: m.progress})
}

// play tells a story of n calls and returns at which call each verdict came.
func play(n int, story func(i int) move) map[stuck.Verdict][]int {
	d, got := stuck.New(), map[stuck.Verdict][]int{}
	for i := range n {
		v := try(d, story(i)).Verdict
		if v != stuck.Go {
			got[v] = append(got[v], i+1)
		}
		if v == stuck.End {
			break
		}
	}
	return got
}

type verdicts = map[stuck.Verdict][]int

func TestSameCall(t *testing.T) {
	same := func(int) move { return move{args: `{"a":1,"b":2}`, tree: "t", result: "same"} }
	want := verdicts{stuck.Nudge: {3}, stuck.Block: {4, 5, 6, 7, 8}, stuck.End: {9}}
	if diff := cmp.Diff(want, play(20, same)); diff != "" {
		t.Error(diff)
	}
}

func TestWhatCountsAsARepeat(t *testing.T) {
	repeat := verdicts{stuck.Nudge: {3}, stuck.Block: {4}}
	cases := []struct {
		name string
		call func(i int) move
		want verdicts // of four calls
	}{
		{"spelled differently", func(i int) move {
			return move{args: []string{`{"a":1,"b":2}`, `{ "b":2, "a":1 }`}[i%2], tree: "t", result: "r"}
		}, repeat},
		{"clock in the result", func(i int) move {
			return move{args: `{}`, tree: "t", result: fmt.Sprintf("12:00:0%d took 0.%d3s, %d ms at 0xc00%d in /tmp/go-build%d/x on 2026-11-0%dT10:00:00Z", i, i, i, i, i, i)}
		}, repeat},
		{"progress figures", func(i int) move {
			return move{args: `{}`, tree: "t", result: fmt.Sprintf("fetched %d%%, %d/10 done", i*10, i)}
		}, repeat},
		{"another count", func(i int) move { return move{args: `{}`, tree: "t", result: fmt.Sprintf("%d tests left", i)} }, verdicts{}},
		{"a digit in a name", func(i int) move { return move{args: `{}`, tree: "t", result: fmt.Sprintf("FAIL Test%ds", i)} }, verdicts{}},
		{"another tree", func(i int) move { return move{args: `{}`, tree: fmt.Sprint(i), result: "r"} }, verdicts{}},
		{"another call", func(i int) move { return move{args: fmt.Sprintf(`{"a":%d}`, i), tree: "t", result: "r"} }, verdicts{}},
		{"a process that prints", func(int) move { return move{args: `{}`, tree: "t", result: "r", progress: true} }, verdicts{}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, play(4, c.call)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestPolling: asking again and again is fine as long as something moves, and
// edit-and-test rounds are work.
func TestHonestWork(t *testing.T) {
	stories := map[string]func(i int) move{
		"polling": func(i int) move {
			return move{args: `{"id":"p1"}`, tree: "t", result: fmt.Sprintf("compiled package number %d", i)}
		},
		"edit and test": func(i int) move {
			tree := fmt.Sprint(i / 2)
			if i%2 == 0 {
				return move{name: "edit_file", args: fmt.Sprintf(`{"new":%d}`, i), tree: tree, after: fmt.Sprint(i/2 + 1), result: "edited"}
			}
			return move{args: `{"command":"make"}`, tree: fmt.Sprint(i/2 + 1), result: "FAIL"}
		},
		"read on": func(i int) move {
			return move{name: "read_file", args: fmt.Sprintf(`{"offset":%d}`, i*400), tree: "t", result: "lines"}
		},
		"an experiment taken back, twice": func(i int) move {
			trees := []string{"a", "b", "a", "c", "a", "d"}
			from, to := trees[min(i, 5)], trees[min(i+1, 5)]
			return move{name: "edit_file", args: fmt.Sprintf(`{"n":%d}`, i), tree: from, after: to, result: fmt.Sprint(i)}
		},
	}
	for name, story := range stories {
		if got := play(200, story); len(got) > 0 && name != "an experiment taken back, twice" {
			t.Errorf("%s: %v", name, got)
		}
		if got := play(5, story); len(got) > 0 {
			t.Errorf("%s, the first calls: %v", name, got)
		}
	}
}

// TestCycles: rounds of two to five calls, in one tree and through changing
// trees, are told of after three rounds and ended after five at the latest.
func TestCycles(t *testing.T) {
	for period := 2; period <= stuck.MaxPeriod; period++ {
		fixed := func(i int) move { return move{args: fmt.Sprint(i % period), tree: "t", result: "r"} }
		got := play(200, fixed)
		if n := got[stuck.Nudge]; len(n) == 0 || n[0] > 3*period {
			t.Errorf("period %d: nudged at %v", period, n)
		}
		if e := got[stuck.End]; len(e) == 0 || e[0] > 5*period {
			t.Errorf("period %d: ended at %v", period, e)
		}
		turning := func(i int) move {
			return move{name: "edit_file", args: fmt.Sprint(i % period), tree: fmt.Sprint(i % period), after: fmt.Sprint((i + 1) % period), result: "r"}
		}
		got = play(200, turning)
		if n := got[stuck.Nudge]; len(n) == 0 || n[0] > 3*period+1 {
			t.Errorf("period %d through trees: nudged at %v", period, n)
		}
		if e := got[stuck.End]; len(e) == 0 || e[0] > 5*period+1 {
			t.Errorf("period %d through trees: ended at %v", period, e)
		}
	}
}

// TestUndo: going back to the same files again and again is a circle even when
// no two calls are the same.
func TestUndo(t *testing.T) {
	story := func(i int) move {
		if i%2 == 0 {
			return move{name: "edit_file", args: fmt.Sprintf(`{"try":%d}`, i), tree: "start", after: fmt.Sprintf("try-%d", i), result: fmt.Sprint("edited ", i)}
		}
		return move{name: "edit_file", args: fmt.Sprintf(`{"undo":%d}`, i), tree: fmt.Sprintf("try-%d", i-1), after: "start", result: fmt.Sprint("back ", i)}
	}
	if diff := cmp.Diff(verdicts{stuck.Nudge: {6}, stuck.End: {10}}, play(100, story)); diff != "" {
		t.Error(diff)
	}
}

func TestReset(t *testing.T) {
	d := stuck.New()
	same := move{args: `{}`, tree: "t", result: "r"}
	for i := range 20 {
		if i%2 == 0 {
			d.Reset()
		}
		if f := try(d, same); f.Verdict != stuck.Go {
			t.Fatalf("call %d: %+v", i, f)
		}
	}
}

func TestFindingNamesTheRound(t *testing.T) {
	d := stuck.New()
	var last stuck.Finding
	for i := range 6 {
		last = try(d, move{name: []string{"read_file", "search_code"}[i%2], args: "{}", tree: "t", result: fmt.Sprint(i % 2)})
	}
	want := stuck.Finding{Verdict: stuck.Nudge, Rule: stuck.RuleCycle, Times: 3, Calls: []string{"read_file", "search_code"}}
	if diff := cmp.Diff(want, last); diff != "" {
		t.Error(diff)
	}
}

func TestNudgesAreCapped(t *testing.T) {
	d := stuck.New()
	nudges := 0
	for call := range 10 {
		for range 3 {
			if try(d, move{args: fmt.Sprintf(`{"n":%d}`, call), tree: "t", result: "r"}).Verdict == stuck.Nudge {
				nudges++
			}
		}
	}
	if nudges != stuck.MaxNudges {
		t.Errorf("%d nudges", nudges)
	}
}

// TestSameFailure: the same failure in three trees says that the cause is
// elsewhere; another failure, or a pass, begins anew.
func TestSameFailure(t *testing.T) {
	d := stuck.New()
	var got []bool
	for _, s := range []struct{ output, tree string }{
		{"x_test.go:3: want 1 (0.01s)", "a"}, {"x_test.go:3: want 1 (0.02s)", "a"}, {"x_test.go:3: want 1 (0.03s)", "b"},
		{"x_test.go:9: want 2", "c"}, {"x_test.go:9: want 2", "d"}, {"x_test.go:9: want 2", "e"}, {"x_test.go:9: want 2", "f"},
	} {
		got = append(got, d.Failed("go test", s.output, s.tree))
	}
	if diff := cmp.Diff([]bool{false, false, false, false, false, true, false}, got); diff != "" {
		t.Error(diff)
	}
	d.Failed("go test", "x_test.go:9: want 2", "g")
	d.Passed("go test")
	if d.Failed("go test", "x_test.go:9: want 2", "h") {
		t.Error("counted over a pass")
	}
}

func BenchmarkAfter(b *testing.B) {
	text := ""
	for i := range 1000 {
		text += fmt.Sprintf("ok  \tgithub.com/a/b/c%d\t0.%03ds [12:00:01]\n", i, i)
	}
	d := stuck.New()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		d.After(stuck.Call{Name: "run_command", Args: json.RawMessage(`{"command":"go test ./..."}`), Tree: "t"}, stuck.Result{Text: text, Tree: "t"})
	}
}
