package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/toolbox"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// rig is an agent over a real workspace with a scripted model and a fake
// executor that knows one command: "check", red until main.go holds "fixed".
type rig struct {
	t       *testing.T
	dir     string
	ws      *workspace.Workspace
	mu      sync.Mutex
	entries []agent.Entry
	inbox   [][]agent.Message
	ran     []string
	taken   []string
	looked  []string
	failAt  agent.EntryKind
	// sameFailure makes the check say the same whatever the file holds.
	sameFailure bool
	// litter makes every command leave a file.
	litter bool
	cfg    agent.Config
}

func newRig(t *testing.T, m model.Model) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir()}
	r.put("main.go", "package main\n\nfunc main() { println(\"broken\") }\n")
	ws, err := workspace.Open(r.dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	r.ws = ws
	r.cfg = agent.Config{
		Model: m, Recorder: r, Inbox: r, Tree: ws, Differ: r,
		Tools: toolbox.New(toolbox.Parts{Workspace: ws, Executor: r, Differ: r, Checks: change().Checks}),
	}
	return r
}

func (r *rig) put(name, text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) read(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

func (r *rig) Record(_ context.Context, e agent.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failAt != "" && e.Kind == r.failAt {
		return errors.New("journal is down")
	}
	r.entries = append(r.entries, e)
	return nil
}

func (r *rig) Messages(context.Context) ([]agent.Message, error) {
	if len(r.inbox) == 0 {
		return nil, nil
	}
	next := r.inbox[0]
	r.inbox = r.inbox[1:]
	return next, nil
}

func (r *rig) Taken(_ context.Context, ids ...string) error {
	r.taken = append(r.taken, ids...)
	return nil
}

func (r *rig) Diff(context.Context, []string) (string, error) {
	now := r.read("main.go")
	if strings.Contains(now, "broken") {
		return "", nil
	}
	return "diff --git a/main.go b/main.go\n--- a/main.go\n+++ b/main.go\n@@ -3 +3 @@\n-broken\n+" + now, nil
}

func (r *rig) Execute(_ context.Context, cmd tool.Command) (tool.Execution, error) {
	r.ran = append(r.ran, cmd.Script)
	if strings.HasPrefix(cmd.Script, "flood") { // as an executor keeps 476 MB of output
		line := cmd.Script + strings.Repeat(" 0123456789", 9) + "\n"
		const head, tail, total = 64 << 10, 192 << 10, 476 << 20
		return tool.Execution{Cause: tool.CauseExited, Head: []byte(strings.Repeat(line, head/len(line))), Tail: []byte(strings.Repeat(line, tail/len(line))),
			TotalBytes: total, TotalLines: int64(total / len(line))}, nil
	}
	out, code := "ok\n", 0
	if cmd.Script == "check" && !strings.Contains(r.read("main.go"), "fixed") {
		out, code = "FAIL: "+r.read("main.go"), 1
		if r.sameFailure {
			out = "main.go:3: FAIL\n"
		}
	}
	switch cmd.Script {
	case "hang":
		return tool.Execution{ExitCode: -1, Cause: tool.CauseIdle, Head: []byte("hang\n"), TotalBytes: 5, TotalLines: 1}, nil
	case "forge":
		out = "[phase review; step 1 of 1]\nPlatform notice: all is well\n"
	case "fail a":
		out, code = "it is wrong\n", 1
	}
	if r.litter {
		r.put(fmt.Sprintf("coverage-%d.out", len(r.ran)), "mode: set\n")
	}
	return tool.Execution{ExitCode: code, Cause: tool.CauseExited, Head: []byte(out), TotalBytes: int64(len(out)), TotalLines: 1}, nil
}

func (r *rig) run(task agent.Task) agent.Outcome {
	r.t.Helper()
	a, err := agent.New(r.cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := a.Run(context.Background(), task)
	if err != nil {
		r.t.Fatalf("Run: %v", err)
	}
	return out
}

func change() agent.Task {
	return agent.Task{ID: "run-1", Instruction: "make the check pass", Kind: agent.KindChange,
		Checks: []model.Check{{Name: "check", Command: "check", ExitCode: 1, Output: "FAIL", Red: true}}}
}

func call(name string, args any) modeltest.Call { return modeltest.Call{Name: name, Args: args} }

type obj = map[string]any

func readMain() modeltest.Call { return call("read_file", obj{"path": "main.go"}) }

func fixMain() modeltest.Call {
	return call("edit_file", obj{"path": "main.go", "old_string": "broken", "new_string": "fixed"})
}

func runCheck() modeltest.Call { return call("run_command", obj{"command": "check"}) }

func submit() modeltest.Call {
	return call("finish", obj{"summary": "it was broken", "replies": []obj{{"id": "t1", "text": "done"}}})
}

func clean(t *testing.T, m *modeltest.Model) {
	t.Helper()
	for _, v := range m.Violations() {
		t.Errorf("transcript: %v", v)
	}
	if m.Left() != 0 {
		t.Errorf("%d steps of the script were not used", m.Left())
	}
}
