package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/process"
	"github.com/greenwright/greenwright/agent/tool/shell"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/verify"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/bwrap"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

// lab is the tools over a real sandbox.
type lab struct {
	t         *testing.T
	outputs   string
	tools     *tool.Registry
	processes *process.Table
}

func newLab(t *testing.T) *lab {
	t.Helper()
	driver, err := bwrap.New(bwrap.Config{StateDir: sandboxtest.Passable(t), Guest: sandboxtest.Guest(t)})
	if err == nil {
		_, err = driver.Probe(t.Context())
	}
	if err != nil {
		sandboxtest.Missing(t, "bwrap", err)
	}
	base := sandboxtest.Passable(t)
	workspace := filepath.Join(base, "workspace")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	box, err := driver.Start(t.Context(), sandbox.Spec{RunID: "lab", Workspace: workspace, Scratch: filepath.Join(base, "scratch")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close(context.Background()) })
	l := &lab{t: t, outputs: filepath.Join(base, "outputs")}
	commands := runner.NewCommands(func() string { return l.outputs }, func(context.Context) (sandbox.Sandbox, error) { return box, nil })
	l.processes = process.New(commands)
	checks := []model.Check{{Name: "green", Command: "true"}, {Name: "red", Command: "echo it is wrong; exit 3"}, {Name: "absent", Command: "no-such-program", Unable: "no-such-program is missing"}}
	tools := append([]tool.Tool{shell.New(commands), shell.NewChecks(commands, checks, verify.Environment)}, l.processes.Tools()...)
	if l.tools, err = tool.NewRegistry(tools...); err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *lab) call(name string, args any, want ...string) tool.Result {
	l.t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		l.t.Fatal(err)
	}
	res := l.tools.Run(l.t.Context(), tool.Call{Name: name, Args: raw})
	for _, w := range want {
		if !strings.Contains(res.Text, w) {
			l.t.Errorf("%s %s: lacks %q:\n%.2000s", name, raw, w, res.Text)
		}
	}
	return res
}

type m map[string]any

// server answers every connection with a line.
const server = `exec perl -MSocket -e '$|=1; socket(S,PF_INET,SOCK_STREAM,0); setsockopt(S,SOL_SOCKET,SO_REUSEADDR,1);
bind(S,sockaddr_in(8765,INADDR_LOOPBACK)) or die "bind: $!"; listen(S,5); print "listening\n";
while(accept(C,S)){ print "asked\n"; print C "hello from the server\n"; close C }'`

const client = `perl -MSocket -e 'socket(S,PF_INET,SOCK_STREAM,0); connect(S,sockaddr_in(8765,INADDR_LOOPBACK)) or die "connect: $!\n"; print <S>'`

func TestServerIsReachedUntilItIsStopped(t *testing.T) {
	l := newLab(t)
	l.call("start_process", m{"command": server}, "p1: running", "listening")
	l.call("run_command", m{"command": client}, "exit 0", "hello from the server")
	if res := l.call("read_process", m{"id": "p1", "wait_s": 5}, "asked"); !res.Progress {
		t.Error("no progress")
	}
	begun := time.Now()
	l.call("stop_process", m{"id": "p1"}, "p1: exit 143")
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if res := l.call("run_command", m{"command": client}, "connect:"); strings.Contains(res.Text, "hello") {
		t.Error("the server still answers")
	}
	l.call("start_process", m{"command": "trap '' TERM; echo up; sleep 1000 & setsid sleep 1000 & wait; sleep 1000"}, "up")
	if left := l.processes.Close(t.Context()); len(left) != 1 || !strings.HasPrefix(left[0], "p2: trap") {
		t.Errorf("left %q", left)
	}
	l.call("run_command", m{"command": "cat /proc/[0-9]*/cmdline | tr '\\0' ' '; echo seen"}, "seen")
	if res := l.call("run_command", m{"command": "ls /proc/*/exe -l | grep -c sleep"}); !strings.Contains(res.Text, "\n0\n") {
		t.Errorf("something is left: %s", res.Text)
	}
}

func TestLongOutputIsKeptWhole(t *testing.T) {
	l := newLab(t)
	// 60,000 lines, far more than memory keeps; the failure is in its middle.
	script := `seq 1 30000 | sed 's/$/ of a long output that goes on/'; echo "x.go:7: error: it is here"; seq 30001 60000 | sed 's/$/ of a long output that goes on/'`
	res := l.call("run_command", m{"command": script}, "exit 0, 60001 lines", "60001 lines; read_process o1", "\n1 of a long", "60000 of a long", "30001: x.go:7: error: it is here")
	if res.Truncated == nil || res.Truncated.Artifact != "o1" || len(res.Text) > 18_000 {
		t.Errorf("%d bytes, %+v", len(res.Text), res.Truncated)
	}
	whole, err := os.ReadFile(filepath.Join(l.outputs, "o1.log"))
	if err != nil {
		t.Fatal(err)
	}
	at := strings.Index(string(whole), "x.go:7")
	l.call("read_process", m{"id": "o1", "since": at}, fmt.Sprintf("o1: bytes %d to ", at), "\nx.go:7: error: it is here\n30001 of")
	l.call("run_command", m{"command": "echo short"}, "exit 0", "\nshort\n")
	for range 9 {
		l.call("run_command", m{"command": "seq 1 10000"}, "10000 lines")
	}
	files, err := os.ReadDir(l.outputs)
	if err != nil || len(files) != 8 {
		t.Errorf("%d outputs are kept: %v", len(files), err)
	}
	l.call("read_process", m{"id": "o1"}, "INVALID_ARGS", "the last 8 long ones")
}

func TestWhatWasPrintedSurvivesTheEnd(t *testing.T) {
	l := newLab(t)
	l.call("run_command", m{"command": "echo before; sleep 60", "timeout_s": 1}, "timed_out after 1.", "longer than its timeout_s", "\nbefore\n")
	l.call("run_command", m{"command": "echo before; sleep 60", "idle_s": 1}, "idle after 1.", "longer than its idle_s", "\nbefore\n")
	begun := time.Now()
	l.call("run_command", m{"command": "echo quick; setsid sleep 300 & sleep 300 & exit 4"}, "exit 4", "\nquick\n")
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the end came after %s: it waited for what was left behind", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	res := l.tools.Run(ctx, tool.Call{Name: "run_command", Args: json.RawMessage(`{"command":"echo before; sleep 60"}`)})
	if !strings.Contains(res.Text, "canceled, killed") || !strings.Contains(res.Text, "\nbefore\n") {
		t.Errorf("canceled: %s", res.Text)
	}
	// the shell asks its parent's parent, our pid 1, to go; whatever comes of it, it is told
	res = l.call("run_command", m{"command": "echo before; kill -9 1; kill -9 -1; echo after"}, "before")
	if res.Code != tool.CodeOK {
		t.Errorf("killed all: %s", res.Text)
	}
	l.call("run_command", m{"command": "echo next"}, "exit 0", "\nnext\n")
}

func TestChecksTellWhatCannotRunHere(t *testing.T) {
	l := newLab(t)
	res := l.call("run_checks", m{}, "green: exit 0", "red: exit 3", "\nit is wrong\n", "absent: exit 127", "cannot run here")
	runs, ok := res.Data.([]shell.Run)
	if !ok || len(runs) != 3 || runs[0].Infrastructure != "" || runs[1].Infrastructure != "" || runs[2].Infrastructure == "" {
		t.Errorf("data %+v", res.Data)
	}
	l.call("run_checks", m{"names": []string{"rod"}}, "INVALID_ARGS", "green, red, absent")
}
