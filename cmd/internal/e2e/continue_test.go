package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// asking writes a file and asks a person, thrice.
func asking() map[string][]modeltest.Reply {
	question := func(text string) modeltest.Reply {
		return calls(does("ask_person", map[string]any{"question": text}))
	}
	return map[string][]modeltest.Reply{
		"the third time":  append([]modeltest.Reply{calls(read("first.txt"), read("second.txt"))}, mended()...),
		"use the other":   {calls(read("first.txt")), calls(write("second.txt", "of the second run\n")), question("Really the other one?")},
		"Adding is wrong": {calls(read("add.sh")), calls(write("first.txt", "of the first run\n")), question("Which function do you mean?")},
	}
}

// inOrder is turns for tasks that hold the words of those before them: the
// first key that fits counts.
func inOrder(by map[string][]modeltest.Reply, keys ...string) []modeltest.Step {
	step := func(r modeltest.Request) modeltest.Reply {
		for _, key := range keys {
			if strings.Contains(said(r), key) {
				return by[key][min(spoken(r), len(by[key])-1)]
			}
		}
		return modeltest.Reply{Text: "nothing is asked of me"}
	}
	steps := make([]modeltest.Step, 1000)
	for i := range steps {
		steps[i] = step
	}
	return steps
}

func asksThrice() []modeltest.Step {
	return inOrder(asking(), "the third time", "use the other", "Adding is wrong")
}

// TestContinue begins with the files of the run before, is told what that had
// found out, and can be continued itself; on another machine as well.
func TestContinue(t *testing.T) { chaosEach(t, continues) }

func continues(t *testing.T, on vcs.ForgeName) {
	c := newChaosOn(t, on, asksThrice())
	w := &inhabited{c.world}
	scripted(&w.cfg)
	w.cfg.Redis.URL, w.cfg.Artifacts = c.secret(), w.cfg.DataDir+"/artifacts"
	w.begin(wire.RoleReceiver)
	stop := w.begin(wire.RoleWorker)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "Which function do you mean?")
	w.says(number, "maintainer", "/agent continue use the other function")
	w.awaitText(number, "Really the other one?")
	if told := w.toldLast("use the other"); !strings.Contains(told, "Which function do you mean?") || !strings.Contains(told, "its files as it left them") {
		t.Errorf("the second run was told:\n%s", told)
	}
	stop()
	data := w.cfg.DataDir
	w.cfg.DataDir = data + "-2"
	w.begin(wire.RoleWorker)
	w.cfg.DataDir = data
	w.says(number, "maintainer", "/agent continue the third time")
	w.awaitText(number, "Done and verified")
	if results := strings.Join(w.results("the third time"), "\n"); !strings.Contains(results, "of the first run") || !strings.Contains(results, "of the second run") {
		t.Errorf("the third run found:\n%s", results)
	}
	for _, name := range []string{"first.txt", "second.txt", "add.sh"} {
		w.file(w.pulls()[0].Head.Name, name)
	}
}

// toldLast is what the last request was told whose task has key in it.
func (w *inhabited) toldLast(key string) string {
	out := ""
	for _, r := range w.model.Requests() {
		if text := said(r); strings.Contains(text, key) {
			out = text
		}
	}
	return out
}

// TestContinueWithoutFiles: what retention has taken is not had, and the work
// begins from the base; that is said.
func TestContinueWithoutFiles(t *testing.T) {
	t.Parallel()
	for _, gone := range []string{"snapshots", "everything"} {
		t.Run(gone, func(t *testing.T) {
			t.Parallel()
			by := map[string][]modeltest.Reply{
				"use the other":   append([]modeltest.Reply{calls(does("list_files", map[string]any{}))}, mended()...),
				"Adding is wrong": asking()["Adding is wrong"],
			}
			c := newChaos(t, inOrder(by, "use the other", "Adding is wrong"))
			w := &inhabited{c.world}
			scripted(&w.cfg)
			w.cfg.Redis.URL = c.secret()
			w.begin(wire.RoleAll)
			number, _ := w.issue("Adding is wrong", "", "/agent fix")
			w.awaitText(number, "Which function do you mean?")
			r := w.one(jobs.NeedsHuman)
			w.forget(c, gone, string(r.Run))
			w.says(number, "maintainer", "/agent continue use the other function")
			last := w.awaitText(number, "Done and verified")
			want := map[string]string{"snapshots": "the work was begun again", "everything": "is not kept any more"}[gone]
			if !strings.Contains(last.Body, want) {
				t.Errorf("the last word lacks %q:\n%s", want, last.Body)
			}
			if _, err := w.repo.File(w.pulls()[0].Head.Name, "first.txt"); err == nil {
				t.Error("the first run's file is there")
			}
		})
	}
}

// forget is what retention does to a run.
func (w *inhabited) forget(c *chaos, what, run string) {
	w.t.Helper()
	dir := filepath.Join(w.cfg.DataDir, "artifacts", run)
	if what == "everything" {
		if err := c.client().Del(w.t.Context(), "greenwright:journal:"+run).Err(); err != nil {
			w.t.Fatal(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	removed := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(strings.TrimPrefix(path, dir), "snap") {
			removed++
			return os.Remove(path)
		}
		return err
	})
	if err != nil || removed == 0 {
		w.t.Fatalf("%d files of snapshots in %s, %v", removed, dir, err)
	}
}

// TestContinueAfterStop: the files that a stopped run has left are gone on
// with; retry starts over.
func TestContinueAfterStop(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"continue", "retry"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			by := map[string][]modeltest.Reply{
				"more carefully":  append([]modeltest.Reply{calls(does("list_files", map[string]any{}))}, mended()...),
				"Adding is wrong": {calls(write("first.txt", "x\n")), calls(command("sleep 300"))},
			}
			w := inhabit(t, project(), inOrder(by, "more carefully", "Adding is wrong"))
			number, _ := w.issue("Adding is wrong", "", "/agent fix")
			w.await("the command", func() error { return w.asked("Adding is wrong", 2) })
			w.says(number, "maintainer", "/agent stop")
			w.awaitText(number, "Stopped")
			w.says(number, "maintainer", "/agent "+verb+" more carefully")
			w.awaitText(number, "Done and verified")
			_, err := w.repo.File(w.pulls()[0].Head.Name, "first.txt")
			if (err == nil) != (verb == "continue") {
				t.Errorf("the stopped run's file: %v", err)
			}
		})
	}
}
