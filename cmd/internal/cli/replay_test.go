package cli_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/vcstest"
)

const hookSecret = "a secret for tests"

// served does one job as `serve` does, with a model that plays steps, and gives
// the data directory and the run. meanwhile is called when it has ended, with
// the addresses of the program.
func served(t *testing.T, files map[string]string, steps []modeltest.Step, meanwhile func(internal string)) (data, run string) {
	t.Helper()
	sandboxtest.Programs(t, "redis-server", "git", "bwrap")
	dir := sandboxtest.Passable(t)
	t.Chdir(dir)
	github, err := vcstest.NewGitHub(vcstest.Config{Dir: filepath.Join(dir, "github"), WebhookSecret: hookSecret})
	fatal(t, err)
	t.Cleanup(func() { _ = github.Close() })
	repo, err := github.CreateRepo("acme", "widgets", files)
	fatal(t, err)
	github.CreateUser("maintainer")
	fatal(t, repo.SetPermission("maintainer", vcs.PermissionWrite))
	scripted, err := modeltest.NewServer(steps...)
	fatal(t, err)
	t.Cleanup(func() { _ = scripted.Close() })

	cfg := config.Default()
	cfg.Listen, cfg.InternalListen, cfg.DataDir = "127.0.0.1:0", freeAddr(t), filepath.Join(dir, "data")
	cfg.Forges.GitHub = &config.GitHub{BaseURL: github.URL(), AppID: github.AppID(), PrivateKey: github.AppKeyPEM(), Secrets: []vcs.Secret{hookSecret}}
	cfg.Policy = cfg.Policy.WithDefaults()
	cfg.Models.Probe, cfg.Models.Default = false, "anthropic/scripted"
	cfg.Models.Anthropic = config.Anthropic{BaseURL: scripted.URL(), Key: model.Key("test")}
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() {
		done <- wire.Serve(ctx, cfg, wire.RoleAll, "test", slog.New(slog.DiscardHandler), func(addr string) { ready <- addr })
	}()
	select {
	case addr := <-ready:
		github.AddHook("http://" + addr + "/webhooks/github")
	case err := <-done:
		cancel()
		t.Fatal(err)
	}
	issue, err := repo.OpenIssue("maintainer", "Adding is wrong", "add 2 3 gives -1.")
	fatal(t, err)
	_, err = repo.Comment(issue.Number, "maintainer", "/agent fix")
	fatal(t, err)
	run = endedRun(t, filepath.Join(cfg.DataDir, "artifacts"))
	t.Setenv("GREENWRIGHT_DATA_DIR", cfg.DataDir)
	meanwhile(cfg.InternalListen)
	cancel()
	fatal(t, <-done)
	return cfg.DataDir, run
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// endedRun waits for a run whose journal has its end in the archive.
func endedRun(t *testing.T, artifacts string) string {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		runs, _ := os.ReadDir(artifacts) // not there at first
		for _, r := range runs {
			records, err := journal.LoadFile(journal.Folder{Dir: artifacts}.Path(jobs.RunID(r.Name())))
			if err == nil && len(records) > 0 && records[len(records)-1].Type == journal.TypeEnded {
				return r.Name()
			}
		}
	}
	t.Fatal("no run has ended")
	return ""
}

func do(name string, args map[string]any) modeltest.Step {
	return modeltest.Do(modeltest.Call{Name: name, Args: args})
}

// TestReplay does the calls of a run of `serve` again: what a command says that
// is otherwise each time differs, and nothing else does, also not from a step
// in the middle, whose files come from the archive.
func TestReplay(t *testing.T) {
	files := map[string]string{
		"Makefile": "test:\n\t@sh ./test.sh\n",
		"add.sh":   "add() { echo $(($1 - $2)); }\n",
		"test.sh":  ". ./add.sh\nif [ \"$(add 2 3)\" != 5 ]; then exit 1; fi\n",
	}
	steps := []modeltest.Step{
		do("read_file", map[string]any{"path": "add.sh"}),
		do("edit_file", map[string]any{"path": "add.sh", "old_string": "$1 - $2", "new_string": "$1 + $2"}),
		do("run_command", map[string]any{"command": "date +%H:%M:%S; make test; cat /proc/sys/kernel/random/uuid"}),
		do("run_command", map[string]any{"command": "cat add.sh > copy.sh; echo done in 0.$(date +%N | head -c 2)s"}),
		do("finish", map[string]any{"summary": "now it adds"}),
		do("finish", map[string]any{"summary": "now it adds"}),
	}
	_, run := served(t, files, steps, func(internal string) {
		if code, out, errOut := greenwright("runs", "list"); code != 0 || !strings.Contains(out, "acme/widgets#1") {
			t.Errorf("runs list beside serve: exit %d\n%s%s", code, out, errOut)
		}
		figures := get(t, "http://"+internal+"/metrics")
		for _, want := range []string{"greenwright_runs_live 0\n", `greenwright_queue_oldest_seconds{queue="runs"} 0` + "\n", `greenwright_queue_oldest_seconds{queue="events"} 0` + "\n"} {
			if !strings.Contains(figures, want) {
				t.Errorf("the metrics lack %q", want)
			}
		}
	})
	for _, c := range []struct {
		from string
		code int
		want []string
	}{
		{"1", 3, []string{"step 1  read_file", "step 3  run_command", "differs\n    - ", "step 6  finish", "6 calls: 5 the same, 1 different, 0 not compared"}},
		{"4", 0, []string{"step 4  run_command", "3 calls: 3 the same, 0 different, 0 not compared"}},
		{"6", 0, []string{"1 call: 1 the same"}},
	} {
		code, out, errOut := greenwright("replay", run, "--from-step", c.from)
		if code != c.code {
			t.Errorf("from step %s: exit %d, want %d\n%s%s", c.from, code, c.code, out, errOut)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("from step %s: no %q in\n%s%s", c.from, want, out, errOut)
			}
		}
	}
	code, out, _ := greenwright("replay", run, "--step", "2")
	if code != 0 || !strings.Contains(out, "→ edit_file") || strings.Contains(out, "step 3") || strings.Contains(out, "read_file") {
		t.Errorf("step 2: exit %d\n%s", code, out)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	fatal(t, err)
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	fatal(t, err)
	return string(b)
}

