package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

// ourPull opens a pull request as Greenwright itself.
func (w *world) ourPull(branch string) vcs.PullRequest {
	w.Helper()
	_, err := w.repo.PushCommit(branch, map[string]string{"x": branch}, "change")
	check(w.T, err)
	p, err := w.forge.OpenPullRequest(ctx, vcs.NewPullRequest{Repo: w.repo.Ref(), Head: branch, Base: "main", Title: "A change", Body: "x"})
	check(w.T, err)
	return p
}

func TestRedCheckIsOneJobPerHead(t *testing.T) {
	w := newWorld(t)
	pr := w.ourPull("greenwright/1-x")
	for _, name := range []string{"test", "lint", "test"} {
		w.handle(w.red(pr.Head.SHA, name))
	}
	rec := w.holder(pr.Thread)
	if rec.Job.Kind != jobs.KindCheckRepair || rec.Job.Check.Name != "test" || w.depth() != 1 || len(w.recs()) != 1 {
		t.Errorf("%d jobs wait, %d records, holder %+v", w.depth(), len(w.recs()), rec)
	}
	if got := w.ours(pr.Thread); len(got) != 0 {
		t.Errorf("a red check was answered: %q", got)
	}
	w.end(rec)
	w.handle(w.red(pr.Head.SHA, "docs")) // of the same head, after it was dealt with
	if w.holder(pr.Thread).Job.ID != "" {
		t.Error("a second job for the same head")
	}
	sha, err := w.repo.PushCommit("greenwright/1-x", map[string]string{"x": "more"}, "more")
	check(t, err)
	w.handle(w.red(sha, "test"))
	if next := w.holder(pr.Thread); next.Job.Check == nil || next.Job.Check.HeadSHA != sha {
		t.Errorf("the next head's job is %+v", next)
	}
}

// Red again and again after repairs: a person is waited for, once, and a
// person's command begins the count anew (rule L3).
func TestRepairRounds(t *testing.T) {
	w := newWorld(t)
	pr := w.ourPull("greenwright/1-x")
	push := func(text string) string {
		sha, err := w.repo.PushCommit("greenwright/1-x", map[string]string{"x": text}, text)
		check(t, err)
		w.now = w.now.Add(time.Hour) // the hourly breaker is another rule
		return sha
	}
	rounds := func(n int) (repaired int) {
		for i := range n {
			w.handle(w.red(push(fmt.Sprint(w.now, i)), "test"))
			if rec := w.holder(pr.Thread); rec.Job.ID != "" {
				repaired++
				w.end(rec)
			}
		}
		return repaired
	}
	if got := rounds(5); got != 3 {
		t.Errorf("%d repairs in a row, want 3", got)
	}
	w.told(pr.Thread, "red again after 3 repairs in a row")
	w.handle(w.says(w.writer, pr.Thread, "/agent fix"))
	rec := w.holder(pr.Thread)
	if rec.Job.Kind != jobs.KindFix {
		t.Fatalf("a person's command started %+v", rec.Job)
	}
	w.end(rec)
	if got := rounds(2); got != 2 {
		t.Errorf("%d repairs after a person's command, want 2", got)
	}
}

