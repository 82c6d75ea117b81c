package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/cmd/internal/proctest"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

const (
	floodSteps = 400
	// mostTokens is what the default window has room for, and leastPerToken
	// how few bytes a token of this text can have.
	mostTokens    = agent.DefaultContextTokens
	leastPerToken = 3
	mostMemory    = 200 << 20
)

// TestFloodStaysSmall: a command that prints 476 MB, a file of 30 MB, 400
// steps. No request is longer than the window, the worker stays below 200 MB
// and the run ends well.
func TestFloodStaysSmall(t *testing.T) {
	sandboxtest.Programs(t, "git", "bwrap")
	passable := sandboxtest.Passable(t)
	dir := filepath.Join(passable, "repo")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(passable, "greenwright.yml")
	if err := os.WriteFile(config, []byte("limits: {steps: 500, tool_calls: 600}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	write("greeting.txt", "helo\n")
	write("long.txt", strings.Repeat("a line of a file that is long enough to be looked at\n", 8_000))
	write("huge.txt", strings.Repeat(strings.Repeat("x", 99)+"\n", 300_000))
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "begin"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	queue, steps := flood()
	s, err := modeltest.NewServer(steps...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	cmd := exec.Command(built(t, passable), "run", "--config", config, "--repo", dir, "--task", "the greeting is wrong", "--verify", "grep -q hello greeting.txt")
	cmd.Env = append(os.Environ(), "GREENWRIGHT_DATA_DIR="+filepath.Join(passable, "data"), "GREENWRIGHT_MODEL=anthropic/scripted",
		"GREENWRIGHT_SANDBOX=bwrap", "ANTHROPIC_BASE_URL="+s.URL(), "ANTHROPIC_API_KEY=test")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	peak := proctest.Peak(cmd.Process.Pid)
	err = cmd.Wait()
	out, memory := said.Bytes(), peak()
	if err != nil || len(*queue) != 0 {
		t.Errorf("%v, %d calls left\n%.4000s", err, len(*queue), out)
	}
	for _, v := range s.Violations() {
		t.Errorf("the service would have refused: %v", v)
	}
	largest := 0
	for _, r := range s.Requests() {
		largest = max(largest, len(r.Raw)/leastPerToken)
	}
	t.Logf("%d requests, the largest at most %d of %d tokens; %d MB of memory", len(s.Requests()), largest, mostTokens, memory>>20)
	if largest > mostTokens || memory > mostMemory || memory == 0 {
		t.Errorf("the largest request has up to %d tokens, the worker had %d MB", largest, memory>>20)
	}
}

// built is the program as people have it: a test's is 30 MB larger.
func built(t *testing.T, dir string) string {
	t.Helper()
	bin := filepath.Join(dir, "greenwright")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", bin, "github.com/greenwright/greenwright/cmd/greenwright")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return bin
}

// flood is the model's part: calls, and steps that take the next one or, when
// they are asked for a summary, write one.
func flood() (*[]modeltest.Call, []modeltest.Step) {
	var steps []modeltest.Call
	call := func(name string, args map[string]any) {
		steps = append(steps, modeltest.Call{Name: name, Args: args})
	}
	call("run_command", map[string]any{"command": "yes 'a flood of output' | head -c 499122176"})
	call("read_file", map[string]any{"path": "huge.txt"})
	call("search_code", map[string]any{"pattern": "x+", "path": "huge.txt"})
	call("run_command", map[string]any{"command": "cat huge.txt"})
	call("read_file", map[string]any{"path": "greeting.txt"})
	call("edit_file", map[string]any{"path": "greeting.txt", "old_string": "helo", "new_string": "hello"})
	for i := len(steps); i < floodSteps-2; i++ {
		if i%2 == 0 {
			call("read_file", map[string]any{"path": "long.txt", "offset": i * 17 % 7_000})
		} else {
			call("run_command", map[string]any{"command": fmt.Sprintf("tail -n +%d long.txt", i*13)})
		}
	}
	call("finish", map[string]any{"summary": "the greeting was misspelt"})
	call("finish", map[string]any{"summary": "the greeting was misspelt"})
	left := &steps
	play := func(r modeltest.Request) modeltest.Reply {
		if len(r.Tools) == 0 || len(*left) == 0 {
			return modeltest.Reply{Text: "Files changed and why\ngreeting.txt: it was misspelt"}
		}
		next := (*left)[0]
		*left = (*left)[1:]
		return modeltest.Reply{Calls: []modeltest.Call{next}, Usage: model.Usage{Input: int64(len(r.Raw) / leastPerToken), Output: 50}}
	}
	all := make([]modeltest.Step, 2*floodSteps)
	for i := range all {
		all[i] = play
	}
	return left, all
}
