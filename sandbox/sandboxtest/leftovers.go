package sandboxtest

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/account"
)

// rounds is how many sandboxes are started and closed in a row; shortRounds
// with -short.
const (
	rounds      = 200
	shortRounds = 10
)

// census is what may be left of a sandbox.
type census struct {
	processes, mounts, groups, descriptors, goroutines, files int
}

// take counts. Processes are those of the run's account and the children of
// this one, dead ones among them; files are those in a directory.
func take(t *testing.T, uid int, dirs ...string) census {
	t.Helper()
	runtime.GC()
	c := census{goroutines: runtime.NumGoroutine()}
	procs, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, file := range procs {
		b, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		mine := uid != os.Getuid() && strings.Contains(string(b), fmt.Sprintf("\nUid:\t%d\t", uid))
		child := strings.Contains(string(b), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid()))
		if mine || child {
			c.processes++
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	c.mounts = strings.Count(string(mounts), "\n")
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/greenwright/" + strconv.Itoa(os.Getpid()) + "-*")
	more, _ := filepath.Glob("/sys/fs/cgroup/greenwright/" + strconv.Itoa(os.Getpid()) + "-*")
	c.groups = len(groups) + len(more)
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	c.descriptors = len(fds)
	for _, dir := range dirs {
		_ = filepath.WalkDir(dir, func(string, fs.DirEntry, error) error {
			c.files++
			return nil
		})
	}
	return c
}

// leftovers: many sandboxes in a row leave nothing.
func (s *suite) leftovers(t *testing.T) {
	n := rounds
	if testing.Short() {
		n = shortRounds
	}
	dir := Passable(t)
	s.ownAccount(t)
	uid := s.round(t, dir) // what is made once is made now
	before := take(t, uid, dir, s.state)
	begun := time.Now()
	for range n {
		s.round(t, dir)
	}
	took := time.Since(begun)
	var after census
	for range 40 { // what ends by itself, ends soon
		if after = take(t, uid, dir, s.state); after == before {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Logf("%d sandboxes in %s (%s each): %+v", n, took.Round(time.Millisecond), (took / time.Duration(n)).Round(100*time.Microsecond), after)
	if after.processes > before.processes || after.mounts > before.mounts || after.groups > before.groups ||
		after.descriptors > before.descriptors || after.goroutines > before.goroutines || after.files > before.files {
		t.Errorf("before: %+v; after %d sandboxes: %+v", before, n, after)
	}
}

// ownAccount keeps the first accounts, so that what is counted is not that of
// another driver's test, which takes the first ones as well.
func (s *suite) ownAccount(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for range 10 + os.Getpid()%40 {
		a, err := account.Claim(filepath.Join(s.state, "accounts"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Release() })
	}
}

// round starts a sandbox, leaves a daemon in it, and closes it.
func (s *suite) round(t *testing.T, dir string) (uid int) {
	t.Helper()
	ws := filepath.Join(dir, "workspace")
	if err := os.Mkdir(ws, 0o700); err != nil {
		t.Fatal(err)
	}
	box, err := s.driver.Start(t.Context(), sandbox.Spec{RunID: "round", Workspace: ws, Scratch: filepath.Join(dir, "scratch")})
	if err != nil {
		t.Fatal(err)
	}
	uid, _ = box.Owner()
	if res, err := box.Exec(t.Context(), sandbox.Cmd{Script: "setsid sleep 100 & mkdir -p ~/a/b /tmp/c; chmod 0 ~/a; echo ok"}); err != nil || !res.OK() {
		t.Errorf("%v, %s %d", err, res.Cause, res.ExitCode)
	}
	if err := box.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.RemoveAll(ws); err != nil {
		t.Error(err)
	}
	return uid
}
