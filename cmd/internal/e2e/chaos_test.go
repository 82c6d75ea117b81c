package e2e_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
)

// chaos is a world whose workers are processes with data directories of their
// own, as on different machines: they share a real redis-server, the bucket,
// the forge and the model.
type chaos struct {
	*world
	redis  string // URL
	bucket string
	dir    string
	n      int // of workers so far
	// addrs are where each listens.
	addrs map[*exec.Cmd]string
	// front takes the hooks in place of the first worker, if it is set.
	front bool
	// stopRedis kills the redis-server.
	stopRedis func()
}

// byTurn answers by how often the model has spoken, not by how often it was
// asked: a request that a worker did not live to hear the answer of is sent
// again.
func byTurn(turns ...modeltest.Reply) []modeltest.Step {
	step := func(r modeltest.Request) modeltest.Reply {
		spoken := 0
		for _, m := range r.Messages {
			if m.Role == model.RoleAssistant {
				spoken++
			}
		}
		return turns[min(spoken, len(turns)-1)]
	}
	return slices.Repeat([]modeltest.Step{step}, 10_000)
}

func calls(c ...modeltest.Call) modeltest.Reply { return modeltest.Reply{Calls: c} }

func does(name string, args map[string]any) modeltest.Call {
	return modeltest.Call{Name: name, Args: args}
}

// chaosScript has every class of effect: reads side by side, a plan, edits, a
// new file, commands, a command that writes, and a submission in two steps.
func chaosScript() []modeltest.Step {
	finish := does("finish", map[string]any{"summary": "add subtracted; now it adds."})
	return byTurn(
		calls(does("read_file", map[string]any{"path": "add.sh"}), does("read_file", map[string]any{"path": "test.sh"})),
		calls(does("update_plan", map[string]any{"items": []map[string]any{{"text": "let it add", "status": "in_progress"}}, "check": "make test"})),
		calls(does("edit_file", map[string]any{"path": "add.sh", "old_string": "$1 - $2", "new_string": "$1 + $2"}),
			does("write_file", map[string]any{"path": "NOTES", "content": "It adds.\n"})),
		calls(does("run_command", map[string]any{"command": "echo once >> log.txt"})),
		calls(does("run_command", map[string]any{"command": "make test"})),
		calls(finish),
		calls(finish),
	)
}

func newChaos(t *testing.T, steps []modeltest.Step) *chaos {
	t.Helper()
	return newChaosOn(t, chaosForge(), steps)
}

// chaosForge is the forge of suites that are too long to be run on each.
func chaosForge() vcs.ForgeName {
	if name := os.Getenv("CHAOS_FORGE"); name != "" {
		return vcs.ForgeName(name)
	}
	return vcs.GitHub
}

func newChaosOn(t *testing.T, on vcs.ForgeName, steps []modeltest.Step) *chaos {
	t.Helper()
	w := prepareOn(t, on, project(), steps)
	c := &chaos{world: w, dir: filepath.Dir(w.cfg.DataDir), addrs: map[*exec.Cmd]string{}}
	c.bucket = filepath.Join(c.dir, "bucket")
	socket, err := os.MkdirTemp("", "chaos-redis-")
	if err != nil {
		t.Fatal(err)
	}
	c.redis = "unix://" + filepath.Join(socket, "s")
	c.stopRedis = c.startRedis(socket)
	t.Cleanup(func() {
		c.stopRedis()
		_ = os.RemoveAll(socket)
	})
	t.Cleanup(func() {
		for _, f := range w.hub.Faults() {
			t.Errorf("the simulated forge found: %s", f)
		}
		for _, v := range w.model.Violations() {
			t.Errorf("the scripted model found: %v", v)
		}
		if t.Failed() {
			t.Logf("log:\n%s", w.log)
		}
	})
	return c
}

