package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/shell"
)

type executor struct {
	got tool.Command
	out tool.Execution
	err error
}

func (e *executor) Execute(_ context.Context, c tool.Command) (tool.Execution, error) {
	e.got = c
	return e.out, e.err
}

func call(t *testing.T, e *executor, args string) tool.Result {
	t.Helper()
	r, err := tool.NewRegistry(shell.New(e))
	if err != nil {
		t.Fatal(err)
	}
	return r.Run(context.Background(), tool.Call{Name: shell.Name, Args: json.RawMessage(args)})
}

func TestCommandIsPassedOn(t *testing.T) {
	cases := []struct {
		args string
		want tool.Command
		code tool.Code
	}{
		{`{"command":"ls"}`, tool.Command{Script: "ls", Timeout: shell.DefaultTimeout, Idle: shell.DefaultIdle}, tool.CodeOK},
		{`{"command":"ls","dir":"/workspace/a/../b","timeout_s":9,"idle_s":"8"}`, tool.Command{Script: "ls", Dir: "b", Timeout: 9 * time.Second, Idle: 8 * time.Second}, tool.CodeOK},
		{`{"command":"ls","dir":"/workspace"}`, tool.Command{Script: "ls", Timeout: shell.DefaultTimeout, Idle: shell.DefaultIdle}, tool.CodeOK},
		{`{"command":"  "}`, tool.Command{}, tool.CodeInvalidArgs},
		{`{"command":"ls","dir":"../x"}`, tool.Command{}, tool.CodePathOutsideWorkspace},
		{`{"command":"ls","dir":"/workspacex"}`, tool.Command{}, tool.CodePathOutsideWorkspace},
		{`{"command":"ls","timeout_s":99999}`, tool.Command{}, tool.CodeInvalidArgs},
	}
	for _, c := range cases {
		e := &executor{}
		res := call(t, e, c.args)
		if diff := cmp.Diff(c.want, e.got); diff != "" || res.Code != c.code {
			t.Errorf("%s: code %s %s", c.args, res.Code, diff)
		}
	}
}

func TestNonZeroExitIsAnOrdinaryResult(t *testing.T) {
	e := &executor{out: tool.Execution{ExitCode: 2, Cause: tool.CauseExited, Head: []byte("\x1b[31mFAIL\x1b[0m\n"), TotalBytes: 14, TotalLines: 1, Duration: 1500 * time.Millisecond}}
	res := call(t, e, `{"command":"make"}`)
	if want := "exit code 2, exited, after 1.5 s, 1 lines of output\nFAIL\n"; !res.OK || res.Text != want {
		t.Errorf("result %q", res.Text)
	}
	if run, ok := res.Data.(shell.Run); !ok || run.Execution.ExitCode != 2 || run.Command.Script != "make" {
		t.Errorf("data %+v", res.Data)
	}
}

func TestTimeoutKeepsWhatWasPrinted(t *testing.T) {
	e := &executor{out: tool.Execution{ExitCode: 137, Signal: "SIGKILL", Cause: tool.CauseTimedOut, Head: []byte("so far\n"), TotalBytes: 7}}
	res := call(t, e, `{"command":"sleep"}`)
	if !res.OK || !strings.Contains(res.Text, "ran longer than its timeout, signal SIGKILL") || !strings.Contains(res.Text, "so far") {
		t.Errorf("result %q", res.Text)
	}
}

func TestSpawnFailure(t *testing.T) {
	if res := call(t, &executor{err: errors.New("no sandbox")}, `{"command":"x"}`); res.Code != tool.CodeSpawnFailed {
		t.Errorf("code %s", res.Code)
	}
}

func TestLongOutputShowsStartEndAndFailures(t *testing.T) {
	var lines []string
	for i := range 5000 {
		lines = append(lines, fmt.Sprintf("ok %d of the many lines", i))
	}
	lines[2500] = "main.go:7: error: undefined name"
	out := []byte(strings.Join(lines, "\n") + "\n")
	for _, lost := range []bool{false, true} {
		e := &executor{out: tool.Execution{Cause: tool.CauseExited, Head: out[:65536], Tail: out[65536:], TotalBytes: int64(len(out)), TotalLines: 5000}}
		if lost {
			e.out.TotalBytes += 1_000_000
		}
		res := call(t, e, `{"command":"x"}`)
		for _, want := range []string{"ok 0 of", "ok 4999 of", "error: undefined name", "left out"} {
			if !strings.Contains(res.Text, want) {
				t.Errorf("lost %v: lacks %q", lost, want)
			}
		}
		if !lost && !strings.Contains(res.Text, "2501: main.go:7") {
			t.Error("the failure has no line number")
		}
		if len(res.Text) > 30_000 || res.Truncated == nil || res.Truncated.BytesTotal != e.out.TotalBytes {
			t.Errorf("%d bytes, truncated %+v", len(res.Text), res.Truncated)
		}
	}
	one := &executor{out: tool.Execution{Cause: tool.CauseExited, Head: []byte(strings.Repeat("ä", 50_000)), TotalBytes: 100_000, TotalLines: 1}}
	if res := call(t, one, `{"command":"x"}`); len(res.Text) > 30_000 || strings.Contains(res.Text, "\ufffd") {
		t.Errorf("one long line: %d bytes", len(res.Text))
	}
}