func TestRedChecksThatAreLeftAlone(t *testing.T) {
	cases := map[string]func(w *world) (vcs.PullRequest, vcs.Event){
		"of others, auto_repair off": func(w *world) (vcs.PullRequest, vcs.Event) {
			pr := w.pull("writer", "greenwright/looks-like-ours")
			return pr, w.red(pr.Head.SHA, "test")
		},
		"closed": func(w *world) (vcs.PullRequest, vcs.Event) {
			pr := w.ourPull("greenwright/1-x")
			ev := w.red(pr.Head.SHA, "test")
			check(w.T, w.repo.CloseThread(pr.Number, "writer"))
			return pr, ev
		},
		"moved on": func(w *world) (vcs.PullRequest, vcs.Event) {
			pr := w.ourPull("greenwright/1-x")
			ev := w.red(pr.Head.SHA, "test")
			_, err := w.repo.PushCommit("greenwright/1-x", map[string]string{"x": "more"}, "more")
			check(w.T, err)
			return pr, ev
		},
		"of a fork, auto_repair all": func(w *world) (vcs.PullRequest, vcs.Event) {
			w.policy.AutoRepair = "all"
			fork, err := w.repo.Fork("stranger")
			check(w.T, err)
			sha, err := fork.PushCommit("patch", map[string]string{"x": "y"}, "change")
			check(w.T, err)
			pr, err := w.repo.OpenPull("stranger", "stranger:patch", "main", "x", "")
			check(w.T, err)
			ev := w.red(sha, "test")
			ev.Check.PullRequests = []int{pr.Number} // as a payload could claim
			return pr, ev
		},
		"of a number that is no pull request": func(w *world) (vcs.PullRequest, vcs.Event) {
			pr := w.ourPull("greenwright/1-x")
			ev := w.red(pr.Head.SHA, "test")
			ev.Check.PullRequests = []int{999}
			return pr, ev
		},
		"repository not enabled": func(w *world) (vcs.PullRequest, vcs.Event) {
			w.policy.Repositories = []string{"other/*"}
			pr := w.ourPull("greenwright/1-x")
			return pr, w.red(pr.Head.SHA, "test")
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			pr, ev := c(w)
			w.handle(ev)
			w.silent(pr.Thread)
		})
	}
}

func TestRedCheckWhileTheForgeIsAway(t *testing.T) {
	w := newWorld(t)
	pr := w.ourPull("greenwright/1-x")
	ev := w.red(pr.Head.SHA, "test")
	w.srv.Fail(vcstest.Failure{Path: fmt.Sprintf("/pulls/%d", pr.Number), Status: 503, Times: 1})
	if err := w.disp.Handle(ctx, ev); jobs.ClassOf(err) != jobs.Retryable {
		t.Fatalf("error is %v, want a retryable one", err)
	}
	w.handle(ev)
	if w.depth() != 1 {
		t.Errorf("%d jobs wait", w.depth())
	}
}

func (w *world) review(pr vcs.PullRequest) vcs.Event {
	w.Helper()
	r, err := w.repo.SubmitReview("writer", pr.Number, vcs.ReviewChangesRequested, "Please rename it.", vcstest.Remark{Path: "x", Line: 1, Body: "this"})
	check(w.T, err)
	return vcs.Event{
		Forge: vcs.GitHub, Name: "pull_request_review", Action: "submitted", Kind: vcs.EventReview, DeliveryID: "d", ReceivedAt: w.now, Repo: w.repo.Info(), Actor: w.writer,
		Thread: pr.Thread, PullRequest: &pr, Review: &r, Object: fmt.Sprintf("review:%d", r.ID), Version: "1",
	}
}

// What a machine or a review asks for while the thread is busy waits, is
// started in turn, and each only once.
func TestReviewAndCheckWait(t *testing.T) {
	w := newWorld(t)
	pr := w.ourPull("greenwright/1-x")
	w.handle(w.says(w.writer, pr.Thread, "/agent fix"))
	first := w.holder(pr.Thread)
	w.now = w.now.Add(6 * time.Second) // not in the same moment
	review := w.review(pr)
	for range 2 {
		w.handle(review)
	}
	w.now = w.now.Add(time.Second)
	for _, name := range []string{"test", "lint"} {
		w.handle(w.red(pr.Head.SHA, name))
	}
	if w.depth() != 1 || w.holder(pr.Thread).Job.ID != first.Job.ID {
		t.Fatalf("%d jobs wait in the queue, want only the first", w.depth())
	}
	check(t, w.disp.Next(ctx, pr.Thread)) // the thread is still busy
	if w.holder(pr.Thread).Job.ID != first.Job.ID {
		t.Fatal("a busy thread was given away")
	}
	for i, want := range []jobs.Kind{jobs.KindReviewFollowup, jobs.KindCheckRepair} {
		w.end(w.holder(pr.Thread))
		for range 2 {
			check(t, w.disp.Next(ctx, pr.Thread))
		}
		rec := w.holder(pr.Thread)
		if rec.Job.Kind != want || w.depth() != i+2 {
			t.Fatalf("job %d is %+v, %d in the queue, want a %s", i, rec.Job, w.depth(), want)
		}
	}
	if rec := w.holder(pr.Thread); rec.Job.Check == nil {
		t.Errorf("the check is lost: %+v", rec.Job)
	}
	w.end(w.holder(pr.Thread))
	check(t, w.disp.Next(ctx, pr.Thread))
	if id := w.holder(pr.Thread).Job.ID; id != "" || w.depth() != 3 {
		t.Errorf("%s was started although nothing waits", id)
	}
}

