package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/agent/model/modeltest"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

// patience is a hang guard, far above what the demonstration takes.
const patience = 4 * time.Minute

// programs builds the two programs once; TestMain removes them.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "demo-bin-")
	if err != nil {
		return "", err
	}
	text, err := exec.Command("go", "build", "-o", dir, ".", "../greenwright").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("building: %w\n%s", err, text)
	}
	return dir, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := programs(); dir != "" {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// program is the path of a built one.
func program(t *testing.T, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// output is written by the process and read by the test.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer // under mu
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// show is one run of the program, with a temporary directory of its own.
type show struct {
	cmd  *exec.Cmd
	out  output
	temp string
}

func play(t *testing.T, binary string, env ...string) *show {
	t.Helper()
	return playOn(t, "github", binary, env...)
}

func playOn(t *testing.T, forge, binary string, env ...string) *show {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	s := &show{temp: sandboxtest.Passable(t), cmd: exec.CommandContext(ctx, program(t, "demo"), "-greenwright", binary, "-forge", forge)}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "OPENAI_") && !strings.HasPrefix(name, "ANTHROPIC_") && !strings.HasPrefix(name, "GREENWRIGHT_") {
			s.cmd.Env = append(s.cmd.Env, kv)
		}
	}
	s.cmd.Env = append(append(s.cmd.Env, "TMPDIR="+s.temp), env...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// wait gives the exit code.
func (s *show) wait(t *testing.T) int {
	t.Helper()
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return s.cmd.ProcessState.ExitCode()
}

func (s *show) left(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(s.temp, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestWholeWay(t *testing.T) {
	sandboxtest.Programs(t, "git", "bwrap", "redis-server")
	call := func(name string, args map[string]any) modeltest.Step {
		return modeltest.Do(modeltest.Call{Name: name, Args: args})
	}
	finish := call("finish", map[string]any{"summary": "Pages were counted from 0.", "unverified": "the platform does"})
	model, err := modeltest.NewServer(
		call("read_file", map[string]any{"path": "page.go"}),
		call("edit_file", map[string]any{"path": "page.go", "old_string": "\tbegin := page * size\n", "new_string": "\tbegin := (page - 1) * size\n"}),
		call("edit_file", map[string]any{"path": "page.go", "old_string": "if begin > len(items) {\n\t\treturn nil\n\t}\n", "new_string": "if begin < 0 || begin >= len(items) {\n\t\treturn nil\n\t}\n\tend = min(end, len(items))\n"}),
		finish, finish,
	)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = model.Close() }()
	s := play(t, program(t, "greenwright"), "OPENAI_BASE_URL="+model.URL()+"/v1", "GREENWRIGHT_MODEL=openai/scripted", "GREENWRIGHT_OPENAI_API=chat")
	code := s.wait(t)
	text := s.out.String()
	if code != 0 {
		t.Fatalf("exit %d:\n%s", code, text)
	}
	for _, want := range []string{
		`reacts with 👀`,
		`pushes [0-9a-f]{10} to branch greenwright/1-`,
		`opens pull request #2`,
		`pushes [0-9a-f]{10} to branch weight`,
		`(?m)^    test -z "\$\(gofmt -l \.\)" +🔴 exit 1   🟢 exit 0$`,
		`(?m)^    go test \./\.\.\. +🔴 exit 1   🟢 exit 0$`,
		`(?m)^   \+\tif n >= 12 \{$`,
		`(?m)^   \+func Weight\(n int\) int \{$`,
		`(?m)^   \+\tbegin := \(page - 1\) \* size$`,
		`Closes #1`,
		`(?m)^    greenwright journal verify +\d+ records, whole; head [0-9a-f]{64}$`,
		`Everything came: acme/widgets#2, acme/gadgets#1, acme/gizmos#2`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the output has no %q", want)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Error("there is an escape sequence in a pipe")
	}
	if left := s.left(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if v := model.Violations(); len(v) > 0 {
		t.Errorf("the scripted model found: %v", v)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestWholeWayOnGitLab: the same on the other forge, without a model.
func TestWholeWayOnGitLab(t *testing.T) {
	sandboxtest.Programs(t, "git", "bwrap", "redis-server")
	s := playOn(t, "gitlab", program(t, "greenwright"))
	code := s.wait(t)
	text := s.out.String()
	for _, want := range []string{
		`the GitLab is simulated`,
		`reacts with 👀`,
		`opens merge request !2`,
		`pushes [0-9a-f]{10} to branch weight`,
		`(?m)^    test -z "\$\(gofmt -l \.\)" +🔴 exit 1   🟢 exit 0$`,
		`Everything came: acme/widgets!2, acme/gadgets!1`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the output has no %q", want)
		}
	}
	if strings.Contains(text, "pull request") {
		t.Error("people of GitLab are told of pull requests")
	}
	if left := s.left(t); code != 0 || len(left) > 0 {
		t.Errorf("exit %d, left behind: %v", code, left)
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestInterrupt(t *testing.T) {
	sandboxtest.Programs(t, "git", "bwrap", "redis-server")
	s := play(t, program(t, "greenwright"))
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(s.out.String(), "baseline:") {
		if time.Now().After(deadline) {
			t.Fatalf("nothing to interrupt:\n%s", &s.out)
		}
		time.Sleep(20 * time.Millisecond)
	}
	server := regexp.MustCompile(`\b` + regexp.QuoteMeta(s.temp))
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := s.wait(t); code != 130 {
		t.Errorf("exit %d:\n%s", code, &s.out)
	}
	if left := s.left(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	for _, line := range processes(t) {
		if server.MatchString(line) {
			t.Errorf("still runs: %s", line)
		}
	}
}

// processes are the command lines of what runs on this machine.
func processes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil { // it may have ended meanwhile
			out = append(out, string(bytes.ReplaceAll(b, []byte{0}, []byte{' '})))
		}
	}
	return out
}

func TestWhatFailsIsTold(t *testing.T) {
	sandboxtest.Programs(t, "git", "bwrap", "redis-server")
	script := filepath.Join(t.TempDir(), "greenwright")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho 'something is wrong here' >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, binary string
		kept         int // directories
		want         []string
	}{
		{"server ends", script, 1, []string{"ended by itself: exit status 3", "something is wrong here", "the server's log is"}},
		{"no program", "/nonexistent/greenwright", 0, []string{"make build"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := play(t, c.binary)
			code := s.wait(t)
			if code != 1 {
				t.Errorf("exit %d", code)
			}
			for _, want := range c.want {
				if !strings.Contains(s.out.String(), want) {
					t.Errorf("the output has no %q:\n%s", want, &s.out)
				}
			}
			if left := s.left(t); len(left) != c.kept {
				t.Errorf("left behind: %s", fmt.Sprint(left))
			}
		})
	}
}
