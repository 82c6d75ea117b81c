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

func TestMissingProgramIsNamed(t *testing.T) {
	_, err := bwrap.New(bwrap.Config{Binary: filepath.Join(t.TempDir(), "bwrap")})
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "apt-get install bubblewrap") {
		t.Errorf("got %v", err)
	}
}

func TestBrokenProgramIsNotAFailedCommand(t *testing.T) {
	dir := sandboxtest.Passable(t)
	binary := filepath.Join(dir, "bwrap")
	script := "#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n"
	if err := os.WriteFile(binary, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	driver, err := bwrap.New(bwrap.Config{Binary: binary, StateDir: sandboxtest.Passable(t), Guest: sandboxtest.Guest(t)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = driver.Probe(context.Background())
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "kernel.apparmor_restrict_unprivileged_userns") {
		t.Fatalf("got %v", err)
	}
}
