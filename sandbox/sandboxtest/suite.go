package sandboxtest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
)

// hangGuard is far above what any case needs.
const hangGuard = 2 * time.Minute

// Run tries the driver; state is the directory that it keeps its own files in.
func Run(t *testing.T, driver sandbox.Driver, state string) {
	t.Helper()
	s := newSuite(t, driver, state)
	t.Run("Commands", s.commands)
	t.Run("Unable", s.unable)
	t.Run("Streams", s.streams)
	t.Run("Spawn", s.spawn)
	t.Run("Attempts", func(t *testing.T) { s.record(t, s.attempts(t, Attempts())) })
	t.Run("Gateway", s.gateway)
	t.Run("Registries", s.registries)
	t.Run("Limits", s.limits)
	t.Run("Lifecycle", s.lifecycle)
	t.Run("Leftovers", s.leftovers)
}

// RunMemory makes only the attempts to take too much memory: for a driver
// without the control groups that the others are made with.
func RunMemory(t *testing.T, driver sandbox.Driver, state string) {
	t.Helper()
	list := memory()
	for i := range list {
		list[i].Group = Resources
	}
	newSuite(t, driver, state).attempts(t, list)
}

func newSuite(t *testing.T, driver sandbox.Driver, state string) *suite {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangGuard)
	defer cancel()
	report, err := driver.Probe(ctx)
	if err != nil {
		t.Fatalf("probe: %v", err)
	}
	return &suite{driver: driver, state: state, report: report}
}

type suite struct {
	driver sandbox.Driver
	state  string
	report sandbox.Report
}

type fixture struct {
	sandbox.Sandbox
	ws, scratch string
}

func (s *suite) start(t *testing.T, change func(*sandbox.Spec)) fixture {
	t.Helper()
	dir := Passable(t)
	spec := sandbox.Spec{RunID: "test", Workspace: filepath.Join(dir, "workspace"), Scratch: filepath.Join(dir, "scratch")}
	if err := os.Mkdir(spec.Workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(&spec)
	}
	box, err := s.driver.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(context.Background()); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return fixture{box, spec.Workspace, spec.Scratch}
}

func (f fixture) exec(t *testing.T, cmd sandbox.Cmd) sandbox.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hangGuard)
	defer cancel()
	res, err := f.Exec(ctx, cmd)
	if err != nil {
		t.Fatalf("%q: %v", cmd.Script, err)
	}
	return res
}
