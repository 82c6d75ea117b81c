package dispatch_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

func TestFixStartsAJobOnce(t *testing.T) {
	w := newWorld(t)
	thread := w.issue()
	ev := w.says(w.writer, thread, "/agent fix the build")
	for range 3 {
		w.handle(ev)
	}
	rec := w.holder(thread)
	want := jobs.Job{
		ID: rec.Job.ID, Kind: jobs.KindFix, Thread: thread, Command: jobs.Command{Verb: jobs.VerbFix, Text: "the build"}, Requester: w.writer,
		Permission: vcs.PermissionWrite, Comment: ev.Comment.CommentRef, EventKey: ev.Key() + "|0", CreatedAt: ev.ReceivedAt,
	}
	if diff := cmp.Diff(want, rec.Job); diff != "" || rec.Job.ID == "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
	if rec.State != jobs.Queued || w.depth() != 1 || len(w.recs()) != 1 {
		t.Errorf("state is %s, %d jobs wait, %d records", rec.State, w.depth(), len(w.recs()))
	}
	eyes := []vcstest.Reacted{{On: ev.Comment.CommentRef, By: w.srv.Bot(), Reaction: vcs.ReactionEyes}}
	if diff := cmp.Diff(eyes, w.repo.Reactions(thread.Number)); diff != "" {
		t.Errorf("reactions (-want +got):\n%s", diff)
	}
	w.end(rec)
	w.handle(ev) // redelivered after it has ended
	if w.holder(thread).Job.ID != "" || len(w.recs()) != 1 {
		t.Error("an event that was handled has started something")
	}
}

