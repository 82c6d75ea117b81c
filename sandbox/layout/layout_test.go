package layout_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/layout"
)

func TestEnvironment(t *testing.T) {
	t.Setenv("LAYOUT_TEST_TOKEN", "secret")
	spec := sandbox.Spec{Path: []string{"/opt/a", "/opt/b"}, Env: []string{"A=spec", "B=spec", "CI=0", "EMPTY=", "EQUALS=a=b"}}
	env := layout.Environment(spec, sandbox.Cmd{Env: []string{"A=cmd", "A=last", "NUL=a\x00PATH=/x", "N\x00=1", "none", "=x", ""}})
	seen := map[string]string{}
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if _, twice := seen[name]; twice || !ok || name == "" || strings.ContainsRune(kv, 0) {
			t.Errorf("%q: twice %v", kv, twice)
		}
		seen[name] = value
	}
	for name, want := range map[string]string{
		"A": "last", "B": "spec", "CI": "0", "EMPTY": "", "EQUALS": "a=b", "HOME": "/home/agent", "USER": "agent", "TMPDIR": "/tmp",
	} {
		if got, ok := seen[name]; got != want || !ok {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if !strings.HasPrefix(seen["PATH"], "/opt/a:/opt/b:") || !strings.HasSuffix(seen["PATH"], ":/bin") {
		t.Errorf("PATH is %q", seen["PATH"])
	}
	for _, name := range []string{"LAYOUT_TEST_TOKEN", "NUL", "none"} {
		if _, ok := seen[name]; ok {
			t.Errorf("%s is there", name)
		}
	}
	if got := layout.Environment(spec, sandbox.Cmd{Env: []string{"PATH=/only"}}); !slices.Contains(got, "PATH=/only") {
		t.Error("a command cannot set its PATH")
	}
}

func TestTopLevel(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"usr", "etc", "proc", "dev", "tmp", "run", "workspace", "sys", "home", "opt"} {
		must(t, os.Mkdir(filepath.Join(root, name), 0o700))
	}
	must(t, os.Symlink("usr/bin", filepath.Join(root, "bin")), os.Symlink("/elsewhere", filepath.Join(root, "tmp2")), os.WriteFile(filepath.Join(root, "init"), nil, 0o600))
	got, err := layout.TopLevel(root)
	must(t, err)
	want := []layout.Entry{{Name: "bin", Link: "usr/bin"}, {Name: "etc"}, {Name: "home"}, {Name: "init"}, {Name: "opt"}, {Name: "tmp2", Link: "/elsewhere"}, {Name: "usr"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, err := layout.TopLevel(filepath.Join(root, "none")); err == nil {
		t.Error("an image that is not there")
	}
}

func TestReachable(t *testing.T) {
	dir := passable(t)
	must(t, os.Mkdir(filepath.Join(dir, "in"), 0o711), os.WriteFile(filepath.Join(dir, "in", "x"), nil, 0o755), os.WriteFile(filepath.Join(dir, "in", "no"), nil, 0o700))
	for name, want := range map[string]bool{"in": true, "in/x": true, "in/no": false, "in/none": false} {
		if got := layout.Reachable(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	must(t, os.Chmod(dir, 0o700))
	if layout.Reachable(filepath.Join(dir, "in", "x")) {
		t.Error("through a closed directory")
	}
}

// hidden is a program that not every account can reach.
func hidden(t *testing.T, text string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	must(t, os.WriteFile(program, []byte(text), 0o700))
	return program
}

func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only a worker that is root copies its program")
	}
}

func copies(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestGuestProgram(t *testing.T) {
	dir := passable(t)
	reachable := filepath.Join(dir, "reachable")
	must(t, os.WriteFile(reachable, []byte("x"), 0o755))
	if got, err := layout.GuestProgram(filepath.Join(dir, "state"), reachable); err != nil || got != reachable {
		t.Errorf("one that all can reach: %q, %v", got, err)
	}
	if got, err := layout.GuestProgram(dir, filepath.Join(dir, "none")); err == nil {
		t.Errorf("one that is not there: %q", got)
	}
	if got, err := layout.GuestProgram(filepath.Join(dir, "state"), ""); err != nil || got == "" {
		t.Errorf("the running one: %q, %v", got, err)
	}
}

func TestGuestProgramIsCopied(t *testing.T) {
	asRoot(t)
	dir := filepath.Join(passable(t), "state")
	program := hidden(t, "one")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			path, err := layout.GuestProgram(dir, program)
			got, readErr := os.ReadFile(path)
			if err != nil || readErr != nil || string(got) != "one" || !layout.Reachable(path) {
				t.Errorf("%q holds %q: %v, %v", path, got, err, readErr)
			}
		})
	}
	all.Wait()
	if n := copies(t, dir); len(n) != 1 {
		t.Errorf("there are %q", n)
	}
}

// TestGuestProgramChanges: a new version is copied, also one of the same size
// with the same time, as builds that can be repeated make them; a copy that
// nobody holds goes, and one that a living process may still start stays.
func TestGuestProgramChanges(t *testing.T) {
	asRoot(t)
	dir := filepath.Join(passable(t), "state")
	program := hidden(t, "one")
	at := time.Unix(1, 0)
	must(t, os.Chtimes(program, at, at))
	first, err := layout.GuestProgram(dir, program)
	must(t, err)
	again, err := layout.GuestProgram(dir, program)
	if err != nil || again != first {
		t.Errorf("the same one was copied again: %q, %q, %v", first, again, err)
	}
	stale := filepath.Join(dir, "guest-of-a-dead-worker")
	must(t, os.WriteFile(stale, []byte("old"), 0o755))
	next := hidden(t, "two")
	must(t, os.Chtimes(next, at, at), os.Rename(next, program))
	second, err := layout.GuestProgram(dir, program)
	must(t, err)
	if got, err := os.ReadFile(second); err != nil || !bytes.Equal(got, []byte("two")) {
		t.Errorf("the copy holds %q, %v", got, err)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("a copy that nobody holds is still there (%v)", err)
	}
	if _, err := os.Stat(first); err != nil {
		t.Errorf("a copy that is held is gone: %v", err)
	}
}

func TestMadeUpNamesNobody(t *testing.T) {
	host, err := os.Hostname()
	must(t, err)
	for _, f := range layout.MadeUp() {
		if host != layout.Host && len(host) > 3 && strings.Contains(f.Text, host) {
			t.Errorf("%s names the host", f.Path)
		}
		if !strings.HasSuffix(f.Text, "\n") || !strings.HasPrefix(f.Path, "/etc/") {
			t.Errorf("%s: %q", f.Path, f.Text)
		}
	}
	if !strings.Contains(layout.MadeUp()[0].Text, "agent:x:1000:1000:") {
		t.Error("the account inside has no name")
	}
}
