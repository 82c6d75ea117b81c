package queue_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"go.uber.org/goleak"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
	"github.com/greenwright/greenwright/vcs"
)

// A connection pool that is closed while Redis is away sleeps on for a second.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

var ctx = context.Background()

// logged is a test's log, and what it has taken.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer // under mu
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) log() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// needRedis skips loudly where there is no redis-server.
func needRedis(t *testing.T) {
	t.Helper()
	sandboxtest.Programs(t, "redis-server")
}

// shortDir is a directory whose name leaves room for a socket's.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "queue-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func embedded(t *testing.T, dir string) *queue.Embedded {
	t.Helper()
	needRedis(t)
	e, err := queue.StartEmbedded(ctx, dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// onBoth runs a test on miniredis and on a real server.
func onBoth(t *testing.T, test func(t *testing.T, url vcs.Secret)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		srv := miniredis.RunT(t)
		test(t, vcs.Secret("redis://"+srv.Addr()))
	})
	t.Run("redis", func(t *testing.T) { test(t, embedded(t, shortDir(t)).URL) })
}

func client(t *testing.T, url vcs.Secret) *queue.Client {
	t.Helper()
	c, err := queue.Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// work runs a worker until the returned function is called, or the test ends.
func work(t *testing.T, url vcs.Secret, cfg queue.WorkerConfig, h queue.Handlers) (stop func()) {
	t.Helper()
	return workLogged(t, url, cfg, h, &logged{})
}

func workLogged(t *testing.T, url vcs.Secret, cfg queue.WorkerConfig, h queue.Handlers, l *logged) (stop func()) {
	t.Helper()
	if cfg.Runs == 0 {
		cfg.Runs = 2
	}
	if h.Event == nil {
		h.Event = func(context.Context, vcs.Event) error { return nil }
	}
	if h.Job == nil {
		h.Job = func(context.Context, jobs.Job, int) error { return nil }
	}
	running, cancel := context.WithCancel(ctx)
	w, err := queue.NewWorker(running, url, cfg, h, l.log()) // as a program would: with the context that ends it
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- w.Run(running) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("worker: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("the worker does not end")
		}
	})
	t.Cleanup(stop)
	return stop
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	within(t, 20*time.Second, what, is)
}

func within(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !is(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func recv[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(20 * time.Second):
		t.Fatalf("never: %s", what)
		panic("not reached")
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func event(object string) vcs.Event {
	repo := vcs.Repo{RepoRef: vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}, ID: 9}
	return vcs.Event{
		Forge: vcs.GitHub, Name: "issue_comment", Action: "created", Kind: vcs.EventComment, DeliveryID: "d", Repo: repo, ReceivedAt: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
		Thread: vcs.Thread{Repo: repo.RepoRef, Number: 7}, Object: object, Version: "1", Actor: vcs.Actor{ID: 2, Login: "somebody", Kind: vcs.KindUser},
		Comment: &vcs.Comment{CommentRef: vcs.CommentRef{Kind: vcs.IssueComment, ID: 5}, Body: "/agent fix <&> \u2028"},
	}
}

func job(id string) jobs.Job {
	return jobs.Job{
		ID: jobs.JobID(id), Kind: jobs.KindCheckRepair, Thread: event("").Thread, Command: jobs.Command{Verb: jobs.VerbFix, Text: "a < b \u2028", Options: jobs.Options{Model: "m", DryRun: true}},
		Requester: event("").Actor, Permission: vcs.PermissionMaintain, Comment: vcs.CommentRef{Kind: vcs.IssueComment, ID: 5}, Check: &vcs.Check{ID: 1, Name: "test", PullRequests: []int{7}},
		Review: 3, EventKey: "k", CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
	}
}
