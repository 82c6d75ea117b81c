package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/agent/model"
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
	if want := "exit 2 after 1.5 s\nFAIL\n"; !res.OK || res.Text != want {
		t.Errorf("result %q", res.Text)
	}
	if run, ok := res.Data.(shell.Run); !ok || run.Execution.ExitCode != 2 || run.Command.Script != "make" {
		t.Errorf("data %+v", res.Data)
	}
}

func TestTimeoutKeepsWhatWasPrinted(t *testing.T) {
	e := &executor{out: tool.Execution{ExitCode: 137, Signal: "SIGKILL", Cause: tool.CauseTimedOut, Head: []byte("so far\n"), TotalBytes: 7}}
	res := call(t, e, `{"command":"sleep"}`)
	if !res.OK || !strings.Contains(res.Text, "longer than its timeout_s") || !strings.Contains(res.Text, "so far") {
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

// keeper is an executor that keeps whole outputs.
type keeper struct {
	*executor
	whole string
	err   error
}

type nopCloser struct{ *strings.Reader }

func (nopCloser) Close() error { return nil }

func (k keeper) Open(string) (io.ReadSeekCloser, error) {
	return nopCloser{strings.NewReader(k.whole)}, k.err
}

// cutExecution keeps head and tail bytes of an output.
func cutExecution(out string, head, tail int) tool.Execution {
	return tool.Execution{
		Cause: tool.CauseExited, Head: []byte(out[:head]), Tail: []byte(out[len(out)-tail:]),
		TotalBytes: int64(len(out)), TotalLines: int64(strings.Count(out, "\n")), Artifact: "o7",
	}
}

func TestFailuresAreFoundWithTheirNumbers(t *testing.T) {
	var lines []string
	for i := range 60_000 {
		lines = append(lines, fmt.Sprintf("ok, line %d", i+1))
	}
	lines[99] = "x_test.go:3: TypeError: early"           // shown with the start
	lines[2000] = "--- FAIL: TestHead (0.00s)"            // kept in the head
	lines[30_000] = strings.Repeat("long ", 100) + "head" // no failure
	lines[30_001] = "thread 'main' panicked: lost one"    // in no kept part
	lines[30_002] = strings.Repeat("z", 200_000)          // longer than a buffer
	lines[30_003] = "\x1b[31merror\x1b[0m: after it"
	lines[59_000] = "npm ERR! code: cannot find it" // kept in the tail
	lines[59_990] = "error: late"                   // shown with the end
	out := strings.Join(lines, "\n") + "\n"
	ex := &executor{out: cutExecution(out, 64<<10, 192<<10)}
	for name, c := range map[string]struct {
		ex   tool.Executor
		want []string
		miss []string
	}{
		"kept":         {keeper{executor: ex, whole: out}, []string{"2001: --- FAIL", "30002: thread", "30004: error: after it", "59001: npm ERR!", "o7 reads all of it"}, []string{"100: x_test", "59991: "}},
		"not kept":     {ex, []string{"2001: --- FAIL", "59001: npm ERR!"}, []string{"30002: ", "o7"}},
		"cannot open":  {keeper{executor: ex, err: errors.New("gone")}, []string{"2001: --- FAIL", "59001: npm ERR!"}, []string{"30002: "}},
		"always shown": {ex, []string{"exit 0, 60000 lines", "ok, line 1\n", "ok, line 60000\n", "TypeError: early", "error: late"}, nil},
	} {
		r, err := tool.NewRegistry(shell.New(c.ex))
		if err != nil {
			t.Fatal(err)
		}
		res := r.Run(t.Context(), tool.Call{Name: shell.Name, Args: json.RawMessage(`{"command":"x"}`)})
		for _, w := range c.want {
			if !strings.Contains(res.Text, w) {
				t.Errorf("%s: lacks %q", name, w)
			}
		}
		for _, w := range c.miss {
			if strings.Contains(res.Text, w) {
				t.Errorf("%s: has %q", name, w)
			}
		}
		if len(res.Text) > 26<<10 {
			t.Errorf("%s: %d bytes", name, len(res.Text))
		}
	}
}

func TestWhatLooksLikeAFailure(t *testing.T) {
	lines := map[string]bool{
		"error: x": true, "2 errors found": true, "ValueError: x": true, "FAILED tests/a.py::b": true, "E       assert 1 == 2": true, "--- FAIL: TestX": true,
		"Traceback (most recent call last):": true, "fatal: not a repository": true, "a.c:1: undefined reference": true, "sh: x: not found": true, "Segmentation fault": true,
		"Permission denied": true, "java.lang.NullPointerException": true, "not ok 3 - x": true, "panic: runtime": true,
		"ErrorHandlerTests compiled": false, "ok  example.com/unfailing": false, "everything is fine": false, "cat terrors.txt is terrorism": false, "": false,
	}
	filler := strings.Repeat("quiet line of no interest\n", 2000)
	for line, want := range lines {
		out := filler + line + "\n" + filler
		e := &executor{out: tool.Execution{Cause: tool.CauseExited, Head: []byte(out), TotalBytes: int64(len(out)), TotalLines: 4001}}
		res := call(t, e, `{"command":"x"}`)
		if got := strings.Contains(res.Text, "look like failures"); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

func TestCausesAreToldInTheFirstLine(t *testing.T) {
	for cause, want := range map[tool.Cause]string{
		tool.CauseTimedOut: "longer than its timeout_s", tool.CauseIdle: "no output", tool.CauseOOM: "out of memory", tool.CauseOutputLimit: "more output",
		tool.CauseDiskLimit: "disk", tool.CauseLost: "Nothing is run again; the next command gets a new sandbox", tool.CauseCanceled: "stopped",
	} {
		e := &executor{out: tool.Execution{ExitCode: -1, Cause: cause, Head: []byte("partial\n"), TotalBytes: 8, TotalLines: 1, Duration: 90 * time.Second}}
		res := call(t, e, `{"command":"x"}`)
		first, rest, _ := strings.Cut(res.Text, "\n")
		if !res.OK || !strings.HasPrefix(first, string(cause)+" after 90.0 s, ") || !strings.Contains(first, want) || rest != "partial\n" {
			t.Errorf("%s: %q", cause, res.Text)
		}
	}
}

func TestChecksShareWhatMayBeShown(t *testing.T) {
	var known []model.Check
	for i := range 10 {
		known = append(known, model.Check{Name: fmt.Sprintf("check %d", i), Command: "x"})
	}
	out := strings.Repeat("a line of some length, many times\n", 3000)
	e := &executor{out: tool.Execution{ExitCode: 1, Cause: tool.CauseExited, Head: []byte(out), TotalBytes: int64(len(out)), TotalLines: 3000}}
	r, err := tool.NewRegistry(shell.NewChecks(e, known, nil))
	if err != nil {
		t.Fatal(err)
	}
	res := r.Run(t.Context(), tool.Call{Name: shell.ChecksName, Args: json.RawMessage(`{}`)})
	if runs, ok := res.Data.([]shell.Run); !ok || len(runs) != 10 || len(res.Text) > 36_000 || !strings.Contains(res.Text, "check 9: exit 1") {
		t.Errorf("%d bytes, data %T", len(res.Text), res.Data)
	}
	if e.got.Timeout != 900*time.Second {
		t.Errorf("timeout %s", e.got.Timeout)
	}
	e.err = errors.New("no sandbox")
	res = r.Run(t.Context(), tool.Call{Name: shell.ChecksName, Args: json.RawMessage(`{"names":["check 3"]}`)})
	if res.Code != tool.CodeSpawnFailed || !strings.Contains(res.Text, "check 3 could not be run: no sandbox") {
		t.Errorf("%s", res.Text)
	}
}

func BenchmarkLongOutput(b *testing.B) {
	out := strings.Repeat("compiling a file of the project, nothing of interest here\n", 64<<20/58)
	ex := keeper{executor: &executor{out: cutExecution(out, 64<<10, 192<<10)}, whole: out}
	r, err := tool.NewRegistry(shell.New(ex))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		r.Run(b.Context(), tool.Call{Name: shell.Name, Args: json.RawMessage(`{"command":"x"}`)})
	}
}
