package e2e_test

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// slowly answers a question after a while.
func slowly() []modeltest.Step {
	step := func(modeltest.Request) modeltest.Reply {
		time.Sleep(time.Second)
		return calls(does("finish", map[string]any{"summary": "x", "answer": "So it is."}))
	}
	return slices.Repeat([]modeltest.Step{step}, 100)
}

// second is another repository.
func (w *inhabited) second() repository {
	w.t.Helper()
	repo, err := w.create("other", "gadgets", project())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := repo.SetPermission("maintainer", vcs.PermissionWrite); err != nil {
		w.t.Fatal(err)
	}
	return repo
}

// TestFloodOfOneRepository delays another by one run at most, whether it has a
// place of its own or not.
func TestFloodOfOneRepository(t *testing.T) {
	t.Parallel()
	for _, concurrency := range []int{1, 2} {
		t.Run(fmt.Sprint(concurrency), func(t *testing.T) {
			t.Parallel()
			w := settle(t, project(), slowly(), func(c *config.Config) { c.Jobs.Concurrency, c.Jobs.PerRepository = concurrency, 1 })
			other := w.second()
			w.begin("all")
			const flood = 5
			for i := range flood {
				w.issue(fmt.Sprintf("Question %d", i), "", "/agent ask why?")
			}
			w.await("the first run of the flood", func() error { return w.began(1) })
			issue, err := other.OpenIssue("maintainer", "Mine", "")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := other.Comment(issue.Number, "maintainer", "/agent ask why?"); err != nil {
				t.Fatal(err)
			}
			w.await("the other's job", func() error {
				if !regexp.MustCompile(`msg="job accepted" .* repo=other/gadgets`).MatchString(w.log.String()) {
					return errors.New("it is not accepted yet")
				}
				return nil
			})
			asked := time.Now()
			var all []journal.Report
			w.await("all runs", func() error {
				kept, err := w.kept()
				if err != nil {
					return err
				}
				all = slices.DeleteFunc(kept, func(r journal.Report) bool { return r.Ended == nil })
				if len(all) != flood+1 {
					return fmt.Errorf("%d have ended", len(all))
				}
				return nil
			})
			var mine time.Time
			for _, r := range all {
				if r.Started.Job.Thread.Repo.Name == "gadgets" {
					mine = r.Begin
				}
			}
			between := 0
			for _, r := range all {
				if r.Begin.After(asked) && r.Begin.Before(mine) {
					between++
				}
			}
			t.Logf("begun after %s, %d others in between", mine.Sub(asked).Round(time.Millisecond), between)
			if between > 1 {
				t.Errorf("%d runs of the flood began before the other repository's", between)
			}
		})
	}
}

// began complains unless so many runs have been begun.
func (w *inhabited) began(n int) error {
	if got := strings.Count(w.log.String(), "state=preparing"); got < n {
		return fmt.Errorf("%d", got)
	}
	return nil
}

// TestMaintenance holds new jobs back and says so; when it is over they run by
// themselves.
func TestMaintenance(t *testing.T) {
	t.Parallel()
	w := inhabit(t, project(), slowly())
	s, err := store.Open(vcs.Secret("unix://"+w.cfg.DataDir+"/redis/redis.sock"), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.SetMaintenance(t.Context(), "moving the database"); err != nil {
		t.Fatal(err)
	}
	number, _ := w.issue("Adding is wrong", "", "/agent ask why?")
	w.awaitText(number, "when maintenance is over: moving the database")
	w.says(number, "maintainer", "/agent status")
	w.awaitText(number, "**queued**")
	pause(t.Context(), 2*time.Second) // for a run to show itself
	if err := w.began(1); err == nil || len(w.model.Requests()) != 0 {
		t.Error("a run has begun")
	}
	if err := s.SetMaintenance(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	w.awaitText(number, "So it is.")
	if n := len(w.ours(number)); n != 2 { // the job's, and the answer about its status
		t.Errorf("%d comments: %+v", n, w.ours(number))
	}
}
