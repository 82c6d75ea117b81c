package runsc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/runsc"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
)

func itoa(n int) string { return strconv.Itoa(n) }

// newDriver is a driver that works here, or the end of the test.
func newDriver(t *testing.T) *runsc.Driver {
	t.Helper()
	driver, err := runsc.New(runsc.Config{Binary: sandboxtest.Runsc(), StateDir: sandboxtest.Passable(t), Guest: sandboxtest.Guest(t)})
	if err == nil {
		_, err = driver.Probe(t.Context())
	}
	if err != nil {
		sandboxtest.Missing(t, "runsc", err)
	}
	return driver
}

// newSpec is a Spec with directories of its own.
func newSpec(t *testing.T) sandbox.Spec {
	t.Helper()
	dir := sandboxtest.Passable(t)
	ws := filepath.Join(dir, "workspace")
	if err := os.Mkdir(ws, 0o700); err != nil {
		t.Fatal(err)
	}
	return sandbox.Spec{RunID: "test", Workspace: ws, Scratch: filepath.Join(dir, "scratch")}
}

func start(t *testing.T, driver sandbox.Driver, spec sandbox.Spec) sandbox.Sandbox {
	t.Helper()
	box, err := driver.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return box
}

func output(t *testing.T, box sandbox.Sandbox, script string) string {
	t.Helper()
	res, err := box.Exec(t.Context(), sandbox.Cmd{Script: script})
	if err != nil {
		t.Fatal(err)
	}
	if !res.OK() {
		t.Fatalf("%s: %s %d: %s", script, res.Cause, res.ExitCode, res.Output)
	}
	return res.Output.String()
}

func TestHostChangesAreSeen(t *testing.T) {
	spec := newSpec(t)
	box := start(t, newDriver(t), spec)
	uid, gid := box.Owner()
	file := filepath.Join(spec.Workspace, "file")
	for i := range 3 {
		want := strings.Repeat(itoa(i), i+1)
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(file, uid, gid); err != nil {
			t.Fatal(err)
		}
		if got := output(t, box, "ls; stat -c %s file; cat file"); got != fmt.Sprintf("file\n%d\n%s", i+1, want) {
			t.Errorf("round %d: the sandbox sees %q", i, got)
		}
		output(t, box, "echo back > other")
		if got, err := os.ReadFile(filepath.Join(spec.Workspace, "other")); err != nil || string(got) != "back\n" {
			t.Errorf("round %d: the host sees %q, %v", i, got, err)
		}
		if err := errors.Join(os.Remove(file), os.Remove(filepath.Join(spec.Workspace, "other"))); err != nil {
			t.Fatal(err)
		}
		if got := output(t, box, "ls"); got != "" {
			t.Errorf("round %d: what the host removed is still seen: %q", i, got)
		}
	}
}