// TestReplayOverTurns: what a second turn did after a red proof is done again
// in the files of the first.
func TestReplayOverTurns(t *testing.T) {
	files := map[string]string{
		".greenwright.yml": "verify:\n  - sh ./test.sh\n",
		"add.sh":           "add() { echo $(($1 - $2)); }\n",
		"test.sh":          ". ./add.sh\nif [ \"$(add 2 3)\" != 5 ]; then echo \"add 2 3 is $(add 2 3)\"; exit 1; fi\n",
	}
	giveUp := map[string]any{"summary": "it multiplies", "unverified": "I do not know why it is red"}
	steps := []modeltest.Step{
		do("read_file", map[string]any{"path": "add.sh"}),
		do("edit_file", map[string]any{"path": "add.sh", "old_string": "$1 - $2", "new_string": "$1 * $2"}),
		do("run_command", map[string]any{"command": "sh ./test.sh"}),
		do("finish", giveUp), do("finish", giveUp),
		do("read_file", map[string]any{"path": "add.sh"}),
		do("edit_file", map[string]any{"path": "add.sh", "old_string": "$1 * $2", "new_string": "$1 + $2"}),
		do("run_command", map[string]any{"command": "sh ./test.sh"}),
		do("finish", map[string]any{"summary": "it adds"}), do("finish", map[string]any{"summary": "it adds"}),
	}
	_, run := served(t, files, steps, func(string) {})
	code, out, errOut := greenwright("replay", run)
	if code != 0 || strings.Count(out, " ended finished") < 2 || !strings.Contains(out, "step 10") {
		t.Errorf("exit %d\n%s%s", code, out, errOut)
	}
	for from, want := range map[string]string{"1": "10 calls: 10 the same", "4": "7 calls: 7 the same", "6": "5 calls: 5 the same", "8": "3 calls: 3 the same"} {
		code, out, errOut := greenwright("replay", run, "--from-step", from)
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("from step %s: exit %d, want %q\n%s%s", from, code, want, out, errOut)
		}
	}
}

// TestReplayOfAHostileJournal: whatever a record holds, nothing of it gets at
// the terminal.
func TestReplayOfAHostileJournal(t *testing.T) {
	for kind, data := range map[string][]string{
		"run_started":        {`{"job":{"id":"\u001b[2J","requester":{"login":"\u202ex"}},"version":"\u009b"}`, `[]`},
		"state":              {`{"from":"\u001b","to":"\u001b","cause":"\r\u001b[1A","actor":"\u0007"}`},
		"check":              {`{"phase":"before","name":"\u001b","cause":"\u001b","output":"a\u001b[2J\rb\u0085"}`},
		"agent":              {`{"kind":"reply","reply":{"message":{"role":"assistant","parts":[{"kind":"text","text":"\u001b]0;x\u0007"}]}}}`, `{"kind":"finished","call":{"call":{"name":"\u001b","arguments":{}},"result":{"code":"\u001b","text":"a\rb"}}}`, `{"kind":"\u001b","notice":"\u001b"}`, `{"kind":"message","message":{},"from":{"author":"\u2066"}}`, `{"kind":"reply"}`, `7`},
		"approval":           {`{"id":"\u001b","shown":"\u001b","reason":"\u2028"}`},
		"action_finished":    {`{"key":"\u001b","error":"\u001b"}`},
		"note":               {`{"kind":"\u001b","text":"\u001b[2J\u009b1m\u202e\u200b"}`},
		"run_ended":          {`{"state":"\u0000","cause":"\u001b","answer":"\u0085","url":"\u001b"}`},
		"of a later \x1bone": {`[1]`, `null`},
	} {
		for _, d := range data {
			dir := t.TempDir()
			t.Setenv("GREENWRIGHT_DATA_DIR", dir)
			t.Chdir(dir)
			folder := journal.Folder{Dir: dir}
			sink, err := folder.NewFileSink("run-1")
			fatal(t, err)
			w := journal.NewWriter("run-1", sink, time.Now, nil)
			fatal(t, w.Append(t.Context(), journal.Type(kind), json.RawMessage(d)))
			fatal(t, sink.Close())
			fatal(t, os.Mkdir("artifacts", 0o700))
			fatal(t, os.Rename("run-1", "artifacts/run-1"))
			for _, args := range [][]string{{"replay", "run-1"}, {"replay", "run-1", "--step", "1"}, {"runs", "journal", "run-1"}, {"runs", "show", "run-1"}} {
				_, out, errOut := greenwright(args...)
				wild := func(r rune) bool {
					return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.In(r, unicode.Zl, unicode.Zp))
				}
				if i := strings.IndexFunc(out+errOut, wild); i >= 0 {
					t.Errorf("%s %s: %q lets %q through", kind, d, args, (out + errOut)[i:])
				}
				if out+errOut == "" {
					t.Errorf("%s %s: %q says nothing", kind, d, args)
				}
			}
		}
	}
}
