package queue

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pidFile is where redis-server writes its number.
const pidFile = "redis.pid"

// lock takes a lock that ends with the last process that has the file open.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// lockForServer takes the lock that the redis-server of dir inherits. When it
// is held although the directory is ours, its server has outlived a process
// that was killed: two of them would spoil the append-only file, so that one
// is ended first.
func lockForServer(ctx context.Context, dir string, log *slog.Logger) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for told := false; ; {
		f, err := lock(filepath.Join(dir, "redis.lock"))
		if err == nil {
			return f, nil
		}
		if !told {
			told = endOrphan(dir, log)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the embedded redis of a process that was killed (its number is in %s): %w", filepath.Join(dir, pidFile), err)
		case <-tick.C:
		}
	}
}

// endOrphan asks the server whose number is in dir to end. The number is that
// of the lock's holder: redis-server removes it when it ends in order.
func endOrphan(dir string, log *slog.Logger) bool {
	b, err := os.ReadFile(filepath.Join(dir, pidFile))
	if err != nil {
		return false // it has not written it yet, or is ending
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 1 {
		return false
	}
	log.Warn("an embedded redis was left behind by a process that was killed, ending it", "pid", pid)
	return syscall.Kill(pid, syscall.SIGTERM) == nil
}
