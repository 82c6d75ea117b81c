package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
)

// outside is everything that a worker can change and others see.
type outside struct {
	Comments []vcs.Comment
	Pulls    []vcs.PullRequest
	Branches map[string]string
	Bucket   map[string]string // digests by path
	Writes   int               // requests to the forge that are no reads, without those for tokens
}

func (c *chaos) outside(number int) outside {
	c.t.Helper()
	o := outside{Comments: c.ours(number), Pulls: c.repo.Pulls(), Bucket: map[string]string{}}
	var err error
	if o.Branches, err = c.repo.Branches(); err != nil {
		c.t.Fatal(err)
	}
	err = filepath.WalkDir(c.bucket, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		o.Bucket[strings.TrimPrefix(path, c.bucket)] = hex.EncodeToString(sum[:8])
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, r := range c.hub.Requests() {
		if r.Method != http.MethodGet && !strings.Contains(r.Path, "access_tokens") && !strings.Contains(r.Path, "git-upload-pack") {
			o.Writes++
		}
	}
	return o
}

// slowScript has a command that takes longer than a lease.
func slowScript() []modeltest.Step {
	done := does("finish", map[string]any{"summary": "add subtracted; now it adds."})
	return byTurn(
		calls(read("add.sh")),
		calls(does("edit_file", map[string]any{"path": "add.sh", "old_string": "$1 - $2", "new_string": "$1 + $2"})),
		calls(does("run_command", map[string]any{"command": "echo begun >> log.txt; sleep 4; echo ended >> log.txt"})),
		calls(does("write_file", map[string]any{"path": "NOTES", "content": "It adds.\n"})),
		calls(done), calls(done),
	)
}

// TestFencing: a worker is stopped in the middle of a run, and another ends the
// job. When the first goes on, it believes that the run is its own. It changes
// nothing more.
func TestFencing(t *testing.T) {
	for name, on := range map[string]string{
		"before a request":           `"type":"agent".*"kind":"request".*`,
		"before a write":             `"kind":"intended".*"write_file"`,
		"before a command":           `"kind":"intended".*"run_command"`,
		"after a snapshot":           `"kind":"snapshot"`,
		"before the proof":           `"type":"state".*"to":"verifying"`,
		"after the verdict":          `"type":"verdict"`,
		"before the push":            `"type":"action_intended".*"kind":"push"`,
		"after the push":             `"type":"action_finished".*"push:`,
		"before the pull request":    `"type":"action_intended".*"kind":"open_pull_request"`,
		"before the end is recorded": `"type":"action_finished".*"open:`,
		"before the end is told":     `"type":"run_ended"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChaos(t, chaosScript())
			first := c.worker(freezeOn + "=" + on)
			number, _ := c.issue("Adding is wrong", "", "/agent fix")
			c.awaitFrozen(first)
			c.thawLater(first)
			c.overtaken(number, first)
		})
	}
}

// overtaken lets another worker end the job, and the first go on.
func (c *chaos) overtaken(number int, first *exec.Cmd) {
	c.t.Helper()
	second := c.worker()
	c.ended(number)
	c.settled(second)
	before, outcome := c.outside(number), c.outcome(number)
	if outcome.Pulls != 1 || outcome.Comments != 1 || !outcome.Verdict {
		c.t.Errorf("the second made %+v", outcome)
	}
	c.thaw(first)
	c.givesUp(first)
	if diff := cmp.Diff(before, c.outside(number), cmpopts.EquateEmpty()); diff != "" {
		c.t.Errorf("the first changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(outcome, c.outcome(number)); diff != "" {
		c.t.Errorf("the first changed (-before +after):\n%s", diff)
	}
	c.quiet()
}

// settled waits until a worker has done all that is left at the end of a run.
func (c *chaos) settled(cmd *exec.Cmd) {
	c.t.Helper()
	rdb := c.client()
	c.awaitFor(time.Minute, "the end of the second's work", func() error {
		held, err := rdb.Keys(c.t.Context(), "greenwright:lease:*").Result()
		if err == nil && len(held) > 0 {
			err = fmt.Errorf("leases: %v", held)
		}
		return err
	})
	c.emptied(cmd)
}

// emptied waits until a machine has no room of a run.
func (c *chaos) emptied(cmd *exec.Cmd) {
	c.t.Helper()
	c.awaitFor(time.Minute, "the end of the rooms", func() error {
		rooms, err := os.ReadDir(filepath.Join(c.machine(cmd), "runs"))
		if err == nil && len(rooms) > 0 {
			err = fmt.Errorf("rooms: %v", rooms)
		}
		return err
	})
}

// givesUp waits until a worker has noticed that its run is another's, and ends
// it: after that it can do nothing more.
func (c *chaos) givesUp(cmd *exec.Cmd) {
	c.t.Helper()
	c.emptied(cmd)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		c.t.Errorf("the first ended with %v", err)
	}
}

// TestFencingInsideACommand: the worker is stopped while a command runs, which
// goes on without it.
func TestFencingInsideACommand(t *testing.T) {
	t.Parallel()
	c := newChaos(t, slowScript())
	first := c.worker()
	number, _ := c.issue("Adding is wrong", "", "/agent fix")
	c.await("the command", func() error { return c.begun(c.machine(first)) })
	c.freeze(first)
	c.overtaken(number, first)
	if log, err := c.repo.File(c.pulls()[0].Head.Name, "log.txt"); err == nil {
		t.Errorf("a command that was cut off left %q", log)
	}
}

// begun looks for what slowScript's command leaves first.
func (c *chaos) begun(machine string) error {
	found := fmt.Errorf("not yet")
	err := filepath.WalkDir(filepath.Join(machine, "runs"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "log.txt" {
			found = nil
		}
		return nil // what is removed meanwhile
	})
	if err != nil {
		return err
	}
	return found
}

// TestFencingInFlight: what the first had sent already reaches the forge when
// the second has ended the job. The forge's own rules must stop it: a branch is
// pushed only from where it was, and has one pull request.
func TestFencingInFlight(t *testing.T) {
	for name, match := range map[string]func(*http.Request) bool{
		"asking for the push": func(r *http.Request) bool { return r.URL.Query().Get("service") == "git-receive-pack" },
		"the push": func(r *http.Request) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack")
		},
		"the pull request": func(r *http.Request) bool {
			return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pulls")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChaos(t, chaosScript())
			g := newGate(t, c.cfg.Forges.GitHub.BaseURL, match)
			first := c.worker("GREENWRIGHT_GITHUB_URL=" + g.url)
			number, _ := c.issue("Adding is wrong", "", "/agent fix")
			c.awaitChannel("the request", g.arrived)
			c.freeze(first)
			second := c.worker()
			c.ended(number)
			c.settled(second)
			before, outcome := c.outside(number), c.outcome(number)
			c.thaw(first)
			close(g.open)
			c.awaitChannel("the late request", g.passed)
			c.givesUp(first)
			if diff := cmp.Diff(before, c.outside(number), cmpopts.EquateEmpty(), cmpopts.IgnoreFields(outside{}, "Writes")); diff != "" {
				t.Errorf("the first changed (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(outcome, c.outcome(number)); diff != "" {
				t.Errorf("the first changed (-before +after):\n%s", diff)
			}
			c.quiet()
		})
	}
}

// TestClocks: a worker whose clock is an hour off, or is set while it works,
// ends the job as any other does, also when it takes it from one whose clock is
// right, or leaves it to one.
func TestClocks(t *testing.T) {
	want, _ := undisturbed(t)
	for name, clocks := range map[string][2]string{
		"ahead":            {"1h", "1h"},
		"behind":           {"-1h", "-1h"},
		"taken by ahead":   {"0s", "1h"},
		"taken by behind":  {"0s", "-1h"},
		"taken from ahead": {"1h", "0s"},
		"jumps ahead":      {"1h@1500ms", "0s"},
		"jumps behind":     {"-1h@1500ms", "0s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := pauseAt(t, chaosScript(), 4)
			c := newChaos(t, p.steps)
			first := c.worker(clockOff + "=" + clocks[0])
			number, _ := c.issue("Adding is wrong", "", "/agent fix")
			c.awaitChannel("the model", p.asked)
			c.worker(clockOff + "=" + clocks[1])
			pause(t.Context(), 2*lease) // for whoever would take what is not his
			if n := c.resumed(); n != 0 {
				t.Errorf("a run that has a worker was taken up %d times", n)
			}
			killNow(first)
			p.release()
			c.ended(number)
			got := c.outcome(number)
			c.settle(&got, want)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-undisturbed +got):\n%s", diff)
			}
			if n := c.resumed(); n != 1 {
				t.Errorf("taken up %d times, want once", n)
			}
			c.quiet()
		})
	}
}

// resumed counts how often the one run was taken up, by its live journal.
func (c *chaos) resumed() int {
	c.t.Helper()
	rdb := c.client()
	keys, err := rdb.Keys(c.t.Context(), "greenwright:journal:*").Result()
	if err != nil || len(keys) != 1 {
		c.t.Fatalf("journals: %v, %v", keys, err)
	}
	entries, err := rdb.XRange(c.t.Context(), keys[0], "-", "+").Result()
	if err != nil {
		c.t.Fatal(err)
	}
	n := 0
	for _, e := range entries {
		var r journal.Record
		if err := json.Unmarshal([]byte(e.Values["r"].(string)), &r); err != nil {
			c.t.Fatal(err)
		}
		if r.Type == journal.TypeResumed {
			n++
		}
	}
	return n
}
