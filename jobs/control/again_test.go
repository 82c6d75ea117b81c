package control_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/control"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

// started is the only job that was started.
func (w *world) started() jobs.Job {
	w.Helper()
	if len(w.effects) != 1 || w.effects[0].what != "start" {
		w.Fatalf("done was %+v, want one start", w.effects)
	}
	return w.effects[0].job
}

func TestRetry(t *testing.T) {
	w := newWorld(t)
	w.says(w.asks(jobs.VerbRetry, other, ""), true, "No job has ended")
	old := w.ended("j1").Job
	var answers []control.Answer
	for range 2 {
		answers = append(answers, w.asks(jobs.VerbRetry, other, "with care", keyed("k")))
	}
	got, want := w.started(), old
	want.ID, want.Requester, want.EventKey = got.ID, other, "k"
	want.Command.Text, want.Comment = "mend it\n\nwith care", vcs.CommentRef{Kind: vcs.IssueComment, ID: 99}
	if diff := cmp.Diff(want, got); diff != "" || got.ID == old.ID || answers[0] != answers[1] || answers[0].Job != got.ID {
		t.Errorf("started (-want +got):\n%s\nanswers %+v", diff, answers)
	}
}

// TestRetryOnceAlsoWhenItHasEnded: a request that comes again after its job has
// ended begins no other.
func TestRetryOnceAlsoWhenItHasEnded(t *testing.T) {
	for _, verb := range []jobs.Verb{jobs.VerbRetry, jobs.VerbContinue} {
		w := newWorld(t)
		w.ended("j1")
		first := w.asks(verb, other, "", keyed("k"))
		_, err := w.store.MoveJob(ctx, first.Job, jobs.Failed, "again", nil)
		w.must(err)
		w.must(w.store.ReleaseThread(ctx, thread, first.Job))
		if again := w.asks(verb, other, "", keyed("k")); again != first {
			t.Errorf("%s: answers %+v and %+v", verb, first, again)
		}
		w.did("start " + string(first.Job))
		if next := w.asks(verb, other, "", keyed("another")); next.Job == first.Job {
			t.Errorf("%s: another request is the same job", verb)
		}
	}
}

func TestContinue(t *testing.T) {
	w := newWorld(t)
	w.ended("j1")
	w.asks(jobs.VerbContinue, other, "do the rest", func(r *control.Request) { r.Options.Model = "x/y" })
	got := w.started()
	if got.Continues != "run-j1" || got.Command.Text != "mend it\n\nNow, to go on: do the rest" || got.Command.Options.Model != "x/y" || got.Requester != other {
		t.Errorf("started %+v", got)
	}
}

// TestContinueOfOneThatNeverBegan goes on from where that one should have.
func TestContinueOfOneThatNeverBegan(t *testing.T) {
	w := newWorld(t)
	w.must(w.store.CreateJob(ctx, jobs.Job{ID: "j1", Kind: jobs.KindFix, Thread: thread, Continues: "run-0"}))
	_, err := w.store.MoveJob(ctx, "j1", jobs.Canceled, "stopped while it waited", nil)
	w.must(err)
	w.asks(jobs.VerbContinue, other, "")
	if got := w.started(); got.Continues != "run-0" {
		t.Errorf("goes on from %q, want run-0", got.Continues)
	}
}

func TestAgainWhileOneGoesOn(t *testing.T) {
	for _, verb := range []jobs.Verb{jobs.VerbRetry, jobs.VerbContinue} {
		w := newWorld(t)
		w.ended("j1")
		w.working("j2")
		w.says(w.asks(verb, other, ""), true, "Job `j2` is still going on")
		w.says(w.asks(verb, other, "", named("j1")), true, "Job `j2` is still going on")
		w.says(w.asks(verb, other, "", named("j2")), true, "Job `j2` is still going on")
		w.says(w.asks(verb, other, "", named("j9")), true, "There is no job `j9`")
		w.did()
	}
}

func TestAgainOfANamedJob(t *testing.T) {
	w := newWorld(t)
	old := w.ended("j1").Job
	w.ended("j2")
	operator := vcs.Actor{Login: "operator:root", Kind: vcs.KindUser}
	w.asks(jobs.VerbContinue, operator, "", named("j1"), func(r *control.Request) { r.Comment, r.Permission = vcs.CommentRef{}, vcs.PermissionAdmin })
	got := w.started()
	if got.Continues != "run-j1" || got.Requester != operator || got.Permission != vcs.PermissionAdmin || got.Comment != old.Comment || got.Thread != thread {
		t.Errorf("started %+v", got)
	}
}

// TestAgainPassesMessagesOver: a job that became a message to another is not
// what a thread ended with.
func TestAgainPassesMessagesOver(t *testing.T) {
	w := newWorld(t)
	w.ended("j1")
	w.must(w.store.CreateJob(ctx, jobs.Job{ID: "j2", Kind: jobs.KindFix, Thread: thread}))
	_, err := w.store.MoveJob(ctx, "j2", jobs.Canceled, "became a message", func(r *store.JobRecord) { r.Into = "j1" })
	w.must(err)
	w.says(w.asks(jobs.VerbContinue, other, "", named("j2")), true, "Job `j2` became a message to job `j1`")
	w.asks(jobs.VerbContinue, other, "")
	if got := w.started(); got.Continues != "run-j1" {
		t.Errorf("goes on from %q", got.Continues)
	}
}

func TestBudget(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		w.says(w.asks(jobs.VerbBudget, other, "+2", keyed("k")), false, "is $7.0000 now")
	}
	w.says(w.asks(jobs.VerbBudget, other, "0.50"), false, "is $7.5000 now")
	w.says(w.asks(jobs.VerbBudget, other, "$1"), false, "is $8.5000 now")
	w.says(w.asks(jobs.VerbBudget, other, "+500"), false, "is $15.0000 now, which is the most")
	w.says(w.asks(jobs.VerbBudget, other, "+1"), false, "is $15.0000 now, which is the most")
	for _, junk := range []string{"", "more", "-2", "+-2", "0", "NaN", "Inf", "1e3", "0x10", "1_0", "0.0000001", "2000000", "1.2.3", "."} {
		w.says(w.asks(jobs.VerbBudget, other, junk), true, "Say by how many")
	}
	w.did()
}

func TestBudgetOfANamedJobsThread(t *testing.T) {
	w := newWorld(t)
	w.ended("j1")
	w.says(w.asks(jobs.VerbBudget, other, "+1", named("j1")), false, "is $6.0000 now")
	if raised, err := w.store.Raised(ctx, thread); err != nil || raised != 1_000_000 {
		t.Errorf("raised by %d, %v", raised, err)
	}
}

func TestNoBudget(t *testing.T) {
	w := newWorld(t, func(c *control.Config) { c.Budget = control.Budget{} })
	w.says(w.asks(jobs.VerbBudget, other, "+2"), true, "No budget is set")
	w.working("j1")
	if a := w.asks(jobs.VerbStatus, other, ""); a.Refused || len(a.Text) == 0 {
		t.Errorf("status %+v", a)
	}
	w = newWorld(t, func(c *control.Config) { c.Budget.Most = 0 })
	w.says(w.asks(jobs.VerbBudget, other, "+2"), true, "lets nobody raise")
}