// tree lists what is below a directory.
func tree(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		out = append(out, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// image is a root directory out of the host's own system.
func image(t *testing.T) string {
	t.Helper()
	dir := sandboxtest.Passable(t)
	for _, d := range []string{"etc", "home/agent", "usr", "opt/cache", "workspace", "tmp", "proc", "dev", "run/greenwright"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"passwd", "group", "hosts", "nsswitch.conf", "image-file"} {
		if err := os.WriteFile(filepath.Join(dir, "etc", f), []byte("of the image\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	busybox, err := exec.LookPath("busybox")
	if err == nil {
		err = exec.Command("cp", busybox, filepath.Join(dir, "usr/busybox")).Run()
	}
	if err != nil {
		sandboxtest.Missing(t, "busybox", err)
	}
	return dir
}

func TestImagesAreShownAndNotWritten(t *testing.T) {
	driver := newDriver(t)
	spec := newSpec(t)
	spec.Root = image(t)
	before := tree(t, spec.Root)
	spec.Mounts = []sandbox.Mount{{Source: "/usr/bin", Target: "/opt/cache"}, {Source: "/usr/bin", Target: "/added/here"}}
	box := start(t, driver, spec)
	for _, tc := range []struct{ script, want string }{
		{"cat /etc/image-file", "of the image\n"},
		{"grep -c ^agent: /etc/passwd", "1\n"},
		{"touch /etc/x /usr/x /x 2>/dev/null; ls / | grep -c '^x$'", "0\n"},
		{"touch /workspace/ok /home/agent/ok /tmp/ok && echo done", "done\n"},
		{"ls /opt/cache | grep -c '^env$'; ls /added/here | grep -c '^env$'", "1\n1\n"},
	} {
		res, err := box.Exec(t.Context(), sandbox.Cmd{Script: tc.script, Shell: []string{"/usr/busybox", "sh", "-c"}})
		if err != nil || res.Output.String() != tc.want {
			t.Errorf("%s: got %q, %v; want %q", tc.script, res.Output, err, tc.want)
		}
	}
	if after := tree(t, spec.Root); !slices.Equal(before, after) {
		t.Errorf("the image was %v and is %v", before, after)
	}
	spec = newSpec(t)
	spec.Root, spec.Mounts = image(t), []sandbox.Mount{{Source: "/usr/bin", Target: "/usr/lib/nowhere"}}
	if _, err := driver.Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "/usr/lib/nowhere") {
		t.Errorf("a mount that has no place in the image: got %v", err)
	}
}

func TestNothingIsLeft(t *testing.T) {
	driver := newDriver(t)
	fds := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := fds()
	for range 5 {
		spec := newSpec(t)
		box, err := driver.Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := box.Exec(t.Context(), sandbox.Cmd{Script: "setsid sleep 100 & echo $!"}); err != nil {
			t.Error(err)
		}
		if err := box.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(spec.Scratch); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the scratch directory is left: %v", err)
		}
	}
	if left := tree(t, driver.Boxes()); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	if after := fds(); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

// workerVar makes the test program a worker that starts a box and waits to be
// killed; its value is the state directory.
const workerVar = "GREENWRIGHT_TEST_RUNSC_WORKER"

func TestMain(m *testing.M) {
	if state := os.Getenv(workerVar); state != "" {
		if err := work(state); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

func work(state string) error {
	driver, err := runsc.New(runsc.Config{Binary: sandboxtest.Runsc(), StateDir: state, Guest: os.Getenv("GREENWRIGHT_TEST_GUEST_PROGRAM")})
	if err != nil {
		return err
	}
	dir := filepath.Join(state, "run")
	if err := errors.Join(os.Mkdir(dir, 0o711), os.Mkdir(filepath.Join(dir, "ws"), 0o700)); err != nil {
		return err
	}
	if _, err := driver.Start(context.Background(), sandbox.Spec{RunID: "w", Workspace: filepath.Join(dir, "ws"), Scratch: filepath.Join(dir, "scratch")}); err != nil {
		return err
	}
	fmt.Println("started")
	select {}
}

func TestBoxEndsWithItsWorkerAndIsSwept(t *testing.T) {
	newDriver(t) // works here
	state, program := sandboxtest.Passable(t), sandboxtest.Guest(t)
	worker := exec.Command(os.Args[0])
	worker.Env = append(os.Environ(), workerVar+"="+state, "GREENWRIGHT_TEST_GUEST_PROGRAM="+program)
	worker.Stderr = os.Stderr
	out, err := worker.StdoutPipe()
	if err == nil {
		err = worker.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 100)); err != nil || n == 0 {
		t.Fatalf("the worker did not start its box: %v", err)
	}
	driver, err := runsc.New(runsc.Config{Binary: sandboxtest.Runsc(), StateDir: state, Guest: program})
	if err != nil {
		t.Fatal(err)
	}
	boxes, err := filepath.Glob(filepath.Join(driver.Boxes(), "*"))
	if err != nil || len(boxes) != 1 {
		t.Fatalf("boxes %v, %v", boxes, err)
	}
	if err := driver.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if n := len(runsc.ProcessesOf(boxes[0])); n < 3 {
		t.Errorf("after a sweep beside the living worker %d processes run; want runsc, its sandbox and its file server", n)
	}
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = worker.Wait()
	deadline := time.Now().Add(5 * time.Second)
	for len(runsc.ProcessesOf(boxes[0])) > 0 && time.Now().Before(deadline) {
		<-time.After(10 * time.Millisecond)
	}
	if left := runsc.ProcessesOf(boxes[0]); len(left) > 0 {
		t.Errorf("processes %v outlive the worker", left)
	}
	if err := driver.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(boxes[0]); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the box's directory is left: %v", err)
	}
}
