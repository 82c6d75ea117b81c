package e2e_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
	"github.com/greenwright/greenwright/vcs"
)

// patience is a hang guard, far above what any flow takes.
const patience = 5 * time.Minute

// world is a running program and what it talks to.
type world struct {
	t *testing.T
	simulated
	repo  repository
	model *modeltest.Server
	cfg   config.Config
	log   *logBuffer
	addr  string
	stop  func() error
}

const secret = "a secret for tests"

type option func(*config.Config)

// start runs the program against a fresh GitHub with one repository.
func start(t *testing.T, files map[string]string, steps []modeltest.Step, opts ...option) *world {
	t.Helper()
	return startOn(t, vcs.GitHub, files, steps, opts...)
}

// startOn is start on one of the forges.
func startOn(t *testing.T, on vcs.ForgeName, files map[string]string, steps []modeltest.Step, opts ...option) *world {
	t.Helper()
	w := prepareOn(t, on, files, steps)
	for _, o := range opts {
		o(&w.cfg)
	}
	w.serve()
	return w
}

// prepare makes everything but the program itself.
func prepare(t *testing.T, files map[string]string, steps []modeltest.Step) *world {
	t.Helper()
	return prepareOn(t, vcs.GitHub, files, steps)
}

func prepareOn(t *testing.T, on vcs.ForgeName, files map[string]string, steps []modeltest.Step) *world {
	t.Helper()
	sandboxtest.Programs(t, "redis-server", "git", "bwrap")
	dir := sandboxtest.Passable(t)
	w := &world{t: t, log: &logBuffer{}}
	var err error
	if w.simulated, err = simulate(on, filepath.Join(dir, string(on))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.hub.Close() })
	if w.model, err = modeltest.NewServer(steps...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.model.Close() })
	w.seed(files)
	w.cfg = w.config(filepath.Join(dir, "data"))
	return w
}

func (w *world) seed(files map[string]string) {
	w.t.Helper()
	var err error
	if w.repo, err = w.create("acme", "widgets", files); err != nil {
		w.t.Fatal(err)
	}
	for login, p := range map[string]vcs.Permission{"maintainer": vcs.PermissionWrite, "contributor": vcs.PermissionRead} {
		w.hub.CreateUser(login)
		if err := w.repo.SetPermission(login, p); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) config(data string) config.Config {
	cfg := config.Default()
	cfg.Listen, cfg.InternalListen, cfg.DataDir = "127.0.0.1:0", "", data
	w.configure(&cfg.Forges)
	cfg.Policy = cfg.Policy.WithDefaults()
	cfg.Models.Probe = false // which would take steps of the script
	cfg.Models.Anthropic = config.Anthropic{BaseURL: w.model.URL(), Key: model.Key("test")}
	cfg.Models.OpenAI = config.OpenAI{BaseURL: w.model.URL() + "/v1", Key: model.Key("test"), API: "chat"}
	return cfg
}

// serve starts the program and points the forge's hook at it.
func (w *world) serve() {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.log, nil))
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- wire.Serve(ctx, w.cfg, wire.RoleAll, "test", log, func(addr string) { ready <- addr }) }()
	select {
	case w.addr = <-ready:
	case err := <-done:
		cancel()
		w.t.Fatalf("serve: %v\n%s", err, w.log)
	case <-time.After(patience):
		cancel()
		w.t.Fatalf("serve does not start\n%s", w.log)
	}
	w.hub.AddHook(w.hookURL())
	var once sync.Once
	var err error
	w.stop = func() error {
		once.Do(func() {
			cancel()
			select {
			case err = <-done:
			case <-time.After(patience):
				err = fmt.Errorf("serve does not end")
			}
		})
		return err
	}
	w.t.Cleanup(func() {
		if err := w.stop(); err != nil {
			w.t.Errorf("serve ended with %v", err)
		}
		if w.t.Failed() {
			w.t.Logf("log of serve:\n%s", w.log)
		}
		for _, f := range w.hub.Faults() {
			w.t.Errorf("the simulated forge found: %s", f)
		}
		for _, v := range w.model.Violations() {
			w.t.Errorf("the scripted model found: %v", v)
		}
	})
}

// hookURL is where the forge delivers.
func (w *world) hookURL() string { return w.hookAt(w.addr) }

func (w *world) hookAt(addr string) string { return "http://" + addr + "/webhooks/" + string(w.on) }

// await waits until check has nothing to complain about.
func (w *world) await(what string, check func() error) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited for %s: %v\n%s", what, err, w.log)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// issue opens one and asks in a comment.
func (w *world) issue(title, body, comment string) (number int, asked vcs.Comment) {
	w.t.Helper()
	issue, err := w.repo.OpenIssue("maintainer", title, body)
	if err != nil {
		w.t.Fatal(err)
	}
	if asked, err = w.repo.Comment(issue.Number, "maintainer", comment); err != nil {
		w.t.Fatal(err)
	}
	return issue.Number, asked
}

// ours are the bot's comments in a thread.
func (w *world) ours(number int) []vcs.Comment {
	var out []vcs.Comment
	for _, c := range w.repo.Comments(number) {
		if c.Author.ID == w.hub.Bot().ID {
			out = append(out, c)
		}
	}
	return out
}

// awaitText waits until one of the bot's comments in the thread holds text.
func (w *world) awaitText(number int, text string) vcs.Comment {
	w.t.Helper()
	var found vcs.Comment
	w.await(fmt.Sprintf("%q in thread %d", text, number), func() error {
		for _, c := range w.ours(number) {
			if strings.Contains(c.Body, text) {
				found = c
				return nil
			}
		}
		return fmt.Errorf("comments: %+v", w.ours(number))
	})
	return found
}

// pulls are the open ones that the bot opened.
func (w *world) pulls() []vcs.PullRequest {
	var out []vcs.PullRequest
	for _, p := range w.repo.Pulls() {
		if p.Author.ID == w.hub.Bot().ID && p.Open {
			out = append(out, p)
		}
	}
	return out
}

// reports reads every archived journal, checked, and folds it.
func (w *world) reports() []journal.Report {
	w.t.Helper()
	dir := filepath.Join(w.cfg.DataDir, "artifacts")
	entries, err := os.ReadDir(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []journal.Report
	for _, e := range entries {
		records, err := journal.LoadFile(journal.Folder{Dir: dir}.Path(jobs.RunID(e.Name())))
		if err != nil {
			w.t.Fatalf("journal of run %s: %v", e.Name(), err)
		}
		report, err := journal.Fold(records)
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, report)
	}
	return out
}

// file reads a file of a branch.
func (w *world) file(rev, path string) string {
	w.t.Helper()
	text, err := w.repo.File(rev, path)
	if err != nil {
		w.t.Fatalf("%s of %s: %v", path, rev, err)
	}
	return text
}

// logBuffer collects the program's log.
type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder // under mu
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var _ io.Writer = (*logBuffer)(nil)
