package sandboxtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

func (s *suite) lifecycle(t *testing.T) {
	t.Run("daemons end with their command", func(t *testing.T) {
		box := s.start(t, nil)
		res := box.exec(t, sandbox.Cmd{Script: "setsid sh -c 'while :; do date +%N > alive; sleep 0.05; done' >/dev/null 2>&1 & sleep 0.3; echo started"})
		if res.Duration > 10*time.Second {
			t.Errorf("waited %s for a daemon", res.Duration)
		}
		if why := beats(filepath.Join(box.ws, "alive")); why != "" {
			t.Error(why)
		}
	})
	t.Run("a held pipe does not hold the call", func(t *testing.T) {
		box := s.start(t, nil)
		if res := box.exec(t, sandbox.Cmd{Script: "sleep 600 & echo done"}); res.Duration > 10*time.Second || res.Output.String() != "done\n" {
			t.Errorf("took %s, output %q", res.Duration, res.Output)
		}
	})
	t.Run("a stopped process with the pipe does not hold the call", func(t *testing.T) {
		box := s.start(t, nil)
		if res := box.exec(t, sandbox.Cmd{Script: "sleep 600 & kill -STOP $!; echo done"}); res.Duration > endWithin || res.Output.String() != "done\n" {
			t.Errorf("took %s, output %q", res.Duration, res.Output)
		}
	})
	t.Run("what is lost comes again", s.lost)
	t.Run("close ends commands and clears", func(t *testing.T) {
		box := s.start(t, nil)
		ended := make(chan sandbox.Result, 1)
		started := make(chan struct{})
		go func() {
			res, _ := box.Exec(context.Background(), sandbox.Cmd{Script: "echo up; chmod 500 ~; sleep 600", OnOutput: func([]byte) { close(started) }})
			ended <- res
		}()
		<-started
		if err := box.Close(t.Context()); err != nil {
			t.Errorf("close: %v", err)
		}
		if res := <-ended; res.Cause != sandbox.Canceled {
			t.Errorf("command ended by %s", res.Cause)
		}
		if err := box.Close(t.Context()); err != nil {
			t.Errorf("second close: %v", err)
		}
		if _, err := box.Exec(t.Context(), sandbox.Cmd{Script: "true"}); err == nil {
			t.Error("exec after close succeeded")
		}
		if _, err := os.Stat(box.scratch); !os.IsNotExist(err) {
			t.Errorf("scratch is still there: %v", err)
		}
	})
	t.Run("two runs do not see each other", func(t *testing.T) {
		a, b := s.start(t, nil), s.start(t, nil)
		a.exec(t, sandbox.Cmd{Script: "echo a > ~/a; echo a > /tmp/a; sleep 0.1"})
		if out := b.exec(t, sandbox.Cmd{Script: fmt.Sprintf("ls ~ /tmp | grep -x a; cat %s/* 2>/dev/null", a.ws)}).Output.String(); out != "" {
			t.Errorf("saw %q", out)
		}
	})
}

// children are the processes that this one has started and not waited for.
func children(t *testing.T) []int {
	t.Helper()
	var out []int
	tasks, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range tasks {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for _, word := range splitWords(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// lost: the sandbox program is killed from outside in the middle of a command.
func (s *suite) lost(t *testing.T) {
	before := children(t)
	box := s.start(t, nil)
	box.exec(t, sandbox.Cmd{Script: "echo kept > file; echo kept > ~/file"})
	started, ended := make(chan struct{}), make(chan sandbox.Result, 1)
	go func() {
		res, _ := box.Exec(context.Background(), sandbox.Cmd{Script: "echo up; sleep 60", OnOutput: func([]byte) { close(started) }})
		ended <- res
	}()
	<-started
	killed := 0
	for _, pid := range children(t) {
		if !slices.Contains(before, pid) {
			killed++
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if killed == 0 {
		t.Fatal("the sandbox is no child of the worker")
	}
	select {
	case res := <-ended:
		if res.Cause != sandbox.Lost || res.Output.String() != "up\n" {
			t.Errorf("ended by %s with %q", res.Cause, res.Output)
		}
	case <-time.After(endWithin):
		t.Fatal("the command goes on in a sandbox that is gone")
	}
	if res := box.exec(t, sandbox.Cmd{Script: "cat file ~/file"}); !res.OK() || res.Output.String() != "kept\nkept\n" {
		t.Errorf("the next command: %s %d, %q", res.Cause, res.ExitCode, res.Output)
	}
}
