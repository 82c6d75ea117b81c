package sandboxtest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

// What the issue allows: the time between a limit and the end of a command,
// and what endless output may take of the worker's memory.
const (
	endWithin = 5 * time.Second
	maxGrowth = 64 << 20
)

// resident is the memory of this process in bytes (proc_pid_statm(5)).
func resident(t *testing.T) int64 {
	t.Helper()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(string(bytes.Fields(b)[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * int64(os.Getpagesize())
}

// processes counts what runs inside besides pid 1, the shell that counts and
// its children.
func (f fixture) processes(t *testing.T) int {
	t.Helper()
	res := f.exec(t, sandbox.Cmd{Script: `n=0; for p in /proc/[0-9]*; do case $p in /proc/1|/proc/$$) ;; *) n=$((n+1));; esac; done; echo $n`})
	n, err := strconv.Atoi(strings.TrimSpace(res.Output.String()))
	if err != nil {
		t.Fatalf("counting processes: %q", res.Output)
	}
	return n
}

func (s *suite) limits(t *testing.T) {
	box := s.start(t, func(sp *sandbox.Spec) {
		sp.Limits = sandbox.Limits{OutputBytes: 1 << 20, FileBytes: 1 << 20, OpenFiles: 64}
	})
	cases := []struct {
		name string
		cmd  sandbox.Cmd
		want sandbox.Cause
	}{
		{"wall clock", sandbox.Cmd{Script: "echo before; while :; do echo; sleep 0.1; done", Timeout: 500 * time.Millisecond}, sandbox.TimedOut},
		{"idle", sandbox.Cmd{Script: "echo before; sleep 60", Idle: 300 * time.Millisecond}, sandbox.IdleTimeout},
		{"output", sandbox.Cmd{Script: "echo before; yes"}, sandbox.OutputLimit},
		{"output in one line", sandbox.Cmd{Script: "echo before; tr '\\0' x < /dev/zero"}, sandbox.OutputLimit},
		{"output that nobody can stop", sandbox.Cmd{Script: "echo before; for i in 1 2 3 4 5 6 7 8; do setsid yes & done; wait"}, sandbox.OutputLimit},
		{"children that fork on", sandbox.Cmd{Script: "echo before; while :; do setsid sleep 5 & sleep 0.01; done", Timeout: 500 * time.Millisecond}, sandbox.TimedOut},
		{"stopped in time", sandbox.Cmd{Script: "echo before; kill -STOP $$", Timeout: 500 * time.Millisecond}, sandbox.TimedOut},
		{"ignored signals", sandbox.Cmd{Script: "trap '' TERM INT HUP; echo before; while :; do sleep 1; done", Timeout: 500 * time.Millisecond}, sandbox.TimedOut},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			before := resident(t)
			res := box.exec(t, c.cmd)
			if res.Cause != c.want || !strings.HasPrefix(res.Output.String(), "before\n") {
				t.Errorf("ended by %s with %.40q; want %s and the output so far", res.Cause, res.Output, c.want)
			}
			if res.Duration > c.cmd.Timeout+c.cmd.Idle+endWithin {
				t.Errorf("took %s", res.Duration)
			}
			if grown := resident(t) - before; grown > maxGrowth {
				t.Errorf("the worker's memory grew by %d bytes", grown)
			}
			if left := box.processes(t); left != 0 {
				t.Errorf("%d processes are left", left)
			}
		})
	}
	t.Run("file size", func(t *testing.T) {
		if res := box.exec(t, sandbox.Cmd{Script: "head -c 3000000 /dev/zero > big"}); res.ExitCode == 0 {
			t.Error("wrote a file over the limit")
		}
		if st, err := os.Stat(filepath.Join(box.ws, "big")); err != nil || st.Size() > 2<<20 {
			t.Errorf("file is %v (%v)", st, err)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		res, err := box.Exec(ctx, sandbox.Cmd{Script: "echo before; sleep 60"})
		if err != nil || res.Cause != sandbox.Canceled || res.Output.String() != "before\n" {
			t.Errorf("got %s, %q, %v", res.Cause, res.Output, err)
		}
	})
}
