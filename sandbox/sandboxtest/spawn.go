package sandboxtest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// server answers on a port inside with a word, again and again.
const server = `"$ATTACK" serve 127.0.0.1:4000`

// spawn: commands that go on while others run.
func (s *suite) spawn(t *testing.T) {
	box := s.start(t, func(sp *sandbox.Spec) {
		sp.Mounts = programMount(t)
		sp.Env = []string{"ATTACK=" + insideMount + "/attack"}
	})
	t.Run("a server", func(t *testing.T) { served(t, box) })
	t.Run("what it has started in the background", func(t *testing.T) { background(t, box) })
	t.Run("stop asks first", func(t *testing.T) { stopAsks(t, box) })
	t.Run("stop does not ask for ever", func(t *testing.T) { stopInsists(t, box) })
	t.Run("its end is told", func(t *testing.T) {
		p := begin(t, box, sandbox.Cmd{Script: "exit 5"})
		select {
		case <-p.Done():
		case <-time.After(endWithin):
			t.Fatal("not done")
		}
		if res := p.Result(); res.Cause != sandbox.Exited || res.ExitCode != 5 {
			t.Errorf("got %s %d", res.Cause, res.ExitCode)
		}
	})
	t.Run("its limits hold", func(t *testing.T) {
		p := begin(t, box, sandbox.Cmd{Script: "sleep 60", Timeout: 300 * time.Millisecond})
		<-p.Done()
		if res := p.Result(); res.Cause != sandbox.TimedOut {
			t.Errorf("got %s", res.Cause)
		}
	})
	t.Run("it ends with the sandbox", func(t *testing.T) {
		other := s.start(t, nil)
		p := begin(t, other, sandbox.Cmd{Script: "echo up; sleep 60"})
		awaitOutput(t, p, "up\n")
		if err := other.Close(t.Context()); err != nil {
			t.Error(err)
		}
		select {
		case <-p.Done():
		case <-time.After(endWithin):
			t.Fatal("not done")
		}
		if res := p.Result(); res.Cause != sandbox.Canceled || res.Output.String() != "up\n" {
			t.Errorf("got %s, %q", res.Cause, res.Output)
		}
	})
}

// stopAsks: a command that listens ends in its own way.
func stopAsks(t *testing.T, box fixture) {
	p := begin(t, box, sandbox.Cmd{Script: `trap 'echo asked; exit 3' TERM; echo up; while :; do sleep 0.05; done`})
	awaitOutput(t, p, "up\n")
	res, err := p.Stop(t.Context())
	if err != nil || res.Cause != sandbox.Exited || res.ExitCode != 3 || !strings.HasSuffix(res.Output.String(), "asked\n") {
		t.Errorf("got %s %d, %q, %v", res.Cause, res.ExitCode, res.Output, err)
	}
	if again, err := p.Stop(t.Context()); err != nil || again.Cause != res.Cause {
		t.Errorf("stopped again: %s, %v", again.Cause, err)
	}
}

// stopInsists: one that does not is ended after a grace.
func stopInsists(t *testing.T, box fixture) {
	p := begin(t, box, sandbox.Cmd{Script: `trap '' TERM; echo up; while :; do sleep 0.05; done`})
	awaitOutput(t, p, "up\n")
	begun := time.Now()
	res, err := p.Stop(t.Context())
	if took := time.Since(begun); err != nil || res.Cause != sandbox.Canceled || took > endWithin+3*time.Second {
		t.Errorf("got %s after %s, %v", res.Cause, took, err)
	}
}

// programMount shows the program attack, in a directory that every account may
// read.
func programMount(t *testing.T) []sandbox.Mount {
	t.Helper()
	dir := filepath.Join(Passable(t), "programs")
	write(t, filepath.Join(dir, "attack"), readFile(t, AttackProgram(t)), 0o755)
	return []sandbox.Mount{{Source: dir, Target: insideMount}}
}

func begin(t *testing.T, box fixture, cmd sandbox.Cmd) sandbox.Process {
	t.Helper()
	p, err := box.Spawn(t.Context(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Stop(context.Background()) })
	return p
}

// awaitOutput waits for what a process writes.
func awaitOutput(t *testing.T, p sandbox.Process, want string) {
	t.Helper()
	for range 200 {
		res := p.Result()
		if strings.HasSuffix(res.Output.String(), want) {
			if res.Cause != "" {
				t.Errorf("it runs, and its cause is %q", res.Cause)
			}
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatalf("waited for %q, got %q", want, p.Result().Output)
}

// served: a server is reached by later commands and outlives them.
func served(t *testing.T, box fixture) {
	p := begin(t, box, sandbox.Cmd{Script: server})
	awaitOutput(t, p, "serving\n")
	for range 3 {
		if res := box.exec(t, sandbox.Cmd{Script: `"$ATTACK" tcp 127.0.0.1:4000; sleep 60 & exit 0`}); !strings.Contains(res.Output.String(), "GOT") {
			t.Fatalf("the server is not reached: %s", res.Output)
		}
	}
	select {
	case <-p.Done():
		t.Fatalf("it ended with another command: %s", p.Result().Cause)
	default:
	}
	if n := box.processes(t); n > 2 { // the shell and the server
		t.Errorf("%d processes: those of ended commands live on", n)
	}
	if _, err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if res := box.exec(t, sandbox.Cmd{Script: `"$ATTACK" tcp 127.0.0.1:4000`}); strings.Contains(res.Output.String(), "GOT") {
		t.Error("it answers after its end")
	}
}

// background: what a living command has started lives as long as it does,
// however it was started, when other commands end.
func background(t *testing.T, box fixture) {
	p := begin(t, box, sandbox.Cmd{Script: `( setsid "$ATTACK" beat "$PWD/alive" >/dev/null 2>&1 & ) ; echo up; exec sleep 60`})
	awaitOutput(t, p, "up\n")
	time.Sleep(100 * time.Millisecond) // it begins to write
	file := filepath.Join(box.ws, "alive")
	for i := range 8 {
		box.exec(t, sandbox.Cmd{Script: "true"})
		if why := beats(file); why == "" {
			t.Fatalf("it was ended with another command, the %d. one", i+1)
		}
	}
	if _, err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if why := beats(file); why != "" {
		t.Error(why)
	}
}