// startRedis starts a redis-server that keeps everything in dir.
func (c *chaos) startRedis(dir string) (stop func()) {
	c.t.Helper()
	cmd := exec.Command("redis-server", "--port", "0", "--unixsocket", filepath.Join(dir, "s"), "--dir", dir, "--save", "", "--appendonly", "yes", "--appendfsync", "always")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.await("redis-server", func() error {
		conn, err := net.Dial("unix", filepath.Join(dir, "s"))
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	var once sync.Once
	return func() {
		once.Do(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
	}
}

// lease is that of the workers of these tests.
const lease = 1500 * time.Millisecond

// worker starts one on a machine of its own.
func (c *chaos) worker(env ...string) *exec.Cmd {
	c.t.Helper()
	c.n++
	listen := freePort(c.t)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), pace+"="+strconv.FormatInt(lease.Milliseconds(), 10), role+"=all",
		"GREENWRIGHT_LISTEN="+listen, "GREENWRIGHT_INTERNAL_LISTEN=off", "GREENWRIGHT_DATA_DIR="+filepath.Join(c.dir, fmt.Sprintf("machine-%d", c.n)),
		"GREENWRIGHT_ARTIFACTS="+c.bucket, "GREENWRIGHT_REDIS_URL="+c.redis, "GREENWRIGHT_SANDBOX=bwrap",
		"GREENWRIGHT_MODEL=anthropic/scripted", "ANTHROPIC_BASE_URL="+c.model.URL(), "ANTHROPIC_API_KEY=test")
	cmd.Env = append(append(cmd.Env, c.env...), env...)
	cmd.Stdout, cmd.Stderr = c.log, c.log
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		}
	})
	c.await("serve", func() error {
		conn, err := net.Dial("tcp", listen)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	c.addrs[cmd] = listen
	if c.n == 1 && !c.front {
		c.hub.AddHook(c.hookAt(listen))
	}
	return cmd
}

// outcome is what a job left behind, as far as it must not depend on how often
// its worker died.
type outcome struct {
	Files     map[string]string
	Pulls     int
	Comments  int
	Branches  []string
	Verdict   bool
	Effects   map[string]int // finished calls that write or run, by arguments
	Uncertain int
	Commits   int
}

// outcome reads it.
func (c *chaos) outcome(number int) outcome {
	c.t.Helper()
	o := outcome{Files: map[string]string{}, Effects: map[string]int{}}
	pulls := c.pulls()
	o.Pulls, o.Comments = len(pulls), len(c.ours(number))
	for _, p := range pulls {
		o.Branches = append(o.Branches, p.Head.Name)
		for _, f := range []string{"add.sh", "NOTES", "log.txt"} {
			text, err := c.repo.File(p.Head.Name, f)
			if err != nil {
				text = err.Error()
			}
			o.Files[f] = text
		}
		log, err := c.repo.Log(p.Head.Name)
		if err != nil {
			c.t.Fatal(err)
		}
		o.Commits = len(log)
	}
	for _, r := range c.journal() {
		if r.Type == journal.TypeVerdict {
			var v journal.Verdict
			if err := json.Unmarshal(r.Data, &v); err != nil {
				c.t.Fatal(err)
			}
			o.Verdict = v.Verified
		}
		if r.Type != journal.TypeAgent {
			continue
		}
		var e agent.Entry
		if err := json.Unmarshal(r.Data, &e); err != nil {
			c.t.Fatal(err)
		}
		if e.Kind != agent.EntryFinished || e.Call.Effect != tool.EffectWrite && e.Call.Effect != tool.EffectExec {
			continue
		}
		if e.Call.Result.Code == tool.CodeUncertain {
			o.Uncertain++
			continue
		}
		o.Effects[e.Call.Call.Name+" "+string(e.Call.Call.Arguments)]++
	}
	return o
}

// journal is the one run's, checked.
func (c *chaos) journal() []journal.Record {
	c.t.Helper()
	archive, err := journal.OpenArchive(c.t.Context(), c.bucket)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = archive.Close() }()
	runs, err := archive.Runs(c.t.Context())
	if err != nil || len(runs) != 1 {
		c.t.Fatalf("runs in the bucket: %+v, %v", runs, err)
	}
	records, err := archive.Load(c.t.Context(), runs[0].Run)
	if err != nil {
		c.t.Fatal(err)
	}
	return records
}

// ended waits for the last word and the archived end.
func (c *chaos) ended(number int) {
	c.t.Helper()
	c.awaitText(number, "Done and verified")
	c.await("the journal's end", func() error {
		archive, err := journal.OpenArchive(c.t.Context(), c.bucket)
		if err != nil {
			return err
		}
		defer func() { _ = archive.Close() }()
		runs, err := archive.Runs(c.t.Context())
		if err != nil {
			return err
		}
		if len(runs) != 1 {
			return fmt.Errorf("%d runs", len(runs))
		}
		records, err := archive.Load(c.t.Context(), runs[0].Run)
		if err == nil && (len(records) == 0 || records[len(records)-1].Type != journal.TypeEnded) {
			err = fmt.Errorf("no end among %d records", len(records))
		}
		return err
	})
}

// undisturbed is the outcome and the length of the journal when nobody dies.
func undisturbed(t *testing.T) (outcome, int) {
	t.Helper()
	c := newChaos(t, chaosScript())
	c.worker()
	number, _ := c.issue("Adding is wrong", "", "/agent fix")
	c.ended(number)
	return c.outcome(number), len(c.journal())
}

// TestDeathAtEveryRecord kills the worker before and after each record of a
// run; another, on another machine, goes on. What comes of it is the same.
func TestDeathAtEveryRecord(t *testing.T) {
	want, records := undisturbed(t)
	if want.Pulls != 1 || want.Comments != 1 || !want.Verdict || want.Files["log.txt"] != "once" {
		t.Fatalf("undisturbed: %+v", want)
	}
	t.Logf("%d records", records)
	for n := 1; n <= records; n++ {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%d %s", n, when), func(t *testing.T) {
				t.Parallel()
				dieOnce(t, fmt.Sprintf("%d:%s", n, when), want)
			})
		}
	}
}

func dieOnce(t *testing.T, at string, want outcome) {
	t.Helper()
	c := newChaos(t, chaosScript())
	first := c.worker(dieAt + "=" + at)
	number, _ := c.issue("Adding is wrong", "", "/agent fix")
	if err := first.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the first worker ended with %v", err)
	}
	died := time.Now()
	c.worker()
	c.ended(number)
	t.Logf("went on and ended %s after the death", time.Since(died).Round(100*time.Millisecond))
	got := c.outcome(number)
	c.settle(&got, want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-undisturbed +got):\n%s", diff)
	}
	if last := c.journal(); last[len(last)-1].Type != journal.TypeEnded {
		t.Errorf("the last record is %s", last[len(last)-1].Type)
	}
}

// settle allows for the one difference there may be: a command that was cut is
// UNCERTAIN, and has had no effect on the files.
func (c *chaos) settle(got *outcome, want outcome) {
	if got.Uncertain != 1 {
		return
	}
	for call := range got.Effects { // a check of which nobody knows how it ended is run by the platform
		if strings.HasPrefix(call, "run_checks") && want.Effects[call] == 0 {
			delete(got.Effects, call)
		}
	}
	for call, n := range want.Effects {
		if strings.HasPrefix(call, "run_command") && got.Effects[call] == n-1 {
			got.Effects[call] = n
			if strings.Contains(call, "log.txt") { // the model was told, and left it at that
				got.Files["log.txt"] = want.Files["log.txt"]
			}
			got.Uncertain = 0
			return
		}
	}
}
