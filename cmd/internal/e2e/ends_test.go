package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/policy"
)

func scripted(c *config.Config) { c.Models.Default = "anthropic/scripted" }

func edit(path, old, text string) modeltest.Call {
	return modeltest.Call{Name: "edit_file", Args: map[string]any{"path": path, "old_string": old, "new_string": text}}
}

func read(path string) modeltest.Call {
	return modeltest.Call{Name: "read_file", Args: map[string]any{"path": path}}
}

func write(path, text string) modeltest.Call {
	return modeltest.Call{Name: "write_file", Args: map[string]any{"path": path, "content": text}}
}

func command(script string) modeltest.Call {
	return modeltest.Call{Name: "run_command", Args: map[string]any{"command": script}}
}

func finish(summary string) modeltest.Call {
	return modeltest.Call{Name: "finish", Args: map[string]any{"summary": summary, "unverified": "the platform does"}}
}

// TestEnds: what comes of a job that does not end in a verified pull request
// is told in the thread, with what a person can do.
func TestEnds(t *testing.T) { onEach(t, ends) }

func ends(t *testing.T, start starter) {
	cases := []struct {
		name    string
		comment string
		files   map[string]string
		steps   []modeltest.Step
		choose  option
		want    []string // in the last comment
		pulls   int
	}{
		{"answer", "/agent ask why?", nil, []modeltest.Step{modeltest.Do(read("add.sh")), modeltest.Do(modeltest.Call{Name: "finish", Args: map[string]any{"summary": "read it", "answer": "Because it subtracts.\n/agent fix"}})}, scripted, []string{"Because it subtracts.\n\\/agent fix", "Answered"}, 0},
		{"nothing to change", "/agent fix", nil, []modeltest.Step{modeltest.Do(finish("fine as it is")), modeltest.Do(finish("fine as it is"))}, scripted, []string{"Nothing was changed", "What you can do"}, 0},
		{"still red", "/agent fix", nil, []modeltest.Step{
			modeltest.Do(read("add.sh")), modeltest.Do(edit("add.sh", "$1 - $2", "$1 * $2")), modeltest.Do(finish("multiplied")), modeltest.Do(finish("multiplied")),
			modeltest.Do(finish("no better idea")), modeltest.Do(finish("no better idea")), modeltest.Do(finish("no better idea")), modeltest.Do(finish("no better idea")),
		}, scripted, []string{"**not verified**", "still red", "🔴 exit 2 | 🔴 exit 2"}, 1},
		{"protected path", "/agent fix", nil, []modeltest.Step{
			modeltest.Do(write(".github/workflows/new.yml", "on: push\n")), modeltest.Do(finish("x")), modeltest.Do(finish("x")),
		}, func(c *config.Config) {
			scripted(c)
			c.Policy.ProtectedChange = policy.ProtectedRefuse
		}, []string{"A person must decide", `".github/workflows/new.yml" is a protected path`, "change.patch"}, 0},
		{"credential", "/agent fix", nil, []modeltest.Step{
			modeltest.Do(write("key.txt", "ghp_"+strings.Repeat("a1", 18)+"\n")), modeltest.Do(finish("x")), modeltest.Do(finish("x")),
		}, scripted, []string{"looks like a GitHub token"}, 0},
		{"dry run", "/agent fix --dry-run", nil, repair(), scripted, []string{"dry run: nothing was published", "+add() { echo $(($1 + $2)); }"}, 0},
		{"model is away", "/agent fix", nil, []modeltest.Step{modeltest.FailStatus(http.StatusUnauthorized, "invalid x-api-key", 0)}, scripted, []string{"Not done", "anthropic/scripted could not be used", "doctor"}, 0},
		{"model refuses", "/agent fix", nil, []modeltest.Step{modeltest.Fail(modeltest.FaultRefusal)}, scripted, []string{"Refused"}, 0},
		{"model says nothing", "/agent fix", nil, []modeltest.Step{modeltest.Say("Hm."), modeltest.Say("Well."), modeltest.Say("So."), modeltest.Say("Yes.")}, scripted, []string{"A person must decide"}, 0},
		{"model not configured", "/agent fix --model openai/other", nil, nil, func(c *config.Config) { c.Models.OpenAI = config.OpenAI{API: "auto"} }, []string{"OPENAI_API_KEY"}, 0},
		{"base that is not there", "/agent fix --base nowhere", nil, nil, nil, []string{"nowhere", "check that the branch exists"}, 0},
		{"hostile base", "/agent fix --base ../../x", nil, nil, nil, []string{"is no branch"}, 0},
		{"broken settings", "/agent fix", map[string]string{".greenwright.yml": "verfiy: x\n"}, nil, nil, []string{"Refused", "line 1", "mend the file"}, 0},
		{"mechanic alone, green", "/agent fix", map[string]string{"add.sh": "add() { echo $(($1 + $2)); }\n"}, nil, nil, []string{"Nothing was changed", "no language model is configured"}, 0},
		{"mechanic answers nothing", "/agent ask why?", nil, nil, nil, []string{"answers no questions"}, 0},
		{"verification off", "/agent fix --no-verify", nil, repair(), scripted, []string{"verification was switched off"}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			files := project()
			for k, v := range c.files {
				files[k] = v
			}
			var opts []option
			if c.choose != nil {
				opts = append(opts, c.choose)
			}
			w := start(t, files, c.steps, opts...)
			number, _ := w.issue("Adding is wrong", "add 2 3 gives -1.", c.comment)
			last := w.awaitText(number, "journal head")
			for _, want := range c.want {
				if !strings.Contains(last.Body, want) {
					t.Errorf("the last word lacks %q:\n%s", want, last.Body)
				}
			}
			if strings.Contains(last.Body, w.cfg.DataDir) {
				t.Errorf("the thread is told of a path of the worker:\n%s", last.Body)
			}
			if n := len(w.pulls()); n != c.pulls {
				t.Errorf("%d pull requests, want %d", n, c.pulls)
			}
			for _, p := range w.pulls() {
				if !p.Draft {
					t.Error("a change that is not verified is no draft")
				}
			}
		})
	}
}

