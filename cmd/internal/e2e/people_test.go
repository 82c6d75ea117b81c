package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/vcs"

	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
	verbs "github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/runner"
)

// inhabited is a world whose program runs in this process with short leases,
// so that people need not wait for it.
type inhabited struct {
	*world
}

// inhabit makes a world and starts the program.
func inhabit(t *testing.T, files map[string]string, steps []modeltest.Step, opts ...option) *inhabited {
	t.Helper()
	return inhabitOn(t, vcs.GitHub, files, steps, opts...)
}

func inhabitOn(t *testing.T, on vcs.ForgeName, files map[string]string, steps []modeltest.Step, opts ...option) *inhabited {
	t.Helper()
	w := settleOn(t, on, files, steps, opts...)
	w.begin(wire.RoleAll)
	return w
}

// settle makes everything but the program.
func settle(t *testing.T, files map[string]string, steps []modeltest.Step, opts ...option) *inhabited {
	t.Helper()
	return settleOn(t, vcs.GitHub, files, steps, opts...)
}

func settleOn(t *testing.T, on vcs.ForgeName, files map[string]string, steps []modeltest.Step, opts ...option) *inhabited {
	t.Helper()
	w := &inhabited{prepareOn(t, on, files, steps)}
	scripted(&w.cfg)
	for _, o := range opts {
		o(&w.cfg)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of serve:\n%s", w.log)
		}
		for _, f := range w.hub.Faults() {
			t.Errorf("the simulated forge found: %s", f)
		}
		for _, v := range w.model.Violations() {
			t.Errorf("the scripted model found: %v", v)
		}
	})
	return w
}

// begin starts a role of the program. Stopping it is a drain.
func (w *inhabited) begin(role wire.Role, opts ...wire.Option) (stop func()) {
	w.t.Helper()
	opts = append([]wire.Option{wire.WithPace(runner.Pace{Lease: lease, Stop: lease / 4, Reconcile: lease / 4})}, opts...)
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string, 1), make(chan error, 1)
	log := slog.New(slog.NewTextHandler(w.log, nil))
	go func() {
		done <- wire.Serve(ctx, w.cfg, role, "test", log, func(addr string) { ready <- addr }, opts...)
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					w.t.Errorf("serve ended with %v", err)
				}
			case <-time.After(patience):
				w.t.Error("serve does not end")
			}
		})
	}
	w.t.Cleanup(stop)
	if role == wire.RoleWorker {
		return stop
	}
	select {
	case w.addr = <-ready:
		w.hub.AddHook(w.hookURL())
	case err := <-done:
		done <- err
		w.t.Fatalf("serve: %v\n%s", err, w.log)
	case <-time.After(patience):
		w.t.Fatalf("serve does not start\n%s", w.log)
	}
	return stop
}

// says writes a comment.
func (w *inhabited) says(number int, login, text string) {
	w.t.Helper()
	if _, err := w.repo.Comment(number, login, text); err != nil {
		w.t.Fatal(err)
	}
}

// kept are the reports of all runs so far, some of which may still be going on:
// the error is that of one which is being archived at the moment.
func (w *inhabited) kept() ([]journal.Report, error) {
	dir := filepath.Join(w.cfg.DataDir, "artifacts")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []journal.Report
	for _, e := range entries {
		records, err := journal.LoadFile(journal.Folder{Dir: dir}.Path(jobs.RunID(e.Name())))
		if err != nil {
			return nil, err
		}
		report, err := journal.Fold(records)
		if err != nil {
			return nil, err
		}
		out = append(out, report)
	}
	return out, nil
}

// one is the report of the only run, which has ended.
func (w *inhabited) one(state jobs.State) journal.Report {
	w.t.Helper()
	var out journal.Report
	w.await("the end of one run, "+string(state), func() error {
		all, err := w.kept()
		if err != nil {
			return err
		}
		if len(all) != 1 || all[0].Ended == nil {
			return fmt.Errorf("%d runs", len(all))
		}
		out = all[0]
		return nil
	})
	if out.State != state {
		w.t.Errorf("the run ended %s: %s; want %s", out.State, out.Cause, state)
	}
	return out
}

// noCommand complains of a text of ours that would be a command if somebody
// quoted it in a comment.
func (w *inhabited) noCommand(text string) {
	w.t.Helper()
	if p := (verbs.Parser{Prefix: "/agent"}).Parse(text); len(p.Commands)+len(p.Problems) > 0 {
		w.t.Errorf("our own words are commands, %+v:\n%s", p, text)
	}
}

// turns is a script by thread: the model's replies in order to what begins with
// a task that has the key in it. A request that is sent again gets the same
// reply.
func turns(by map[string][]modeltest.Reply) []modeltest.Step {
	step := func(r modeltest.Request) modeltest.Reply {
		for key, replies := range by {
			if strings.Contains(said(r), key) {
				return replies[min(spoken(r), len(replies)-1)]
			}
		}
		return modeltest.Reply{Text: "nothing is asked of me"}
	}
	return slices.Repeat([]modeltest.Step{step}, 1000)
}

// said is all that people and the platform have said to the model.
func said(r modeltest.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		if m.Role == model.RoleUser {
			b.WriteString(m.Plain() + "\n")
		}
	}
	return b.String()
}

// results are those of all calls of the last request whose task has key in it.
func (w *inhabited) results(key string) []string {
	var out []string
	for _, r := range slices.Backward(w.model.Requests()) {
		if !strings.Contains(said(r), key) {
			continue
		}
		for _, m := range r.Messages {
			for _, p := range m.Parts {
				if p.Result != nil {
					out = append(out, p.Result.Text)
				}
			}
		}
		return out
	}
	return nil
}

// mended are the turns in which a model mends project.
func mended() []modeltest.Reply {
	return []modeltest.Reply{
		calls(read("add.sh")), calls(edit("add.sh", "$1 - $2", "$1 + $2")), calls(command("make test")),
		calls(finish("it adds")), calls(finish("it adds")),
	}
}

// oneOf is the report of the only run of a thread.
func (w *inhabited) oneOf(number int, state jobs.State) journal.Report {
	w.t.Helper()
	var out []journal.Report
	w.await("the end of one run", func() error {
		all, err := w.kept()
		if err != nil {
			return err
		}
		out = nil
		for _, r := range all {
			if r.Started.Job.Thread.Number == number && r.Ended != nil {
				out = append(out, r)
			}
		}
		if len(out) != 1 {
			return fmt.Errorf("%d runs", len(out))
		}
		return nil
	})
	if out[0].State != state {
		w.t.Errorf("the run ended %s: %s; want %s", out[0].State, out[0].Cause, state)
	}
	return out[0]
}

// secret is the URL of the redis-server.
func (c *chaos) secret() vcs.Secret { return vcs.Secret(c.redis) }

// asked complains unless the model was asked n times for a task with key in it.
func (w *inhabited) asked(key string, n int) error {
	got := 0
	for _, r := range w.model.Requests() {
		if strings.Contains(said(r), key) {
			got++
		}
	}
	if got < n {
		return fmt.Errorf("asked %d times", got)
	}
	return nil
}
