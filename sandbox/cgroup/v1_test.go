package cgroup_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/cgroup"
)

func open(t *testing.T) *cgroup.Controller {
	t.Helper()
	c, err := cgroup.Open(cgroup.Config{})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	if c.Mode() == cgroup.None {
		t.Skipf("SKIPPED, nothing about real control groups is tested: %s", c.Why())
	}
	return c
}

func make1(t *testing.T, c *cgroup.Controller, l sandbox.Limits, headroom int) *cgroup.Group {
	t.Helper()
	name := fmt.Sprintf("%d-test-%d", os.Getpid(), time.Now().UnixNano()) // as drivers name theirs, so that their tests let it live
	g, err := c.Make(name, l, headroom)
	if err != nil {
		t.Fatalf("Make: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := g.Remove(ctx); err != nil {
			t.Errorf("Remove: %v", err)
		}
		if left := groupsNamed(t, name); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	return g
}

// groupsNamed looks for directories of a name in all hierarchies.
func groupsNamed(t *testing.T, name string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == name {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// run starts a helper in the group and returns its output and how it ended.
func run(t *testing.T, g *cgroup.Group, cmd *exec.Cmd) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := g.Start(cmd); err != nil {
		t.Fatalf("Start: %v", err)
	}
	err := cmd.Wait()
	return out.String(), err
}

func TestStartPutsTheChildInside(t *testing.T) {
	c := open(t)
	g := make1(t, c, sandbox.Limits{CPUs: 1}, 0)
	cmd := self("membership")
	want := "uid 0\n"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 60163, Gid: 60163, NoSetGroups: false}}
		want = "uid 60163\n"
	}
	// /proc/self/exe is not readable for another account through a private directory.
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "echo uid $(id -u); cat /proc/self/cgroup"}
	out, err := run(t, g, cmd)
	if err != nil || (os.Getuid() == 0 && !strings.HasPrefix(out, want)) {
		t.Fatalf("helper: %v: %s", err, out)
	}
	inside := 0
	for line := range strings.Lines(out) {
		if strings.HasSuffix(strings.TrimSpace(line), "/greenwright/"+g.Name()) {
			inside++
		}
	}
	memory, pids, cpu := c.Enforces()
	hierarchies := 0
	for _, has := range []bool{memory, pids, cpu} {
		if has {
			hierarchies++
		}
	}
	if c.Mode() == cgroup.V2 {
		hierarchies = 1
	}
	if inside < hierarchies {
		t.Errorf("the child is in %d of %d groups:\n%s", inside, hierarchies, out)
	}
	// The control: without Start it would not be.
	plain, err := self("membership").Output()
	if err != nil || bytes.Contains(plain, []byte(g.Name())) {
		t.Errorf("a child started otherwise: %v:\n%s", err, plain)
	}
	assertNoThreadInside(t, g.Name())
}

// assertNoThreadInside looks at every thread of this process.
func assertNoThreadInside(t *testing.T, name string) {
	t.Helper()
	files, err := filepath.Glob("/proc/self/task/*/cgroup")
	if err != nil || len(files) == 0 {
		t.Fatalf("threads: %v, %v", files, err)
	}
	for _, f := range files {
		if content, err := os.ReadFile(f); err == nil && bytes.Contains(content, []byte(name)) {
			t.Errorf("thread %s is in the group:\n%s", f, content)
		}
	}
}

func TestStartLeavesNoThreadBehindOnError(t *testing.T) {
	g := make1(t, open(t), sandbox.Limits{}, 0)
	for range 20 {
		if err := g.Start(exec.Command("/nonexistent/program")); err == nil {
			t.Fatal("Start of a program that is not there: no error")
		}
	}
	assertNoThreadInside(t, g.Name())
}

