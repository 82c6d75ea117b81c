package store_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/sandbox/sandboxtest"
	"github.com/greenwright/greenwright/vcs"
)

var (
	ctx    = context.Background()
	thread = vcs.Thread{Repo: vcs.RepoRef{Forge: vcs.GitHub, Owner: "acme", Name: "widgets"}, Number: 7}
	person = vcs.Actor{ID: 2, Login: "somebody", Kind: vcs.KindUser}
	start  = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
)

// server is one Redis for a test.
type server struct {
	url vcs.Secret
	// pass lets time pass for the server.
	pass func(time.Duration)
	// away ends it for good.
	away func()
}

// onBoth runs a test on miniredis and on a real server, each fresh.
func onBoth(t *testing.T, test func(t *testing.T, srv server)) {
	t.Helper()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, onMini(t))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, realRedis(t))
	})
}

// onMini is a miniredis, which alone lets days pass.
func onMini(t *testing.T) server {
	t.Helper()
	srv := miniredis.RunT(t)
	at := time.Now()
	srv.SetTime(at)
	return server{url: vcs.Secret("redis://" + srv.Addr()), away: srv.Close, pass: func(d time.Duration) {
		at = at.Add(d)
		srv.SetTime(at)
		srv.FastForward(d)
	}}
}

// realRedis starts a private redis-server, or skips loudly.
func realRedis(t testing.TB, args ...string) server {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		sandboxtest.Missing(t, "redis", err)
	}
	dir, err := os.MkdirTemp("", "redis-test-") // a test's own directory can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	cmd := exec.Command(binary, "--port", "0", "--unixsocket", socket, "--dir", dir, "--save", "", "--appendonly", "no", "--logfile", filepath.Join(dir, "log"))
	cmd.Args = append(cmd.Args, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	away := func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(func() {
		away()
		_ = os.RemoveAll(dir)
	})
	eventually(t, "redis-server answers", func() bool {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return server{url: vcs.Secret("unix://" + socket), away: away, pass: func(d time.Duration) {
		if d > time.Second {
			t.Fatalf("a real server cannot let %s pass", d)
		}
		<-time.After(d)
	}}
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !is(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func open(t testing.TB, srv server, now func() time.Time) *store.Store {
	t.Helper()
	if now == nil {
		now = time.Now
	}
	s, err := store.Open(srv.url, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func job(id string) jobs.Job {
	return jobs.Job{ID: jobs.JobID(id), Kind: jobs.KindFix, Thread: thread, Command: jobs.Command{Verb: jobs.VerbFix, Text: "a < b & \u2028"}, Requester: person, Permission: vcs.PermissionWrite, CreatedAt: start}
}

// must is for what has to go well.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
