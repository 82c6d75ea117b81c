package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
)

// TestEndedRunStaysEnded: whoever goes on with a run that had ended gets its
// outcome, and neither asks nor records anything.
func TestEndedRunStaysEnded(t *testing.T) {
	for name, w := range map[string]*world{
		"finished": shortStory(t),
		"limit":    shortStory(t, step{err: &agent.BudgetError{What: "money of this month"}}),
	} {
		want, err := w.work(1 << 30)
		if err != nil {
			t.Fatal(err)
		}
		before := len(w.journal)
		w.script = nil
		got, err := w.work(1 << 30)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || len(w.journal) != before {
			t.Errorf("%s: %v, %d new entries, %s", name, err, len(w.journal)-before, diff)
		}
		if v := agent.Fold(w.entries()); !v.Ended || v.State != want.State || v.Steps != want.Steps {
			t.Errorf("%s: view %+v", name, v)
		}
	}
}

// TestTimeGoesOnWithoutTheGap: the hours in which nobody worked do not count,
// the minutes in which a worker before did, do.
func TestTimeGoesOnWithoutTheGap(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	w := shortStory(t)
	w.task.Limits.WallClock = 30 * time.Minute
	w.alter = func(c *agent.Config) {
		c.Now = func() time.Time { now = now.Add(10 * time.Second); return now }
	}
	var out agent.Outcome
	err := errKilled
	for errors.Is(err, errKilled) {
		now = now.Add(5 * time.Hour)
		out, err = w.work(len(w.journal) + 5)
	}
	if err != nil || out.State != agent.StateFinished {
		t.Errorf("%+v, %v", out, err)
	}
	last := time.Duration(0)
	for i, e := range w.entries() {
		elapsed := time.Duration(e.ElapsedMS) * time.Millisecond
		if elapsed < last || elapsed > last+5*time.Minute {
			t.Errorf("entry %d: %v after %v", i, elapsed, last)
		}
		last = elapsed
	}
	if v := agent.Fold(w.entries()); v.Elapsed != last || last < time.Minute {
		t.Errorf("elapsed %v, %v", v.Elapsed, last)
	}

	w = shortStory(t)
	w.task.Limits.WallClock = 10 * time.Minute
	w.alter = func(c *agent.Config) {
		c.Now = func() time.Time { now = now.Add(30 * time.Second); return now }
	}
	for err = errKilled; errors.Is(err, errKilled); {
		out, err = w.work(len(w.journal) + 5)
	}
	if err != nil || out.State != agent.StateTimeLimit {
		t.Errorf("%s, %v: the clock began anew with each worker", out.State, err)
	}
}

// TestSharedCeilings: a ceiling of several runs counts like one's own, and a
// refused request ends the run.
func TestSharedCeilings(t *testing.T) {
	w := shortStory(t)
	w.alter = func(c *agent.Config) {
		c.Shared = func() (float64, string) { return 0.27 + 0.28*float64(w.steps), "money of this month" }
	}
	w.script = append(w.script[:3:3], step{text: "I fixed it."})
	out, err := w.work(1 << 30)
	if err != nil || out.State != agent.StateOutOfBudget || out.Reason != "the limit on money of this month is used up" || out.Summary != "I fixed it." {
		t.Errorf("%+v, %v", out, err)
	}
	if count(w.entries(), agent.SaidWrapUp) != 1 || count(w.entries(), agent.SaidLast) != 1 {
		t.Error("it was not told")
	}

	refused := step{err: fmt.Errorf("reserving: %w", &agent.BudgetError{What: "money of this thread"})}
	w = shortStory(t, refused)
	if out, err = w.work(1 << 30); err != nil || out.State != agent.StateOutOfBudget || out.Reason != "the limit on money of this thread is used up" {
		t.Errorf("%+v, %v", out, err)
	}
	w = shortStory(t, refused)
	w.task.Limits.Steps = 3
	if out, err = w.work(1 << 30); err != nil || out.State != agent.StateStepLimit || out.Summary != "" {
		t.Errorf("last step: %+v, %v", out, err)
	}
}

// TestCutAtALimit: a run that is cut around its last steps still
// says each word once.
func TestCutAtALimit(t *testing.T) {
	story := func() *world {
		w := shortStory(t)
		w.script = append(w.script[:3:3], step{text: "I fixed it."})
		w.task.Limits.Steps = 3
		return w
	}
	whole := story()
	want, err := whole.work(1 << 30)
	if err != nil || want.State != agent.StateStepLimit || want.Summary == "" {
		t.Fatalf("%+v, %v", want, err)
	}
	for n := range whole.journal {
		w := story()
		if _, err := w.work(n); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		got, err := w.work(1 << 30)
		if got.State != want.State || err != nil {
			t.Errorf("cut after %d: %+v, %v", n, got, err)
		}
		if lost := len(toldUncertain(w.entries())); lost == 0 && (got.Summary != want.Summary || got.Steps != want.Steps) {
			t.Errorf("cut after %d: %+v", n, got)
		}
		if n := count(w.entries(), agent.SaidLast); n != 1 {
			t.Errorf("the last word was said %d times", n)
		}
	}
}

// TestCutAroundAnOverflow: what a server refused for its length is made shorter
// once, whoever does it.
func TestCutAroundAnOverflow(t *testing.T) {
	tooLong := step{err: &model.Error{Class: model.ClassOverflow, Message: "prompt is too long"}}
	story := func() *world {
		w := shortStory(t, tooLong)
		w.script[0].calls = append(w.script[0].calls, toolCall("r2", "read_file", `{"path":"long.txt","limit":2000}`))
		w.base["long.txt"] = strings.Repeat("a line that is long enough to be left out\n", 1000)
		return w
	}
	whole := story()
	want, err := whole.work(1 << 30)
	if err != nil || want.Compactions == 0 || want.State != agent.StateFinished {
		t.Fatalf("%+v, %v", want, err)
	}
	for n := range whole.journal {
		w := story()
		if _, err := w.work(n); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		got, err := w.work(1 << 30)
		if err != nil || got.State != want.State {
			t.Errorf("cut after %d: %+v, %v", n, got, err)
		}
		if diff := cmp.Diff(whole.files(), w.files()); diff != "" {
			t.Errorf("cut after %d: %s", n, diff)
		}
	}
}

// TestHeardOnce: a message that was recorded, but not taken from the inbox when
// the worker was lost, is heard once and taken in the end.
func TestHeardOnce(t *testing.T) {
	w := shortStory(t)
	w.mail[1] = []agent.Message{{ID: "m1", Author: "maintainer", Text: "one"}, {ID: "m2", Author: "maintainer", Text: "two"}}
	w.mail[4] = []agent.Message{{ID: "m3", Author: "maintainer", Text: "three"}}
	w.deaf = true
	out, workers, err := agent.Outcome{}, 0, errKilled
	for errors.Is(err, errKilled) && workers < 20 {
		out, err = w.work(1 << 30)
		workers++
	}
	if err != nil || out.State != agent.StateFinished || workers != 3 {
		t.Fatalf("%+v, %v after %d workers", out, err, workers)
	}
	heard := make(map[string]int)
	for _, e := range w.entries() {
		if e.From != nil {
			heard[e.From.ID]++
		}
	}
	if diff := cmp.Diff(map[string]int{"m1": 1, "m2": 1, "m3": 1}, heard); diff != "" || len(w.taken) != 3 {
		t.Errorf("taken %v, heard %s", w.taken, diff)
	}
}