// TestAThreadThatCannotGetBackEnds breaks the way back.
func TestAThreadThatCannotGetBackEnds(t *testing.T) {
	if c := open(t); c.Mode() != cgroup.V1 {
		t.Skip("SKIPPED: threads are moved in version 1 only")
	}
	files := &oneWay{}
	c, err := cgroup.Open(cgroup.Config{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	g := make1(t, c, sandbox.Limits{}, 0)
	files.closed.Store(true)
	cmd := self("stubborn")
	if err := g.Start(cmd); !errors.Is(err, syscall.EIO) {
		t.Errorf("Start: %v, want EIO", err)
	}
	if cmd.ProcessState == nil {
		t.Error("the command was not ended")
	}
	for range 200 { // the thread ends a moment after Start returns
		if g.Usage().Processes == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	assertNoThreadInside(t, g.Name())
}

// oneWay is the kernel's file system, but nothing leaves a group once closed.
type oneWay struct{ closed atomic.Bool }

func (o *oneWay) ReadFile(path string) ([]byte, error) { return os.ReadFile(path) }
func (o *oneWay) Mkdir(path string) error              { return os.Mkdir(path, 0o755) }
func (o *oneWay) Rmdir(path string) error              { return syscall.Rmdir(path) }

func (o *oneWay) WriteFile(path, data string) error {
	if o.closed.Load() && filepath.Base(path) == "tasks" && !strings.Contains(path, "/greenwright/") {
		return syscall.EIO
	}
	return os.WriteFile(path, []byte(data), 0)
}

func (o *oneWay) Dirs(path string) ([]string, error) {
	entries, err := os.ReadDir(path)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func TestStartAtTheSameTime(t *testing.T) {
	g := make1(t, open(t), sandbox.Limits{}, 0)
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			out, err := run(t, g, self("membership"))
			if err != nil || !strings.Contains(out, g.Name()) {
				t.Errorf("helper: %v: %s", err, out)
			}
		})
	}
	wg.Wait()
	assertNoThreadInside(t, g.Name())
}

func TestMemoryLimitEndsAHog(t *testing.T) {
	c := open(t)
	if memory, _, _ := c.Enforces(); !memory {
		t.Skipf("SKIPPED: no memory controller: %s", c.Why())
	}
	roomy := make1(t, c, sandbox.Limits{MemoryBytes: 2 << 30}, 0)
	if out, err := run(t, roomy, self("hog")); err != nil || out != "kept 512\n" {
		t.Fatalf("with room for it: %v: %s", err, out)
	}
	if u := roomy.Usage(); u.OOMKills != 0 || u.PeakMemory < 512<<20 {
		t.Errorf("with room for it: %+v, want 512 MiB at the peak", u)
	}
	g := make1(t, c, sandbox.Limits{MemoryBytes: 64 << 20}, 0)
	out, err := run(t, g, self("hog"))
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("hog ended with %v: %s", err, out)
	}
	u := g.Usage()
	if u.OOMKills != 1 || u.PeakMemory == 0 || u.PeakMemory > 65<<20 { // the kernel charges some pages ahead
		t.Errorf("usage %+v, want one kill and a peak of 64 MiB", u)
	}
}

func TestProcessLimitStopsABomb(t *testing.T) {
	c := open(t)
	if _, pids, _ := c.Enforces(); !pids {
		t.Skipf("SKIPPED: no pids controller: %s", c.Why())
	}
	for _, tt := range []struct{ limit, low, high int }{{1000, 150, 150}, {50, 20, 70}} {
		g := make1(t, c, sandbox.Limits{Processes: tt.limit}, 20)
		out, err := run(t, g, self("bomb", "BOMB=150"))
		n, _ := strconv.Atoi(strings.TrimSpace(out))
		if err != nil || n < tt.low || n > tt.high {
			t.Errorf("limit %d: %d processes, %v; want %d to %d", tt.limit, n, err, tt.low, tt.high)
		}
		if u := g.Usage(); u.Processes != n {
			t.Errorf("usage says %d processes, %d were left running", u.Processes, n)
		}
		if err := g.Kill(t.Context()); err != nil {
			t.Error(err)
		}
		assertEmpty(t, g)
		if out, err := run(t, g, self("membership")); err != nil {
			t.Errorf("after Kill the group takes no command: %v: %s", err, out)
		}
	}
}

func TestCPUQuotaThrottles(t *testing.T) {
	c := open(t)
	if _, _, cpu := c.Enforces(); !cpu {
		t.Skipf("SKIPPED: no cpu controller: %s", c.Why())
	}
	used := func(cpus float64) int {
		g := make1(t, c, sandbox.Limits{CPUs: cpus}, 0)
		out, err := run(t, g, self("spin"))
		ms, aerr := strconv.Atoi(strings.TrimSpace(out))
		if err != nil || aerr != nil {
			t.Fatalf("helper: %v: %s", err, out)
		}
		t.Logf("CPUs %v: %d ms in a second; the group counts %v", cpus, ms, g.Usage().CPU)
		return ms
	}
	free, held := used(0), used(0.2)
	if held > 320 || held > free*3/4 {
		t.Errorf("with a fifth of a processor %d ms in a second, without limit %d", held, free)
	}
}

