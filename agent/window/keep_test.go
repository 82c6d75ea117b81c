package window_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/window"
)

// TestRestoredWindowMeasuresTheSame: over JSON, too.
func TestRestoredWindowMeasuresTheSame(t *testing.T) {
	w := window.New(128_000)
	for range 30 {
		w.Append(model.Text(model.RoleUser, strings.Repeat("some words ", 500)))
	}
	w.Sent(70_001)
	w.Append(model.Text(model.RoleUser, "and more"))
	w.Refused(100_000, 0)
	w.Sent(71_003)
	raw, err := json.Marshal(w.Figures())
	if err != nil {
		t.Fatal(err)
	}
	var f window.Figures
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	other := window.New(128_000)
	other.Restore(w.Messages(), f)
	for _, both := range []*window.Window{w, other} {
		both.Append(model.Text(model.RoleUser, "later"))
	}
	if diff := cmp.Diff([]any{w.Tokens(), w.Usable(), w.Full(), w.Figures()}, []any{other.Tokens(), other.Usable(), other.Full(), other.Figures()}); diff != "" {
		t.Error(diff)
	}
	small := window.New(32_000)
	small.Restore(w.Messages(), f)
	if want := window.New(32_000).Usable(); small.Usable() != want {
		t.Errorf("a smaller window takes %d tokens, want %d", small.Usable(), want)
	}
}

// TestRewritten: it changes with a compaction and with nothing else.
func TestRewritten(t *testing.T) {
	w := window.New(32_000)
	for range 20 {
		w.Append(model.Text(model.RoleUser, strings.Repeat("some words ", 500)))
	}
	before := w.Rewritten()
	w.Sent(20_000)
	w.Reduce(window.StepSuperseded)
	if w.Rewritten() != before {
		t.Error("nothing was changed")
	}
	w.Rebuild(window.StepReset, w.Messages()[:1], len(w.Messages())-1)
	if w.Rewritten() == before {
		t.Error("the transcript was rebuilt")
	}
}
