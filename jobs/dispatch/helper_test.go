package dispatch_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/jobs/control"
	"github.com/greenwright/greenwright/jobs/dispatch"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/policy"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/github"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

var ctx = context.Background()

// appKey is made once: it takes longer than most tests.
var appKey = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
})

// world is a simulated GitHub, a Redis, and a dispatcher between them.
type world struct {
	*testing.T
	srv     *vcstest.GitHub
	repo    *vcstest.Repo
	forge   *github.Forge
	redis   *miniredis.Miniredis
	store   *store.Store
	queue   *queue.Client
	policy  policy.Config
	disp    *dispatch.Dispatcher
	worker  *runner.Worker
	archive *journal.Archive

	writer, reader, stranger vcs.Actor
	now                      time.Time
}

func newWorld(t *testing.T) *world {
	t.Helper()
	srv, err := vcstest.NewGitHub(vcstest.Config{Dir: t.TempDir(), AppKey: appKey()})
	check(t, err)
	t.Cleanup(func() {
		for _, f := range srv.Faults() {
			t.Errorf("the real GitHub would have refused: %s", f)
		}
		check(t, srv.Close())
	})
	w := &world{T: t, srv: srv, redis: miniredis.RunT(t), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), policy: policy.Config{}.WithDefaults()}
	w.repo, err = srv.CreateRepo("acme", "widgets", map[string]string{"README": "hello\n"})
	check(t, err)
	w.writer, w.reader, w.stranger = srv.CreateUser("writer"), srv.CreateUser("reader"), srv.CreateUser("stranger")
	check(t, w.repo.SetPermission("writer", vcs.PermissionWrite))
	check(t, w.repo.SetPermission("reader", vcs.PermissionRead))
	// Without the stack of vcs/transport: its retries would only take time.
	w.forge, err = github.New(github.Config{BaseURL: srv.URL(), AppID: srv.AppID(), PrivateKey: srv.AppKeyPEM()}, github.WithTransport(http.DefaultTransport))
	check(t, err)
	url := vcs.Secret("redis://" + w.redis.Addr())
	w.store, err = store.Open(url, func() time.Time { return w.now })
	check(t, err)
	w.queue, err = queue.Open(url)
	check(t, err)
	t.Cleanup(func() { _, _ = w.store.Close(), w.queue.Close() })
	w.archive, err = journal.OpenArchive(ctx, t.TempDir())
	check(t, err)
	t.Cleanup(func() { check(t, w.archive.Close()) })
	w.disp = w.dispatcher(0)
	return w
}

// dispatcher makes one that knows of so many workers.
func (w *world) dispatcher(workers int) *dispatch.Dispatcher {
	forges, log, now := map[vcs.ForgeName]vcs.Forge{vcs.GitHub: w.forge}, slog.New(slog.DiscardHandler), func() time.Time { return w.now }
	w.worker = &runner.Worker{ID: "worker", Store: w.store, Runner: runner.New(runner.Config{Forges: forges, Archive: w.archive, Log: log, Now: now}), Log: log, Now: now}
	var d *dispatch.Dispatcher
	ctl := control.New(control.Config{
		Store: w.store, End: w.worker.End, Enqueue: w.queue.EnqueueAgain, Now: now,
		Start: func(ctx context.Context, job jobs.Job) error { return d.Start(ctx, job) },
	})
	d = dispatch.New(dispatch.Config{
		Workers: workers, Control: ctl.Do, Forges: forges, Store: w.store, Queue: w.queue, Log: log, Now: now,
		Rules: func(context.Context, vcs.ForgeName) (trigger.Rules, error) { return w.rules(), nil },
	})
	w.worker.Next = d.Next
	return d
}

// takeMessages empties an inbox.
func (w *world) takeMessages(id jobs.JobID) ([]store.Message, error) {
	got, err := w.store.Messages(ctx, id)
	for _, m := range got {
		check(w.T, w.store.TakeMessages(ctx, id, m.ID))
	}
	return got, err
}