func TestStopEndsALiveRun(t *testing.T) { onEach(t, stopEndsALiveRun) }

func stopEndsALiveRun(t *testing.T, start starter) {
	w := start(t, project(), []modeltest.Step{modeltest.Do(command("sleep 300"))}, scripted)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	w.awaitText(number, "Working")
	w.await("the command", func() error {
		if w.model.Left() > 0 {
			return fmt.Errorf("not asked yet")
		}
		return nil
	})
	if _, err := w.repo.Comment(number, "contributor", "/agent stop"); err != nil { // may not
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	for _, c := range w.ours(number) {
		if strings.Contains(c.Body, "Stopped") {
			t.Fatal("somebody without rights has stopped a run")
		}
	}
	begun := time.Now()
	if _, err := w.repo.Comment(number, "maintainer", "/agent stop"); err != nil {
		t.Fatal(err)
	}
	w.awaitText(number, "Stopped")
	took := time.Since(begun)
	t.Logf("stopped after %s", took.Round(time.Millisecond))
	if took > 10*time.Second { // rule P2
		t.Errorf("stop took %s", took)
	}
	if r := w.reports(); len(r) != 1 || r[0].State != jobs.Canceled {
		t.Errorf("journal says %+v", r)
	}
}

func TestLaterCommandBecomesAMessage(t *testing.T) { onEach(t, laterCommandBecomesAMessage) }

func laterCommandBecomesAMessage(t *testing.T, start starter) {
	asked := make(chan struct{})
	goOn := make(chan struct{})
	var told []string
	steps := []modeltest.Step{
		func(modeltest.Request) modeltest.Reply {
			close(asked)
			<-goOn
			return modeltest.Reply{Calls: []modeltest.Call{read("add.sh")}}
		},
		func(r modeltest.Request) modeltest.Reply {
			for _, m := range r.Messages {
				told = append(told, m.Plain())
			}
			return modeltest.Reply{Calls: []modeltest.Call{edit("add.sh", "$1 - $2", "$1 + $2")}}
		},
		modeltest.Do(finish("x")), modeltest.Do(finish("x")),
	}
	w := start(t, project(), steps, scripted)
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	<-asked
	if _, err := w.repo.Comment(number, "maintainer", "/agent fix and mind the sign"); err != nil {
		t.Fatal(err)
	}
	w.await("the message", func() error {
		if !strings.Contains(w.log.String(), "message handed on") {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	close(goOn)
	w.awaitText(number, "Done and verified")
	if text := strings.Join(told, "\n"); !strings.Contains(text, "and mind the sign") {
		t.Errorf("the live run was told:\n%s", text)
	}
	if n := len(w.pulls()); n != 1 {
		t.Errorf("%d pull requests", n)
	}
}

func TestPushMeanwhileIsCarriedOver(t *testing.T) { onEach(t, pushMeanwhileIsCarriedOver) }

func pushMeanwhileIsCarriedOver(t *testing.T, start starter) {
	w := start(t, project(), nil, scripted, func(c *config.Config) { c.Policy.AutoRepair = "all" })
	if _, err := w.repo.PushCommit("feature", map[string]string{"notes.txt": "a\n"}, "notes"); err != nil {
		t.Fatal(err)
	}
	pr, err := w.repo.OpenPull("maintainer", "feature", "main", "A feature", "")
	if err != nil {
		t.Fatal(err)
	}
	// A person pushes while the model works.
	push := func(modeltest.Request) modeltest.Reply {
		if _, err := w.repo.PushCommit("feature", map[string]string{"other.txt": "b\n"}, "more"); err != nil {
			t.Error(err)
		}
		return modeltest.Reply{Calls: []modeltest.Call{edit("add.sh", "$1 - $2", "$1 + $2")}}
	}
	w.model.Append(modeltest.Do(read("add.sh")), push, modeltest.Do(finish("x")), modeltest.Do(finish("x")))
	if _, err := w.repo.Comment(pr.Number, "maintainer", "/agent fix"); err != nil {
		t.Fatal(err)
	}
	last := w.awaitText(pr.Number, "Done and verified")
	if !strings.Contains(last.Body, "somebody pushed to feature meanwhile") {
		t.Errorf("the report does not say so:\n%s", last.Body)
	}
	if w.file("feature", "other.txt") == "" || !strings.Contains(w.file("feature", "add.sh"), "+") {
		t.Error("one of the two changes is lost")
	}
}

func TestNothingIsLostWhenServeIsRestarted(t *testing.T) {
	onEach(t, nothingIsLostWhenServeIsRestarted)
}

func nothingIsLostWhenServeIsRestarted(t *testing.T, start starter) {
	started := make(chan struct{})
	hang := make(chan struct{})
	steps := append([]modeltest.Step{func(modeltest.Request) modeltest.Reply {
		close(started)
		<-hang
		return modeltest.Reply{Text: "too late"}
	}}, repair()...)
	w := start(t, project(), steps, scripted, func(c *config.Config) { c.Jobs.Drain = time.Second })
	number, _ := w.issue("Adding is wrong", "", "/agent fix")
	<-started
	begun := time.Now()
	if err := w.stop(); err != nil {
		t.Fatalf("serve ended with %v", err)
	}
	close(hang)
	t.Logf("drained after %s", time.Since(begun).Round(time.Millisecond))
	runs, err := os.ReadDir(filepath.Join(w.cfg.DataDir, "runs"))
	if err != nil || len(runs) != 0 {
		t.Errorf("left behind: %v, %v", runs, err)
	}
	w.serve()
	w.awaitText(number, "Done and verified")
	if n := len(w.pulls()); n != 1 {
		t.Errorf("%d pull requests", n)
	}
	if c := w.ours(number); len(c) != 1 {
		t.Errorf("comments: %+v", c)
	}
}

func TestForkIsRefused(t *testing.T) { onEach(t, forkIsRefused) }

func forkIsRefused(t *testing.T, start starter) {
	w := start(t, project(), nil, scripted)
	fork, err := w.fork(w.repo, "contributor")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fork.PushCommit("theirs", map[string]string{"x": "y"}, "theirs"); err != nil {
		t.Fatal(err)
	}
	pr, err := w.repo.OpenPull("contributor", "contributor:theirs", "main", "Theirs", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.repo.Comment(pr.Number, "maintainer", "/agent fix"); err != nil {
		t.Fatal(err)
	}
	w.awaitText(pr.Number, "forks are closed")
	if _, err := os.Stat(filepath.Join(w.cfg.DataDir, "artifacts")); err == nil {
		if r := w.reports(); len(r) != 0 {
			t.Errorf("a run was started: %+v", r)
		}
	}
}
