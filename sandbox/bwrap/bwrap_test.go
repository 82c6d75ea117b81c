package bwrap_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/bwrap"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

// required is set where a machine must have bubblewrap: there a missing
// sandbox fails the test instead of skipping it.
const required = "GREENWRIGHT_TEST_REQUIRE"

func TestConformance(t *testing.T) {
	driver, err := bwrap.New(bwrap.Config{StateDir: passable(t)})
	if err == nil {
		err = driver.Probe(t.Context())
	}
	if err != nil {
		if strings.Contains(os.Getenv(required), "bwrap") {
			t.Fatal(err)
		}
		t.Skipf("no bubblewrap sandbox on this machine: %v", err)
	}
	sandboxtest.Run(t, driver)
}

func TestMissingProgramIsNamed(t *testing.T) {
	_, err := bwrap.New(bwrap.Config{Binary: filepath.Join(t.TempDir(), "bwrap")})
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
		t.Errorf("got %v", err)
	}
}

func TestBrokenProgramIsNotAFailedCommand(t *testing.T) {
	dir := passable(t)
	binary := filepath.Join(dir, "bwrap")
	script := "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
	if err := os.WriteFile(binary, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	driver, err := bwrap.New(bwrap.Config{Binary: binary, StateDir: passable(t)})
	if err != nil {
		t.Fatal(err)
	}
	err = driver.Probe(context.Background())
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "kernel.apparmor_restrict_unprivileged_userns") {
		t.Fatalf("got %v", err)
	}
}

// passable is a temporary directory that a run's account may pass through.
func passable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "bwraptest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}
