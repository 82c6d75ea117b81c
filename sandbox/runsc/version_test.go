package runsc_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/runsc"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

// script makes a program that only knows its version.
func script(t *testing.T, says string) string {
	t.Helper()
	file := filepath.Join(sandboxtest.Passable(t), "runsc")
	if err := os.WriteFile(file, []byte("#!/bin/sh\necho '"+says+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestVersions(t *testing.T) {
	for _, tc := range []struct {
		says string
		want int
	}{
		{"runsc version release-20260817.0", 20260817},
		{"runsc version release-20260817.0-12-gabcdef", 20260817},
		{"runsc version 0.0~20221219.0", 20221219},
		{"runsc version VERSION_MISSING", 0},
		{"runsc version release-2026081799999", 0},
		{"", 0},
	} {
		got, err := runsc.BuiltOn(script(t, tc.says))
		if got != tc.want || (err == nil) != (tc.want != 0) {
			t.Errorf("%q: got %d, %v; want %d", tc.says, got, err, tc.want)
		}
	}
}

func TestPinnedIsRecognised(t *testing.T) {
	file := sandboxtest.Runsc()
	if file == "" {
		sandboxtest.Missing(t, "runsc", errors.New("not built"))
	}
	day, err := runsc.BuiltOn(file)
	if err != nil || !strings.Contains(runsc.Pinned, "-"+strings.TrimSpace(itoa(day))) {
		t.Errorf("got %d, %v; want that of %s", day, err, runsc.Pinned)
	}
}

func TestUnusableProgramsAreNamed(t *testing.T) {
	for name, tc := range map[string]struct{ binary, want string }{
		"missing": {filepath.Join(t.TempDir(), "runsc"), "is not installed"},
		"debian":  {script(t, "runsc version 0.0~20221219.0"), "too old"},
		"other":   {script(t, "hello"), "does not say"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := runsc.New(runsc.Config{Binary: tc.binary, StateDir: t.TempDir()})
			if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "make setup") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRemedies(t *testing.T) {
	for said, want := range map[string]string{
		"gofer: fork/exec /proc/self/exe: operation not permitted":    "kernel.apparmor_restrict_unprivileged_userns",
		"newuidmap failed: exec: \"newuidmap\": executable not found": "go install",
		"open config.json: permission denied":                         "data_dir",
	} {
		if got := runsc.Remedy(said); !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want something about %q", said, got, want)
		}
	}
	if got := runsc.Remedy("exit 3"); got != "" {
		t.Errorf("got %q for what has no remedy", got)
	}
}