// A command, a review and a red check within five seconds are one job, unless it
// has begun (rule T9).
func TestTriggersInTheSameMoment(t *testing.T) {
	w := newWorld(t)
	pr := w.ourPull("greenwright/1-x")
	w.handle(w.says(w.writer, pr.Thread, "/agent fix and keep the name"))
	first := w.holder(pr.Thread)
	w.now = w.now.Add(2 * time.Second)
	w.handle(w.red(pr.Head.SHA, "test"))
	review := w.review(pr)
	for range 2 {
		w.handle(review)
	}
	got := w.holder(pr.Thread).Job
	if got.ID != first.Job.ID || got.Kind != jobs.KindReviewFollowup || got.Review == 0 || got.Also != "and keep the name" || w.depth() != 1 {
		t.Errorf("%d jobs, the holder is %+v", w.depth(), got)
	}
	w.end(w.holder(pr.Thread))
	check(t, w.disp.Next(ctx, pr.Thread))
	if id := w.holder(pr.Thread).Job.ID; id != "" {
		t.Errorf("%s was started as well", id)
	}

	w.handle(w.says(w.writer, pr.Thread, "/agent fix"))
	must(w.store.UpdateJob(ctx, w.holder(pr.Thread).Job.ID, func(r *store.JobRecord) error { r.Attempts = 1; return nil }))
	w.handle(w.review(pr))
	if got := w.holder(pr.Thread).Job; got.Kind != jobs.KindFix || got.Review != 0 {
		t.Errorf("a job that has begun became %+v", got)
	}
}

// A job that cannot be started just now goes on waiting.
func TestWhatWaitsIsNotLost(t *testing.T) {
	w := newWorld(t)
	pr := w.ourPull("greenwright/1-x")
	w.handle(w.says(w.writer, pr.Thread, "/agent fix"))
	first := w.holder(pr.Thread)
	w.now = w.now.Add(6 * time.Second)
	w.handle(w.review(pr))
	w.end(first)
	w.policy.JobsPerHour = 1 // the breaker speaks, and the forge does not listen
	w.srv.Fail(vcstest.Failure{Method: "POST", Path: "/comments", Status: 502, Times: 1})
	if err := w.disp.Next(ctx, pr.Thread); jobs.ClassOf(err) != jobs.Retryable {
		t.Fatalf("error is %v, want a retryable one", err)
	}
	w.policy.JobsPerHour = 6
	check(t, w.disp.Next(ctx, pr.Thread))
	if rec := w.holder(pr.Thread); rec.Job.Kind != jobs.KindReviewFollowup || w.depth() != 2 {
		t.Errorf("the review is lost: %+v", rec)
	}
}

// A job that waits is not stuck behind one that was refused or has ended.
func TestWhatWaitsIsNotStuck(t *testing.T) {
	w := newWorld(t)
	pr := w.ourPull("greenwright/1-x")
	w.handle(w.says(w.writer, pr.Thread, "/agent fix"))
	first := w.holder(pr.Thread)
	w.now = w.now.Add(6 * time.Second)
	review := w.review(pr)
	w.handle(review)
	w.now = w.now.Add(time.Second)
	w.handle(w.red(pr.Head.SHA, "test"))
	for _, rec := range w.recs() {
		if rec.Job.Kind == jobs.KindReviewFollowup {
			must(w.store.MoveJob(ctx, rec.Job.ID, jobs.Canceled, "withdrawn", nil))
		}
	}
	w.end(first)
	check(t, w.disp.Next(ctx, pr.Thread))
	if rec := w.holder(pr.Thread); rec.Job.Kind != jobs.KindCheckRepair {
		t.Errorf("the holder is %+v", rec.Job)
	}
}
