package sandboxtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// RequireVar names what the tests must find on a machine, separated by
// spaces: bwrap, redis, git. What is named there fails a test when it is
// missing; anything else skips it.
const RequireVar = "GREENWRIGHT_TEST_REQUIRE"

// Missing ends a test because something is not there: as failed when it is
// required of this machine, else as skipped.
func Missing(t testing.TB, what string, err error) {
	t.Helper()
	if strings.Contains(os.Getenv(RequireVar), what) {
		t.Fatalf("%s is required on this machine: %v", what, err)
	}
	t.Skipf("this machine has no working %s: %v", what, err)
}

// Programs ends a test unless all of them can be run.
func Programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		_, err := exec.LookPath(name)
		if err == nil && name == "bwrap" {
			err = exec.Command(name, "--unshare-all", "--ro-bind", "/", "/", "true").Run()
		}
		if err != nil {
			Missing(t, strings.TrimSuffix(name, "-server"), err)
		}
	}
}

// Passable is a temporary directory that the account of a run may pass
// through, which t.TempDir is not when the test runs as root.
func Passable(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sandboxtest-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

// GuestVar and AttackVar name programs that are already built, for tests that
// run where there is no Go tool.
const (
	GuestVar  = "GREENWRIGHT_TEST_GUEST"
	AttackVar = "GREENWRIGHT_TEST_ATTACK"
)

// Guest builds the guest's program and gives its path, which every account can
// reach.
func Guest(t testing.TB) string {
	t.Helper()
	return built(t, GuestVar, "cmd/greenwright-guest")
}

// AttackProgram builds the program of the attempts and gives its path.
func AttackProgram(t testing.TB) string {
	t.Helper()
	return built(t, AttackVar, "sandbox/sandboxtest/attack")
}

// built is a static program out of a directory of the module.
func built(t testing.TB, ready, dir string) string {
	t.Helper()
	if file := os.Getenv(ready); file != "" {
		return file
	}
	file := filepath.Join(Passable(t), filepath.Base(dir))
	cmd := exec.Command("go", "build", "-o", file, "github.com/greenwright/greenwright/"+dir)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", dir, err, out)
	}
	return file
}

// Runsc is the gVisor program that `make setup` builds, or an empty string.
func Runsc() string {
	if named := os.Getenv("GREENWRIGHT_TEST_RUNSC"); named != "" {
		return named
	}
	dir, err := os.Getwd()
	for err == nil && dir != "/" {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			file := filepath.Join(dir, "bin", "runsc")
			if _, err := os.Stat(file); err == nil {
				return file
			}
			return ""
		}
		dir = filepath.Dir(dir)
	}
	return ""
}
