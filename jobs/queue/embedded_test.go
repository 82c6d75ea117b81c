package queue_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/queue"
	"github.com/greenwright/greenwright/vcs"
)

// pidOf is the process of the redis-server in dir.
func pidOf(t *testing.T, dir string) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "redis.pid"))
	check(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	check(t, err)
	return pid
}

func TestEmbeddedSurvivesAKill(t *testing.T) {
	needRedis(t)
	dir := shortDir(t)
	first := embedded(t, dir)
	if !first.Durable {
		t.Error("a redis-server with an append-only file is not durable")
	}
	c := client(t, first.URL)
	const events, runs = 20, 5
	for i := range events {
		_, err := c.EnqueueEvent(ctx, event(fmt.Sprint(i)))
		check(t, err)
	}
	for i := range runs {
		_, err := c.EnqueueJob(ctx, job(fmt.Sprint(i)))
		check(t, err)
	}
	check(t, syscall.Kill(pidOf(t, dir), syscall.SIGKILL))
	if err := recv(t, "the death is told", first.Done()); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the death is told as %v", err)
	}
	check(t, first.Close())

	second := embedded(t, dir)
	c = client(t, second.URL)
	if d, err := c.Depth(ctx); err != nil || d != (queue.Depth{EventsWaiting: events, RunsWaiting: runs}) {
		t.Errorf("after the restart the depth is %+v, %v", d, err)
	}
	if duplicate, err := c.EnqueueEvent(ctx, event("0")); err != nil || !duplicate {
		t.Errorf("an event from before, again: duplicate %v, %v", duplicate, err)
	}
	check(t, second.Close())
	if err := recv(t, "the end is told", second.Done()); err != nil {
		t.Errorf("an orderly end is told as %v", err)
	}
}

func TestOrderlyEndIsNoDeath(t *testing.T) {
	for range 10 { // two goroutines wait for the end
		e := embedded(t, shortDir(t))
		check(t, e.Close())
		if err := recv(t, "the end is told", e.Done()); err != nil {
			t.Fatalf("an orderly end is told as %v", err)
		}
	}
}

func TestOneProcessPerDirectory(t *testing.T) {
	needRedis(t)
	dir := shortDir(t)
	first := embedded(t, dir)
	if _, err := queue.StartEmbedded(ctx, dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Fatalf("a second one started: %v", err)
	}
	check(t, client(t, first.URL).Ping(ctx))
	check(t, first.Close())
	check(t, client(t, embedded(t, dir).URL).Ping(ctx))
}

func TestOddPaths(t *testing.T) {
	for _, name := range []string{strings.Repeat("long", 40), "a b?c#d%41&e"} {
		dir := filepath.Join(shortDir(t), name)
		e := embedded(t, dir)
		check(t, client(t, e.URL).Ping(ctx))
		if _, err := os.Stat(filepath.Join(dir, "appendonlydir")); err != nil {
			t.Errorf("the append-only file is not in the directory: %v", err)
		}
		socket := strings.TrimPrefix(e.URL.Reveal(), "unix://")
		check(t, e.Close())
		if _, err := os.Stat(socket); err == nil {
			t.Errorf("socket %s is left behind", socket)
		}
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "greenwright-redis-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestStartThatFailsLeavesNothing(t *testing.T) {
	needRedis(t)
	dir := shortDir(t)
	check(t, os.WriteFile(filepath.Join(dir, "appendonlydir"), []byte("not a directory"), 0o600))
	if _, err := queue.StartEmbedded(ctx, dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "redis.log") {
		t.Fatalf("error is %v, want one that names the log", err)
	}
	check(t, os.Remove(filepath.Join(dir, "appendonlydir")))
	check(t, client(t, embedded(t, dir).URL).Ping(ctx)) // the directory is free again
}

func TestStartEndsWithItsContext(t *testing.T) {
	needRedis(t)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	before := time.Now()
	if e, err := queue.StartEmbedded(canceled, shortDir(t), slog.New(slog.DiscardHandler)); err == nil {
		_ = e.Close()
		t.Error("it started although its context has ended")
	}
	if took := time.Since(before); took > 5*time.Second {
		t.Errorf("it took %s to give up", took)
	}
}

func TestWithoutRedisServer(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out logged
	e, err := queue.StartEmbedded(ctx, t.TempDir(), out.log())
	check(t, err)
	if e.Durable || !strings.Contains(out.String(), "do not outlive this process") {
		t.Errorf("durable %v, log %s", e.Durable, out.String())
	}
	_, err = client(t, e.URL).EnqueueEvent(ctx, event("x"))
	check(t, err)
	check(t, e.Close())
	if err := recv(t, "the end is told", e.Done()); err != nil {
		t.Errorf("an orderly end is told as %v", err)
	}
}

// TestMain's process cannot die, so a child is the owner that is killed: the
// redis-server it leaves behind must not share its files with the next one.
func TestOwnerIsKilled(t *testing.T) {
	needRedis(t)
	if dir := os.Getenv("QUEUE_TEST_OWNER"); dir != "" {
		e, err := queue.StartEmbedded(ctx, dir, slog.New(slog.DiscardHandler))
		check(t, err)
		_, err = client(t, e.URL).EnqueueJob(ctx, job("a"))
		check(t, err)
		check(t, os.WriteFile(filepath.Join(dir, "ready"), nil, 0o600))
		<-time.After(time.Minute)
		return
	}
	dir := shortDir(t)
	owner := exec.Command(os.Args[0], "-test.run=^TestOwnerIsKilled$")
	owner.Env = append(os.Environ(), "QUEUE_TEST_OWNER="+dir)
	check(t, owner.Start())
	eventually(t, "the owner is ready", func() bool { _, err := os.Stat(filepath.Join(dir, "ready")); return err == nil })
	check(t, owner.Process.Kill())
	_ = owner.Wait()
	orphan := pidOf(t, dir)
	t.Cleanup(func() {
		if syscall.Kill(orphan, 0) == nil {
			_ = syscall.Kill(orphan, syscall.SIGKILL)
		}
	})

	e := embedded(t, dir)
	eventually(t, "the orphan has ended", func() bool { return syscall.Kill(orphan, 0) != nil || zombie(orphan) })
	if w, err := client(t, e.URL).JobWaiting(ctx, jobs.JobID("a")); err != nil || !w {
		t.Errorf("what the killed owner enqueued waits: %v, %v", w, err)
	}
}

// zombie reports a process that has ended and that nobody has waited for.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(b), ") Z ")
}

func TestBadURLDoesNotShowThePassword(t *testing.T) {
	for _, url := range []vcs.Secret{"redis://:s3cr%zzet@h:1", "redis://:s3cr/et@h:1", "redis://:s3cr et@h:1", "http://:s3cret@h"} {
		_, err := queue.Open(url)
		if !errors.Is(err, vcs.ErrInvalid) || strings.Contains(err.Error(), "s3cr") {
			t.Errorf("got %v", err)
		}
	}
}
