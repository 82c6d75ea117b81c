package runsc_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/runsc"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

// TestAttacksOnPID1 shows that a command that reaches for the guest may at the
// worst end its own sandbox, and that the next command gets another.
func TestAttacksOnPID1(t *testing.T) {
	spec := newSpec(t)
	box := start(t, newDriver(t), spec)
	for _, signal := range []string{"KILL", "TERM", "QUIT", "SEGV", "STOP"} {
		t.Run(signal, func(t *testing.T) {
			began := time.Now()
			res, err := box.Exec(t.Context(), sandbox.Cmd{Script: "kill -" + signal + " 1; sleep 1; echo survived", Timeout: 3 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s after %v: %s", res.Cause, time.Since(began), res.Output)
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("it took %v", took)
			}
			if got := output(t, box, "echo again"); got != "again\n" {
				t.Errorf("the next command gave %q", got)
			}
		})
	}
}

// TestPID1IsClosed tries to look into the guest, whose memory holds the
// connection to the host.
func TestPID1IsClosed(t *testing.T) {
	box := start(t, newDriver(t), newSpec(t))
	for name, script := range map[string]string{
		"environment": "cat /proc/1/environ",
		"memory":      "head -c 1 /proc/1/mem",
		"maps":        "cat /proc/1/maps",
		"connection":  "readlink /proc/1/fd/0",
		"root":        "readlink /proc/1/root",
	} {
		own := strings.ReplaceAll(strings.ReplaceAll(script, "/1/", "/self/"), "head -c 1 /proc/self/mem", "test -r /proc/self/mem && echo readable")
		if got := output(t, box, own+"; true"); got == "" {
			t.Errorf("%s: the attempt does not even work on the process itself", name)
		}
		if got := output(t, box, "{ "+script+"; true; } 2>/dev/null"); got != "" {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestBrokenProgramIsNotAFailedCommand(t *testing.T) {
	binary := filepath.Join(sandboxtest.Passable(t), "runsc")
	text := "#!/bin/sh\n[ \"$1\" = --version ] && echo 'runsc version release-20260817.0' && exit 0\n" +
		"echo 'running container: creating container: cannot create gofer process: gofer: fork/exec /proc/self/exe: operation not permitted' >&2\nexit 128\n"
	if err := os.WriteFile(binary, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	driver, err := runsc.New(runsc.Config{Binary: binary, StateDir: sandboxtest.Passable(t), Guest: "/bin/true"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = driver.Probe(t.Context())
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "kernel.apparmor_restrict_unprivileged_userns") {
		t.Errorf("got %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(driver.Boxes(), "*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
