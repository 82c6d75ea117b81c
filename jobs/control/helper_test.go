package control_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/jobs/control"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs"
)

var (
	ctx    = context.Background()
	thread = vcs.Thread{Repo: vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}, Number: 7}
	asker  = vcs.Actor{ID: 2, Login: "asker", Kind: vcs.KindUser}
	other  = vcs.Actor{ID: 3, Login: "other", Kind: vcs.KindUser}
)

// effect is one thing that was done to jobs by whoever ends, starts and queues
// them.
type effect struct {
	what  string // end, start, enqueue
	job   jobs.Job
	cause string
	actor string
}

// world is records, and what is done to jobs.
type world struct {
	*testing.T
	store   *store.Store
	ctl     *control.Control
	cfg     control.Config
	now     time.Time
	effects []effect
	endErr  error // of End, in place of its effect
}

func newWorld(t *testing.T, opts ...func(*control.Config)) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	var err error
	w.store, err = store.Open(vcs.Secret("redis://"+miniredis.RunT(t).Addr()), func() time.Time { return w.now })
	w.must(err)
	t.Cleanup(func() { _ = w.store.Close() })
	w.cfg = control.Config{
		Store: w.store, End: w.end, Start: w.start, Enqueue: w.enqueue, Now: func() time.Time { return w.now },
		Budget: control.Budget{Thread: 5_000_000, Most: 10_000_000, Spent: func(context.Context, jobs.Job) (int64, error) { return 1_500_000, nil }},
	}
	for _, o := range opts {
		o(&w.cfg)
	}
	w.ctl = control.New(w.cfg)
	return w
}

// end ends a job as a worker does that nobody disputes it with.
func (w *world) end(ctx context.Context, id jobs.JobID, state jobs.State, cause, actor string) error {
	if w.endErr != nil {
		return w.endErr
	}
	rec, err := w.store.Job(ctx, id)
	if err != nil {
		return err
	}
	if !rec.State.Final() {
		if _, err := w.store.MoveJob(ctx, id, state, cause, nil); err != nil {
			return err
		}
		w.effects = append(w.effects, effect{"end", rec.Job, cause, actor})
	}
	return w.store.ReleaseThread(ctx, rec.Job.Thread, id)
}

// start records and claims, as the dispatcher does, once for each id.
func (w *world) start(ctx context.Context, job jobs.Job) error {
	if _, err := w.store.Job(ctx, job.ID); err == nil {
		return nil
	}
	w.effects = append(w.effects, effect{what: "start", job: job})
	if err := w.store.CreateJob(ctx, job); err != nil {
		return err
	}
	_, err := w.store.ClaimThread(ctx, job.Thread, job.ID, "")
	return err
}

func (w *world) enqueue(_ context.Context, job jobs.Job) (bool, error) {
	w.effects = append(w.effects, effect{what: "enqueue", job: job})
	return false, nil
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// has makes a job of the thread in a state; one that goes on holds the thread.
func (w *world) has(id jobs.JobID, states ...jobs.State) store.JobRecord {
	w.Helper()
	job := jobs.Job{
		ID: id, Kind: jobs.KindFix, Thread: thread, Command: jobs.Command{Verb: jobs.VerbFix, Text: "mend it"}, Requester: asker, Permission: vcs.PermissionWrite,
		Comment: vcs.CommentRef{Kind: vcs.IssueComment, ID: 77}, CreatedAt: w.now,
	}
	w.must(w.store.CreateJob(ctx, job))
	_, err := w.store.ClaimThread(ctx, thread, id, "")
	w.must(err)
	for _, s := range states {
		_, err := w.store.MoveJob(ctx, id, s, "moved to "+string(s), func(r *store.JobRecord) { r.Run = jobs.RunID("run-" + id) })
		w.must(err)
		if s.Final() {
			w.must(w.store.ReleaseThread(ctx, thread, id))
		}
	}
	rec, err := w.store.Job(ctx, id)
	w.must(err)
	return rec
}

// working makes a job that is under way.
func (w *world) working(id jobs.JobID) store.JobRecord {
	w.Helper()
	return w.has(id, jobs.Preparing, jobs.Baseline, jobs.Working)
}

// ended makes a job that has failed.
func (w *world) ended(id jobs.JobID) store.JobRecord {
	w.Helper()
	return w.has(id, jobs.Preparing, jobs.Failed)
}

// asks carries a request out, which must go well, and looks at the answer: no
// line of it may be a command or a mention.
func (w *world) asks(verb jobs.Verb, by vcs.Actor, text string, more ...func(*control.Request)) control.Answer {
	w.Helper()
	r := control.Request{Verb: verb, Thread: thread, By: by, Permission: vcs.PermissionWrite, Text: text, Key: string(verb) + "|" + text, At: w.now, Comment: vcs.CommentRef{Kind: vcs.IssueComment, ID: 99}}
	for _, m := range more {
		m(&r)
	}
	a, err := w.ctl.Do(ctx, r)
	w.must(err)
	parser := command.Parser{Prefix: "/agent", Login: "greenwright"}
	if p := parser.Parse(a.Text); !p.Empty() {
		w.Errorf("the answer is a command: %q: %+v", a.Text, p)
	}
	for i, part := range strings.Split(a.Text, "`") { // code mentions nobody
		if i%2 == 0 && strings.Contains(strings.ReplaceAll(part, "@<!-- -->", ""), "@") {
			w.Errorf("the answer mentions somebody: %q", a.Text)
		}
	}
	return a
}

// says fails unless the answer says so, and whether it is a refusal.
func (w *world) says(a control.Answer, refused bool, want ...string) {
	w.Helper()
	if a.Refused != refused {
		w.Errorf("refused is %v, want %v: %q", a.Refused, refused, a.Text)
	}
	for _, s := range want {
		if !strings.Contains(a.Text, s) {
			w.Errorf("the answer is %q, want %q in it", a.Text, s)
		}
	}
}

// did fails unless exactly these things were done, each as "what job".
func (w *world) did(want ...string) {
	w.Helper()
	var got []string
	for _, e := range w.effects {
		got = append(got, e.what+" "+string(e.job.ID))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.Errorf("done was %q, want %q", got, want)
	}
}

// state is that of a job.
func (w *world) state(id jobs.JobID) jobs.State {
	w.Helper()
	rec, err := w.store.Job(ctx, id)
	w.must(err)
	return rec.State
}

func named(id jobs.JobID) func(*control.Request) {
	return func(r *control.Request) { r.Job, r.Thread = id, vcs.Thread{} }
}

func keyed(key string) func(*control.Request) {
	return func(r *control.Request) { r.Key = key }
}