func TestSameEventAtOnce(t *testing.T) {
	w := newWorld(t)
	thread := w.issue()
	ev := w.says(w.writer, thread, "/agent fix")
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() {
			if err := w.disp.Handle(ctx, ev); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if rec := w.holder(thread); rec.State != jobs.Queued || w.depth() != 1 || len(w.recs()) != 1 {
		t.Errorf("state %q, %d wait, %d records", rec.State, w.depth(), len(w.recs()))
	}
}

// Two comments at the same moment are one job and one message, never two jobs
// (decision 7), however the claim and the queue interleave.
func TestTwoCommentsAtOnceAreOneJob(t *testing.T) {
	for i := range 15 {
		w := newWorld(t)
		thread := w.issue()
		var all sync.WaitGroup
		for n := range 4 {
			ev := w.says(w.writer, thread, fmt.Sprintf("/agent fix number %d", n))
			all.Go(func() {
				if err := w.disp.Handle(ctx, ev); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		got, err := w.takeMessages(w.holder(thread).Job.ID)
		check(t, err)
		if w.depth() != 1 || len(got) != 3 {
			t.Fatalf("round %d: %d jobs wait and %d messages, want 1 and 3", i, w.depth(), len(got))
		}
		w.srv.ClearFaults()
	}
}

func TestBusyThreadTakesMessages(t *testing.T) {
	w := newWorld(t)
	thread := w.issue()
	w.handle(w.says(w.writer, thread, "/agent fix"))
	live := w.holder(thread)
	later := w.says(w.writer, thread, "/agent fix also the docs")
	question := w.says(w.writer, thread, "/agent ask why?")
	bare := w.says(w.writer, thread, "/agent fix")
	for _, ev := range []vcs.Event{later, later, question, bare, later} {
		w.handle(ev)
	}
	got, err := w.takeMessages(live.Job.ID)
	check(t, err)
	var texts []string
	for _, m := range got {
		texts = append(texts, m.Author.Login+": "+m.Text)
	}
	if diff := cmp.Diff([]string{"writer: also the docs", "writer: why?", "writer: (fix)"}, texts); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if w.depth() != 1 || w.holder(thread).Job.ID != live.Job.ID {
		t.Errorf("%d jobs wait, the holder is %s", w.depth(), w.holder(thread).Job.ID)
	}
	w.handle(w.says(w.stranger, thread, "/agent fix my way"))
	if got, err := w.takeMessages(live.Job.ID); err != nil || len(got) != 0 {
		t.Errorf("a stranger's words reach the run: %v, %v", got, err)
	}
}

// A message whose job ended before it was read becomes a job.
func TestUnreadMessageIsNotLost(t *testing.T) {
	w := newWorld(t)
	thread := w.issue()
	w.handle(w.says(w.writer, thread, "/agent fix"))
	live := w.holder(thread)
	w.handle(w.says(w.writer, thread, "/agent fix also the docs"))
	w.end(live)
	for range 2 {
		check(t, w.disp.Next(ctx, thread))
	}
	rec := w.holder(thread)
	if rec.Job.Command.Text != "also the docs" || rec.State != jobs.Queued || rec.Job.ID == live.Job.ID {
		t.Errorf("holder is %+v", rec)
	}
	if w.depth() != 2 { // the first was never taken from the queue
		t.Errorf("%d jobs wait", w.depth())
	}
}

func TestStopDropsUnreadMessages(t *testing.T) {
	w := newWorld(t)
	thread := w.issue()
	w.handle(w.says(w.writer, thread, "/agent fix"))
	w.handle(w.says(w.writer, thread, "/agent fix also the docs"))
	w.handle(w.says(w.writer, thread, "/agent stop"))
	check(t, w.disp.Next(ctx, thread))
	if rec := w.holder(thread); rec.Job.ID != "" {
		t.Errorf("after the stop the thread is held by %+v", rec)
	}
}

func TestAHolderThatIsGoneIsTakenOver(t *testing.T) {
	cases := map[string]struct {
		prepare func(w *world, thread vcs.Thread, holder store.JobRecord)
		taken   bool
	}{
		"in the queue": {func(*world, vcs.Thread, store.JobRecord) {}, false},
		"ended, not freed": {func(w *world, _ vcs.Thread, h store.JobRecord) {
			_, err := w.store.MoveJob(ctx, h.Job.ID, jobs.Failed, "", nil)
			check(w.T, err)
		}, true},
		"without a record": {func(w *world, thread vcs.Thread, h store.JobRecord) {
			must(w.store.ClaimThread(ctx, thread, "ghost", h.Job.ID))
		}, true},
		"lost, claimed now": {func(w *world, thread vcs.Thread, h store.JobRecord) { w.lost(thread, h) }, false},
		"lost, claimed once": {func(w *world, thread vcs.Thread, h store.JobRecord) {
			w.lost(thread, h)
			w.redis.FastForward(4 * time.Minute)
		}, true},
		"held by a worker": {func(w *world, thread vcs.Thread, h store.JobRecord) {
			w.lost(thread, h)
			w.redis.FastForward(4 * time.Minute)
			must(w.store.Acquire(ctx, "lost", "worker", time.Hour))
		}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			thread := w.issue()
			w.handle(w.says(w.writer, thread, "/agent fix"))
			c.prepare(w, thread, w.holder(thread))
			before, err := w.store.ThreadJob(ctx, thread)
			check(t, err)
			w.handle(w.says(w.writer, thread, "/agent fix again"))
			after, err := w.store.ThreadJob(ctx, thread)
			check(t, err)
			if (after != before) != c.taken {
				t.Errorf("the holder was %s and is %s, want it taken over: %v", before, after, c.taken)
			}
		})
	}
}

// lost gives the thread to a job that is recorded and not in the queue.
func (w *world) lost(thread vcs.Thread, before store.JobRecord) {
	w.Helper()
	job := before.Job
	job.ID = "lost"
	check(w.T, w.store.CreateJob(ctx, job))
	must(w.store.ClaimThread(ctx, thread, "lost", before.Job.ID))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestBreakerSaysSoOnce(t *testing.T) {
	w := newWorld(t)
	w.policy.JobsPerHour = 2
	thread := w.issue()
	for n := range 5 {
		ev := w.says(w.writer, thread, fmt.Sprintf("/agent fix %d", n))
		for range 2 {
			w.handle(ev)
		}
		if rec := w.holder(thread); (rec.Job.ID != "") != (n < 2) {
			t.Fatalf("after %d jobs the holder is %+v", n+1, rec)
		} else if n < 2 {
			w.end(rec)
		}
		w.now = w.now.Add(time.Minute)
	}
	w.told(thread, "more than 2 jobs on this thread within an hour")
	if w.depth() != 2 {
		t.Errorf("%d jobs were enqueued, want 2", w.depth())
	}
	w.now = w.now.Add(time.Hour)
	w.handle(w.says(w.writer, thread, "/agent fix later"))
	if w.holder(thread).Job.Command.Text != "later" {
		t.Error("an hour later the breaker is still open")
	}
}

// The breaker holds and says so although the forge was away when it did.
func TestBreakerAfterAFailure(t *testing.T) {
	w := newWorld(t)
	w.policy.JobsPerHour = 1
	thread := w.issue()
	w.handle(w.says(w.writer, thread, "/agent fix"))
	w.end(w.holder(thread))
	ev := w.says(w.writer, thread, "/agent fix again")
	w.srv.Fail(vcstest.Failure{Method: "POST", Path: "/comments", Status: 502, Times: 1})
	if err := w.disp.Handle(ctx, ev); jobs.ClassOf(err) != jobs.Retryable {
		t.Fatalf("error is %v, want a retryable one", err)
	}
	w.handle(ev)
	w.told(thread, "more than 1 jobs")
	if w.depth() != 1 || w.holder(thread).Job.ID != "" {
		t.Errorf("%d jobs wait, holder is %q", w.depth(), w.holder(thread).Job.ID)
	}
}

func TestBreakerSpeaksOfRedChecksToo(t *testing.T) {
	w := newWorld(t)
	w.policy.JobsPerHour, w.policy.AutoRepair = 1, "all"
	pr := w.pull("writer", "feature")
	w.handle(w.red(pr.Head.SHA, "test"))
	w.end(w.holder(pr.Thread))
	sha, err := w.repo.PushCommit("feature", map[string]string{"x": "more"}, "more")
	check(t, err)
	w.handle(w.red(sha, "test"))
	w.told(pr.Thread, "more than 1 jobs")
}

func TestRedisAwayIsRetryable(t *testing.T) {
	w := newWorld(t)
	thread := w.issue()
	ev := w.says(w.writer, thread, "/agent fix")
	w.redis.SetError("LOADING Redis is loading the dataset in memory")
	err := w.disp.Handle(ctx, ev)
	if !errors.Is(err, jobs.ErrUnavailable) || jobs.ClassOf(err) != jobs.Retryable {
		t.Errorf("error is %v, want jobs.ErrUnavailable", err)
	}
	w.redis.SetError("")
	w.handle(ev)
	if w.depth() != 1 {
		t.Errorf("%d jobs wait", w.depth())
	}
}

func TestUnknownForge(t *testing.T) {
	w := newWorld(t)
	if err := w.disp.Handle(ctx, vcs.Event{Forge: "elsewhere"}); !errors.Is(err, vcs.ErrInvalid) || jobs.ClassOf(err) != jobs.Permanent {
		t.Errorf("error is %v", err)
	}
}

// Who may only ask does not direct what somebody else has started, and a
// question does not swallow work.
func TestWhatMayNotJoinWaits(t *testing.T) {
	cases := map[string]struct {
		first, second func(w *world, thread vcs.Thread) vcs.Event
		kind          jobs.Kind
	}{
		"a reader's question while a fix runs": {
			func(w *world, t vcs.Thread) vcs.Event { return w.says(w.writer, t, "/agent fix") },
			func(w *world, t vcs.Thread) vcs.Event { return w.says(w.reader, t, "/agent ask put my key in, too?") },
			jobs.KindAsk,
		},
		"work while a question is answered": {
			func(w *world, t vcs.Thread) vcs.Event { return w.says(w.reader, t, "/agent ask why?") },
			func(w *world, t vcs.Thread) vcs.Event { return w.says(w.writer, t, "/agent fix") },
			jobs.KindFix,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.policy.Commands = map[jobs.Verb]string{jobs.VerbAsk: "read"}
			thread := w.issue()
			w.handle(c.first(w, thread))
			holder := w.holder(thread)
			w.handle(c.second(w, thread))
			if got := must(w.takeMessages(holder.Job.ID)); len(got) != 0 {
				t.Fatalf("the live run is told %+v", got)
			}
			w.end(holder)
			check(t, w.disp.Next(ctx, thread))
			if got := w.holder(thread).Job.Kind; got != c.kind {
				t.Errorf("afterwards %q runs, want %s", got, c.kind)
			}
		})
	}
}

// TestRemarksOfAReviewAreOneJob: where a review arrives remark by remark, those
// of one reviewer within five seconds are one job (rules R1, T9).
func TestRemarksOfAReviewAreOneJob(t *testing.T) {
	w := newWorld(t)
	pr := w.ourPull("greenwright/1-x")
	remark := func(by vcs.Actor) vcs.Event {
		ev := w.review(pr)
		ev.Actor, ev.Review.Author, ev.Review.Partial = by, by, true
		return ev
	}
	w.handle(remark(w.writer))
	first := w.holder(pr.Thread)
	if !first.Job.Partial || first.Job.Kind != jobs.KindReviewFollowup {
		t.Fatalf("the first remark's job is %+v", first.Job)
	}
	must(w.store.UpdateJob(ctx, first.Job.ID, func(r *store.JobRecord) error { r.Attempts, r.State = 1, jobs.Preparing; return nil }))
	for range 2 {
		w.now = w.now.Add(2 * time.Second)
		w.handle(remark(w.writer))
	}
	w.now = w.now.Add(2 * time.Second)
	late := remark(w.writer)
	w.handle(late)
	into, waits := 0, 0
	for _, rec := range w.recs() {
		switch {
		case rec.Into == first.Job.ID:
			into++
		case rec.Job.ID != first.Job.ID && !rec.State.Final():
			waits++
		}
	}
	if into != 2 || waits != 1 {
		t.Errorf("%d remarks became part of the first one's job, %d wait; want 2 and 1", into, waits)
	}
	w.end(first)
	check(t, w.disp.Next(ctx, pr.Thread))
	if got := w.holder(pr.Thread).Job; got.Review != late.Review.ID {
		t.Errorf("afterwards %+v runs, want the late remark's", got)
	}
}

// A job that has to wait begins its comment at once, so that the thread is not
// silent until a worker is free.
func TestJobThatWaitsSaysSo(t *testing.T) {
	w := newWorld(t)
	w.disp = w.dispatcher(1)
	first, second := w.issue(), w.issue()
	w.handle(w.says(w.writer, first, "/agent fix"))
	if got := w.ours(first); len(got) != 0 { // nothing is before it: the run itself will speak
		t.Errorf("comments: %q", got)
	}
	ev := w.says(w.writer, second, "/agent fix")
	w.handle(ev)
	w.told(second, "**Queued**: jobs before it: 1")
	w.handle(ev)
	if got := w.ours(second); len(got) != 1 {
		t.Errorf("comments: %q", got)
	}
}

// A job that was begun and that nobody holds at the moment is not gone: whoever
// looks after jobs goes on with it, and a comment meanwhile is a message to it.
func TestLostJobKeepsItsThread(t *testing.T) {
	w := newWorld(t)
	thread := w.issue()
	w.handle(w.says(w.writer, thread, "/agent fix"))
	lost := w.holder(thread)
	must(w.store.UpdateJob(ctx, lost.Job.ID, func(r *store.JobRecord) error {
		r.State, r.Attempts = jobs.Working, 1
		return nil
	}))
	w.redis.FastForward(time.Hour) // no lease, no claim that is fresh
	for _, key := range w.redis.Keys() {
		if strings.HasPrefix(key, "asynq:") {
			w.redis.Del(key) // nor a task
		}
	}
	w.handle(w.says(w.writer, thread, "/agent fix also the docs"))
	if got := w.holder(thread); got.Job.ID != lost.Job.ID {
		t.Errorf("the thread went to %+v", got.Job)
	}
	if got := must(w.takeMessages(lost.Job.ID)); len(got) != 1 {
		t.Errorf("%d messages to the job, want 1", len(got))
	}
}
