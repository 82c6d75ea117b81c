package sandboxtest_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

var update = flag.Bool("update", false, "write the table anew")

func document() string { return filepath.Join("..", "..", "docs", "sandbox-attempts.md") }

func recorded(t *testing.T, name string) []sandboxtest.Outcome {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	var out []sandboxtest.Outcome
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func names(outcomes []sandboxtest.Outcome) []string {
	var out []string
	for _, o := range outcomes {
		out = append(out, string(o.Group)+": "+o.Name)
	}
	slices.Sort(out)
	return out
}

// TestTable holds the document to the attempts that exist and to what was
// recorded. To record anew, as root on a machine with both drivers, and write:
//
//	GREENWRIGHT_TEST_RECORD=$PWD/sandbox/sandboxtest/testdata go test -count=1 -p 1 \
//	  -run 'TestConformance|TestWorkspaceTraps' ./sandbox/bwrap ./sandbox/runsc ./cmd/internal/e2e
//	go test ./sandbox/sandboxtest -run TestTable -update
func TestTable(t *testing.T) {
	var want []sandboxtest.Outcome
	for _, a := range sandboxtest.Attempts() {
		want = append(want, sandboxtest.Outcome{Group: a.Group, Name: a.Name})
	}
	all := map[string][]sandboxtest.Outcome{}
	for _, driver := range []string{"bwrap", "runsc"} {
		all[driver] = recorded(t, driver)
		if diff := cmp.Diff(names(want), names(all[driver])); diff != "" {
			t.Errorf("%s: recorded are other attempts than exist; record anew (-want +recorded):\n%s", driver, diff)
		}
	}
	traps := recorded(t, "traps")
	want = nil
	for _, trap := range sandboxtest.WorkspaceTraps() {
		want = append(want, sandboxtest.Outcome{Group: sandboxtest.Traps, Name: trap.Name})
	}
	if diff := cmp.Diff(names(want), names(traps)); diff != "" {
		t.Errorf("recorded are other traps than exist; record anew (-want +recorded):\n%s", diff)
	}
	text := sandboxtest.Table(all, traps)
	if *update {
		if err := os.WriteFile(document(), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(document())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(have)); diff != "" {
		t.Errorf("the document is not of this run; -update writes it (-want +have):\n%s", diff)
	}
}

// TestAttempts: each says what it is, once, and how it is shown to be possible.
func TestAttempts(t *testing.T) {
	seen := map[string]bool{}
	count := map[sandboxtest.Group]int{}
	for _, a := range sandboxtest.Attempts() {
		key := string(a.Group) + "/" + a.Name
		if seen[key] || a.Name == "" || a.Tries == "" || a.Script == "" || a.Control == "" || a.Group == "" {
			t.Errorf("%s: twice, or without a part", key)
		}
		seen[key] = true
		count[a.Group]++
	}
	if n := len(sandboxtest.Attempts()); n < 70 {
		t.Errorf("%d attempts; want at least 70", n)
	}
	for _, trap := range sandboxtest.WorkspaceTraps() {
		if seen[trap.Name] || trap.Name == "" || trap.Tries == "" || trap.Script == "" || trap.Naive == "" {
			t.Errorf("trap %s: twice, or without a part", trap.Name)
		}
		seen[trap.Name] = true
	}
	for _, g := range []sandboxtest.Group{sandboxtest.Secrets, sandboxtest.Escapes, sandboxtest.Kernel, sandboxtest.Network, sandboxtest.Resources, sandboxtest.Processes} {
		if count[g] < 10 {
			t.Errorf("%s: %d attempts", g, count[g])
		}
	}
	t.Logf("%v", count)
}
