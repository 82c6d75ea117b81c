package sandboxtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Verdict is what came of an attempt.
type Verdict string

// The verdicts.
const (
	Blocked    Verdict = "blocked"
	Open       Verdict = "open"
	Unprovable Verdict = "not provable here"
)

// Outcome is the result of an attempt under one driver.
type Outcome struct {
	Group   Group   `json:"group"`
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail,omitempty"`
}

// RecordVar names, if it is set, the directory that takes the outcomes of a run as
// DRIVER.json; the table is made of them.
const RecordVar = "GREENWRIGHT_TEST_RECORD"

// record keeps the outcomes and says how many there were of each kind.
func (s *suite) record(t *testing.T, all []Outcome) {
	t.Helper()
	count := map[Verdict]int{}
	for _, r := range all {
		count[r.Verdict]++
	}
	t.Logf("%s: %d attempts: %d blocked, %d open, %d not provable here", s.driver.Name(), len(all), count[Blocked], count[Open], count[Unprovable])
	dir := os.Getenv(RecordVar)
	if dir == "" || t.Failed() {
		return
	}
	slices.SortFunc(all, func(a, b Outcome) int {
		return strings.Compare(string(a.Group)+a.Name, string(b.Group)+b.Name)
	})
	text, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, s.driver.Name()+".json"), append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}
