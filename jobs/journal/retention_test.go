package journal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
)

// held is a run with a journal of 100 bytes and so many of snapshots.
func held(run jobs.RunID, age time.Duration, snapshots int64) journal.Holding {
	h := journal.Holding{Run: run, Bytes: 100 + snapshots, Time: planned.Add(-age), Artifacts: []journal.Artifact{{Name: "journal.jsonl", Size: 100}}}
	if snapshots > 0 {
		h.Artifacts = append(h.Artifacts, journal.Artifact{Name: journal.SnapManifest("s1"), Size: 1}, journal.Artifact{Name: journal.SnapPack("s1"), Size: snapshots - 1})
	}
	return h
}

var planned = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

const testDay = 24 * time.Hour

func TestPlan(t *testing.T) {
	keep := func(h journal.Holding) journal.Holding { h.Keep = true; return h }
	rules := journal.Rules{Journals: 90 * testDay, Snapshots: 7 * testDay}
	for _, c := range []struct {
		name  string
		runs  []journal.Holding
		rules journal.Rules
		want  []string // run, part, bytes
	}{
		{"nothing", nil, rules, nil},
		{"young", []journal.Holding{held("a", testDay, 50)}, rules, nil},
		{"exactly as old as may be", []journal.Holding{held("a", 90*testDay, 0), held("b", 7*testDay, 5)}, rules, nil},
		{"snapshots", []journal.Holding{held("a", 8*testDay, 50), held("b", 8*testDay, 0)}, rules, []string{"a [snap-s1.json snap-s1.pack] 50"}},
		{"everything", []journal.Holding{held("a", 91*testDay, 50)}, rules, []string{"a [] 150"}},
		{"kept", []journal.Holding{keep(held("a", 91*testDay, 50))}, rules, nil},
		{"of tomorrow", []journal.Holding{held("a", -testDay, 50)}, rules, nil},
		{"no rules", []journal.Holding{held("a", 9000*testDay, 50)}, journal.Rules{}, nil},
		{"just fits", []journal.Holding{held("a", 1, 50), held("b", 2, 50)}, journal.Rules{MaxBytes: 300}, nil},
		{"snapshots for room, oldest first", []journal.Holding{held("a", 1, 50), held("b", 3, 50), held("c", 2, 50)}, journal.Rules{MaxBytes: 400}, []string{"b [snap-s1.json snap-s1.pack] 50"}},
		{"then runs", []journal.Holding{held("a", 1, 50), held("b", 3, 50), held("c", 2, 0)}, journal.Rules{MaxBytes: 200}, []string{"b [] 150", "a [snap-s1.json snap-s1.pack] 50"}},
		{"kept counts", []journal.Holding{keep(held("a", 9, 500)), held("b", 3, 50), held("c", 2, 0)}, journal.Rules{MaxBytes: 700}, []string{"b [] 150"}},
		{"kept is too much", []journal.Holding{keep(held("a", 9, 500)), held("b", 3, 0)}, journal.Rules{MaxBytes: 10}, []string{"b [] 100"}},
		{"age counts before room", []journal.Holding{held("a", 91*testDay, 50), held("b", 3, 50)}, journal.Rules{Journals: 90 * testDay, MaxBytes: 150}, []string{"a [] 150"}},
	} {
		var got []string
		for _, d := range journal.Plan(planned, c.runs, c.rules) {
			got = append(got, fmt.Sprint(d.Run, " ", d.Names, " ", d.Bytes))
			if d.Why == "" || d.Time.IsZero() {
				t.Errorf("%s: %+v", c.name, d)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestDoomedKeepsWhatIsNotOver: runs that live, and those without an end, stay
// whatever the rules say.
func TestDoomedKeepsWhatIsNotOver(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	a := openArchive(t, dir)
	ended, _ := archived(t)
	first := ended[:slices.Index(ended, '\n')+1]
	then := time.Now().Add(-100 * testDay)
	for run, content := range map[jobs.RunID][]byte{"ended": ended, "open": first, "live": ended, "torn": ended[:len(ended)-20], "none": nil} {
		if err := errors.Join(a.Save(ctx, run, "journal.jsonl", content), a.Save(ctx, run, journal.SnapPack("s1"), []byte("pack"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(a.Save(ctx, "bare", "change.patch", []byte("x")), a.Save(ctx, "new", "journal.jsonl", ended)); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"ended", "open", "live", "torn", "none", "bare"} {
		for _, name := range entries(t, filepath.Join(dir, run)) {
			if err := os.Chtimes(filepath.Join(dir, run, name), then, then); err != nil {
				t.Fatal(err)
			}
		}
	}
	live := func(run jobs.RunID) bool { return run == "live" }
	runs := func(plan []journal.Doom) (out []string) {
		for _, d := range plan {
			out = append(out, string(d.Run))
		}
		return out
	}
	plan, err := a.Doomed(ctx, time.Now(), journal.Rules{Journals: 90 * testDay, Snapshots: testDay}, live)
	if diff := cmp.Diff([]string{"ended"}, runs(plan)); diff != "" || err != nil {
		t.Errorf("by age: %v (-want +got):\n%s", err, diff)
	}
	tight, err := a.Doomed(ctx, time.Now(), journal.Rules{MaxBytes: 1}, live)
	if diff := cmp.Diff([]string{"ended", "new"}, runs(tight)); diff != "" || err != nil {
		t.Errorf("by size: %v (-want +got):\n%s", err, diff)
	}
	// A run that is written to between plan and removal stays.
	if err := a.Save(ctx, "new", "change.patch", nil); err != nil {
		t.Fatal(err)
	}
	gone, err := a.Discard(ctx, tight, live)
	if diff := cmp.Diff([]string{"ended"}, runs(gone)); diff != "" || err != nil {
		t.Errorf("gone: %v (-want +got):\n%s", err, diff)
	}
	if got := entries(t, dir); !slices.Equal(got, []string{"bare", "live", "new", "none", "open", "torn"}) {
		t.Errorf("left are %q", got)
	}
}

// TestDiscardOfSnapshots leaves the journal.
func TestDiscardOfSnapshots(t *testing.T) {
	ctx := t.Context()
	a := openArchive(t, "mem://")
	ended, _ := archived(t)
	if err := errors.Join(a.Save(ctx, "r", "journal.jsonl", ended), a.Save(ctx, "r", "change.patch", nil), a.Save(ctx, "r", journal.SnapPack("s1"), []byte("x"))); err != nil {
		t.Fatal(err)
	}
	plan, err := a.Doomed(ctx, time.Now().Add(2*testDay), journal.Rules{Journals: 90 * testDay, Snapshots: testDay}, nil)
	if err != nil || len(plan) != 1 {
		t.Fatalf("%v, %v", plan, err)
	}
	if _, err := a.Discard(ctx, plan, nil); err != nil {
		t.Fatal(err)
	}
	if list, err := a.Names(ctx, "r"); err != nil || len(list) != 2 || list[0].Name != "change.patch" || list[1].Name != "journal.jsonl" {
		t.Errorf("left: %v, %v", list, err)
	}
}