func TestKillBeatsAFountain(t *testing.T) {
	g := make1(t, open(t), sandbox.Limits{Processes: 200}, 0)
	cmd := self("fountain")
	// Its children must be fountains too.
	cmd.Env = append(cmd.Env, "PATH=/bin")
	startReady(t, g, cmd)
	time.Sleep(300 * time.Millisecond)
	if n := g.Usage().Processes; n < 20 {
		t.Fatalf("only %d processes: this would prove nothing", n)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	began := time.Now()
	if err := g.Kill(ctx); err != nil {
		t.Fatalf("Kill: %v", err)
	}
	t.Logf("gone after %v", time.Since(began))
	_ = cmd.Wait()
	assertEmpty(t, g)
}

// assertEmpty allows for the time that init takes to wait for the orphans.
func assertEmpty(t *testing.T, g *cgroup.Group) {
	t.Helper()
	for range 500 {
		if g.Usage().Processes == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d processes left", g.Usage().Processes)
}

func startReady(t *testing.T, g *cgroup.Group, cmd *exec.Cmd) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	if err := g.Start(cmd); err != nil {
		t.Fatalf("Start: %v", err)
	}
	_ = w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	if line != "ready\n" {
		t.Fatalf("helper says %q, %v", line, err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_, _ = io.Copy(io.Discard, r)
		_ = r.Close()
	})
}

func TestAddAndRemove(t *testing.T) {
	g := make1(t, open(t), sandbox.Limits{}, 0)
	other := make1(t, open(t), sandbox.Limits{}, 0)
	startReady(t, other, self("stubborn"))
	cmd := self("stubborn")
	startReady(t, other, cmd)
	if err := g.Add(cmd.Process.Pid); err != nil {
		t.Fatalf("Add: %v", err)
	}
	before := other.Usage().Processes
	if g.Usage().Processes == 0 {
		t.Error("the group is empty after Add")
	}
	for range 2 {
		if err := g.Remove(t.Context()); err != nil {
			t.Fatalf("Remove: %v", err)
		}
	}
	if left := groupsNamed(t, g.Name()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if after := other.Usage().Processes; after != before || after == 0 {
		t.Errorf("the other group had %d processes and has %d", before, after)
	}
	if g.Usage() != (cgroup.Usage{}) {
		t.Errorf("usage after Remove: %+v", g.Usage())
	}
}

func TestSweepTakesTheDead(t *testing.T) {
	c := open(t)
	dead, living := make1(t, c, sandbox.Limits{}, 0), make1(t, c, sandbox.Limits{}, 0)
	startReady(t, dead, self("stubborn"))
	asked := map[string]bool{}
	err := c.Sweep(t.Context(), func(name string) bool {
		asked[name] = true
		return name != dead.Name()
	})
	if err != nil {
		t.Fatalf("Sweep: %v", err)
	}
	if !asked[dead.Name()] || !asked[living.Name()] {
		t.Errorf("asked about %v only", asked)
	}
	if len(groupsNamed(t, dead.Name())) > 0 || len(groupsNamed(t, living.Name())) == 0 {
		t.Errorf("dead: %v, living: %v", groupsNamed(t, dead.Name()), groupsNamed(t, living.Name()))
	}
}

func TestKillEndsWithItsContext(t *testing.T) {
	g := make1(t, open(t), sandbox.Limits{}, 0)
	startReady(t, g, self("stubborn"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	// The signal is sent, but the end is not waited for; both answers are right.
	if err := g.Kill(ctx); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("Kill: %v", err)
	}
}

func TestOpenAtTheSameTime(t *testing.T) {
	want := open(t).Mode()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 20 {
				c, err := cgroup.Open(cgroup.Config{})
				if err != nil || c.Mode() != want {
					t.Errorf("%v, mode %s instead of %s: %s", err, c.Mode(), want, c.Why())
				}
			}
		})
	}
	wg.Wait()
}

func TestMakeRefusesNames(t *testing.T) {
	c := open(t)
	for _, name := range []string{"", ".", "..", "a/b", "../x", "memory.max", "-x", "probe-1", strings.Repeat("a", 64), "a\n"} {
		if _, err := c.Make(name, sandbox.Limits{}, 0); err == nil {
			t.Errorf("Make(%q): no error", name)
		}
	}
	g := make1(t, c, sandbox.Limits{}, 0)
	if _, err := c.Make(g.Name(), sandbox.Limits{}, 0); err == nil {
		t.Error("Make twice: no error")
	}
	if len(groupsNamed(t, g.Name())) == 0 {
		t.Error("the second Make took the first one's group away")
	}
}

// BenchmarkStart compares what Start costs with a plain start.
func BenchmarkStart(b *testing.B) {
	c, err := cgroup.Open(cgroup.Config{})
	if err != nil || c.Mode() == cgroup.None {
		b.Skipf("%v %s", err, c.Why())
	}
	g, err := c.Make(fmt.Sprintf("%d-bench-%d", os.Getpid(), time.Now().UnixNano()), sandbox.Limits{}, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = g.Remove(context.Background()) }()
	for name, start := range map[string]func(*exec.Cmd) error{"group": g.Start, "plain": (*exec.Cmd).Start} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command("/bin/true")
				if err := start(cmd); err != nil {
					b.Fatal(err)
				}
				_ = cmd.Wait()
			}
		})
	}
}