func (w *world) rules() trigger.Rules {
	return trigger.Rules{Self: w.srv.Bot(), Parser: command.Parser{Prefix: "/agent", Login: "greenwright"}, Policy: w.policy, BranchPrefix: "greenwright/"}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// issue opens an issue of the writer.
func (w *world) issue() vcs.Thread {
	w.Helper()
	i, err := w.repo.OpenIssue("writer", "It breaks", "Please help.")
	check(w.T, err)
	return i.Thread
}

// pull opens a pull request from a new branch.
func (w *world) pull(login, branch string) vcs.PullRequest {
	w.Helper()
	_, err := w.repo.PushCommit(branch, map[string]string{"x": branch}, "change")
	check(w.T, err)
	p, err := w.repo.OpenPull(login, branch, "main", "A change", "")
	check(w.T, err)
	return p
}

// says is the event of a comment that is really there.
func (w *world) says(actor vcs.Actor, thread vcs.Thread, body string) vcs.Event {
	w.Helper()
	c, err := w.repo.Comment(thread.Number, actor.Login, body)
	check(w.T, err)
	return vcs.Event{
		Forge: vcs.GitHub, Name: "issue_comment", Action: "created", Kind: vcs.EventComment, DeliveryID: "d", ReceivedAt: w.now,
		Repo: w.repo.Info(), Actor: actor, Thread: thread, Comment: &c, Object: fmt.Sprintf("comment:%d", c.ID), Version: "1",
	}
}

// red is the event of a red check on a commit.
func (w *world) red(sha, name string) vcs.Event {
	w.Helper()
	k, err := w.repo.FinishCheck(vcstest.CheckResult{SHA: sha, WorkflowPath: ".github/workflows/ci.yml", JobName: name, Conclusion: vcs.ConclusionFailure})
	check(w.T, err)
	return vcs.Event{
		Forge: vcs.GitHub, Name: "check_run", Action: "completed", Kind: vcs.EventCheck, DeliveryID: "d", ReceivedAt: w.now,
		Repo: w.repo.Info(), Actor: w.writer, Check: &k, Object: fmt.Sprintf("check:%d", k.ID), Version: sha,
	}
}

// handle handles an event that must go well.
func (w *world) handle(ev vcs.Event) {
	w.Helper()
	check(w.T, w.disp.Handle(ctx, ev))
}

// depth is how many jobs wait in the queue.
func (w *world) depth() int {
	w.Helper()
	d, err := w.queue.Depth(ctx)
	check(w.T, err)
	return d.RunsWaiting
}

// holder is the job that holds a thread, with its record.
func (w *world) holder(thread vcs.Thread) store.JobRecord {
	w.Helper()
	id, err := w.store.ThreadJob(ctx, thread)
	check(w.T, err)
	if id == "" {
		return store.JobRecord{}
	}
	rec, err := w.store.Job(ctx, id)
	check(w.T, err)
	return rec
}

// recs are all job records, the latest first.
func (w *world) recs() []store.JobRecord {
	w.Helper()
	all, err := w.store.Recent(ctx, 100)
	check(w.T, err)
	return all
}

// end ends a job as its worker does, up to the point of starting the next.
func (w *world) end(rec store.JobRecord) {
	w.Helper()
	_, err := w.store.MoveJob(ctx, rec.Job.ID, jobs.Failed, "ended by the test", nil)
	check(w.T, err)
	check(w.T, w.store.ReleaseThread(ctx, rec.Job.Thread, rec.Job.ID))
}

// ours are the texts of our comments in a thread.
func (w *world) ours(thread vcs.Thread) []string {
	w.Helper()
	var out []string
	for _, c := range w.repo.Comments(thread.Number) {
		if c.Author.Is(w.srv.Bot()) {
			out = append(out, c.Body)
		}
	}
	return out
}

// told fails unless our only comment in the thread says so.
func (w *world) told(thread vcs.Thread, want string) {
	w.Helper()
	got := w.ours(thread)
	if len(got) != 1 || !strings.Contains(got[0], want) {
		w.Errorf("our comments are %q, want one with %q", got, want)
	}
}

// silent fails if anything was done about a thread.
func (w *world) silent(thread vcs.Thread) {
	w.Helper()
	if got := w.ours(thread); len(got) != 0 {
		w.Errorf("we said %q, want nothing", got)
	}
	if got := w.repo.Reactions(thread.Number); len(got) != 0 {
		w.Errorf("reactions are %v, want none", got)
	}
	if id := w.holder(thread).Job.ID; id != "" || w.depth() != 0 || len(w.recs()) != 0 {
		w.Errorf("holder is %q, %d jobs wait, %d records, want nothing", id, w.depth(), len(w.recs()))
	}
}
