package process_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/process"
)

// fake is a process that the test writes the output of. It keeps 10 bytes of
// head and 20 of tail.
type fake struct {
	done chan struct{}
	cmd  tool.Command

	mu  sync.Mutex
	out []byte
	end tool.Execution
}

func (f *fake) Done() <-chan struct{} { return f.done }

func (f *fake) print(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out = append(f.out, s...)
}

func (f *fake) exit(e tool.Execution) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.end = e
	close(f.done)
}

const keptHead, keptTail = 10, 20

func (f *fake) Execution() tool.Execution {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.end
	e.TotalBytes = int64(len(f.out))
	e.Head = bytes.Clone(f.out[:min(keptHead, len(f.out))])
	rest := f.out[len(e.Head):]
	e.Tail = bytes.Clone(rest[max(len(rest)-keptTail, 0):])
	return e
}

func (f *fake) Stop(context.Context) (tool.Execution, error) {
	select {
	case <-f.done:
	default:
		f.exit(tool.Execution{Cause: tool.CauseExited, ExitCode: 143, Signal: "terminated"})
	}
	return f.Execution(), nil
}

// spawner makes fakes, and keeps one whole output.
type spawner struct {
	made  []*fake
	err   error
	whole string
	then  func(*fake) // what becomes of one; nil leaves it alone
}

func (s *spawner) Spawn(_ context.Context, c tool.Command) (tool.Process, error) {
	if s.err != nil {
		return nil, s.err
	}
	f := &fake{done: make(chan struct{}), cmd: c}
	s.made = append(s.made, f)
	if s.then != nil {
		s.then(f)
	}
	return f, nil
}

type whole struct{ *strings.Reader }

func (whole) Close() error { return nil }

func (s *spawner) Open(id string) (io.ReadSeekCloser, error) {
	if id != "o1" {
		return nil, fmt.Errorf("there is no output %q", id)
	}
	return whole{strings.NewReader(s.whole)}, nil
}

type rig struct {
	t *testing.T
	*spawner
	table *process.Table
	tools *tool.Registry
}

func newRig(t *testing.T) *rig {
	t.Helper()
	s := &spawner{}
	table := process.New(s)
	tools, err := tool.NewRegistry(table.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t, s, table, tools}
}

func (r *rig) call(name, args string, code tool.Code, want ...string) tool.Result {
	r.t.Helper()
	res := r.tools.Run(r.t.Context(), tool.Call{Name: name, Args: json.RawMessage(args)})
	if res.Code != code {
		r.t.Errorf("%s %s: %s, want %s: %s", name, args, res.Code, code, res.Text)
	}
	for _, w := range want {
		if !strings.Contains(res.Text, w) {
			r.t.Errorf("%s %s: %q lacks %q", name, args, res.Text, w)
		}
	}
	return res
}

func TestReadingIsWithoutLossAndRepetition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.call("start_process", `{"command":"serve","dir":"/workspace/a"}`, tool.CodeOK, "p1: running for 1 s; no output")
		p := r.made[0]
		if p.cmd.Script != "serve" || p.cmd.Dir != "a" || p.cmd.Timeout < time.Hour {
			t.Errorf("command %+v", p.cmd)
		}
		if res := r.call("read_process", `{"id":"p1"}`, tool.CodeOK, "no output"); res.Progress {
			t.Error("progress without output")
		}
		p.print("one\n")
		if res := r.call("read_process", `{"id":"p1"}`, tool.CodeOK, "\none\n"); !res.Progress {
			t.Error("no progress with output")
		}
		if res := r.call("read_process", `{"id":"p1"}`, tool.CodeOK, "nothing new behind byte 4"); res.Progress || strings.Contains(res.Text, "one") {
			t.Errorf("read twice: %+v", res)
		}
		if res := r.call("read_process", `{"id":"p1","since":0}`, tool.CodeOK, "\none\n"); res.Progress {
			t.Error("progress by reading again")
		}
		p.print("two \xe2\x82") // the beginning of a rune
		r.call("read_process", `{"id":"p1"}`, tool.CodeOK, "bytes 4 to 8 of 10", "\ntwo ")
		p.print("\xac!\n")
		r.call("read_process", `{"id":"p1"}`, tool.CodeOK, "\n€!\n")
		p.print("three\n")
		p.exit(tool.Execution{Cause: tool.CauseExited, ExitCode: 3, Duration: 2 * time.Second})
		if res := r.call("read_process", `{"id":"p1"}`, tool.CodeOK, "\nthree\n"); !strings.HasPrefix(res.Text, "p1: exit 3 after 2.0 s") {
			t.Errorf("the end does not come first: %q", res.Text)
		}
		r.call("read_process", `{"id":"p1"}`, tool.CodeOK, "exit 3 after 2.0 s; nothing new")
	})
}

func TestWhatFellOutIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.call("start_process", `{"command":"x"}`, tool.CodeOK)
		p := r.made[0]
		p.print(strings.Repeat("h", keptHead) + strings.Repeat("m", 100) + strings.Repeat("t", keptTail))
		p.exit(tool.Execution{Cause: tool.CauseOOM, ExitCode: -1})
		res := r.call("read_process", `{"id":"p1"}`, tool.CodeOK, "out of memory", "bytes 0 to 10 of 130, read again", "hhhhhhhhhh")
		if strings.Contains(res.Text, "ttt") {
			t.Errorf("head and tail as if one: %q", res.Text)
		}
		r.call("read_process", `{"id":"p1"}`, tool.CodeOK, "from byte 110", "100 bytes before are no longer kept", strings.Repeat("t", keptTail))
	})
}

func TestWaitEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.call("start_process", `{"command":"x"}`, tool.CodeOK)
		p := r.made[0]
		for _, c := range []struct {
			do   func()
			want string
		}{
			{func() { p.print("ready\n") }, "\nready\n"},
			{func() { p.exit(tool.Execution{Cause: tool.CauseExited}) }, "exit 0"},
		} {
			begun := time.Now()
			timer := time.AfterFunc(7*time.Second, c.do)
			r.call("read_process", `{"id":"p1","wait_s":60}`, tool.CodeOK, c.want)
			timer.Stop()
			if took := time.Since(begun); took < 7*time.Second || took > 8*time.Second {
				t.Errorf("%s: waited %s", c.want, took)
			}
		}
	})
}

func TestWaitEndsInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.call("start_process", `{"command":"x"}`, tool.CodeOK)
		begun := time.Now()
		r.call("read_process", `{"id":"p1","wait_s":300}`, tool.CodeOK, "running for 301 s")
		if took := time.Since(begun); took != 300*time.Second {
			t.Errorf("waited %s", took)
		}
		r.call("read_process", `{"id":"p1","wait_s":301}`, tool.CodeInvalidArgs)
		r.call("read_process", `{"id":"p1","since":-1}`, tool.CodeInvalidArgs)
		r.call("read_process", `{"id":"p2"}`, tool.CodeInvalidArgs, "p1")
	})
}

func TestEarlyEndIsToldAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.then = func(f *fake) {
			time.AfterFunc(100*time.Millisecond, func() {
				f.print("port in use\n")
				f.exit(tool.Execution{Cause: tool.CauseExited, ExitCode: 1})
			})
		}
		begun := time.Now()
		r.call("start_process", `{"command":"x"}`, tool.CodeOK, "p1: exit 1", "port in use")
		if took := time.Since(begun); took != 100*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

func TestLongOutputIsReadInPages(t *testing.T) {
	r := newRig(t)
	var lines strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&lines, "line %d ä\n", i)
	}
	r.whole = lines.String()
	var got strings.Builder
	for since := 0; since < len(r.whole); {
		res := r.call("read_process", fmt.Sprintf(`{"id":"o1","since":%d}`, since), tool.CodeOK)
		var from, to, total int
		if _, err := fmt.Sscanf(res.Text, "o1: bytes %d to %d of %d", &from, &to, &total); err != nil || from != since || to <= from || total != len(r.whole) {
			t.Fatalf("%q: %v", strings.SplitN(res.Text, "\n", 2)[0], err)
		}
		_, body, _ := strings.Cut(res.Text, "\n")
		got.WriteString(body)
		since = to
	}
	if got.String() != r.whole {
		t.Error("pages do not make the whole")
	}
	r.call("read_process", `{"id":"o2"}`, tool.CodeInvalidArgs, "no output")
}

func TestAtMostEightLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for range process.MaxAlive {
			r.call("start_process", `{"command":"x"}`, tool.CodeOK)
		}
		r.call("start_process", `{"command":"x"}`, tool.CodeBudgetExceeded, "p1, p2")
		r.call("stop_process", `{"id":"p3"}`, tool.CodeOK, "p3: exit 143 (terminated)")
		r.call("stop_process", `{"id":"p3"}`, tool.CodeOK, "p3: exit 143")
		r.call("start_process", `{"command":"last   one"}`, tool.CodeOK, "p9: running")
		left := r.table.Close(t.Context())
		if len(left) != process.MaxAlive || left[process.MaxAlive-1] != "p9: last one" {
			t.Errorf("left: %q", left)
		}
		for i, p := range r.made {
			select {
			case <-p.done:
			default:
				t.Errorf("p%d lives", i+1)
			}
		}
		if again := r.table.Close(t.Context()); len(again) != 0 {
			t.Errorf("a second Close names %q", again)
		}
		r.call("start_process", `{"command":"x"}`, tool.CodeSpawnFailed)
	})
}

func TestOldOnesAreLetGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.then = func(f *fake) { f.exit(tool.Execution{Cause: tool.CauseExited}) }
		for range 20 {
			r.call("start_process", `{"command":"x"}`, tool.CodeOK, "exit 0")
		}
		r.call("read_process", `{"id":"p1"}`, tool.CodeInvalidArgs, "no longer kept")
		r.call("stop_process", `{"id":"p1"}`, tool.CodeInvalidArgs)
		r.call("read_process", `{"id":"p20"}`, tool.CodeOK, "exit 0")
	})
}

func TestRefusals(t *testing.T) {
	r := newRig(t)
	r.call("start_process", `{"command":" "}`, tool.CodeInvalidArgs)
	r.call("start_process", `{"command":"x","dir":"../y"}`, tool.CodePathOutsideWorkspace)
	r.call("stop_process", `{"id":"p1"}`, tool.CodeInvalidArgs, "none was started")
	r.err = errors.New("no sandbox")
	r.call("start_process", `{"command":"x"}`, tool.CodeSpawnFailed, "no sandbox")
}
