package queue

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/alicebob/miniredis/v2"

	"github.com/greenwright/greenwright/vcs"
)

// Embedded is a Redis that belongs to this process.
type Embedded struct {
	// URL is where it listens, for Open and the store.
	URL vcs.Secret
	// Durable is whether queued work outlives this process.
	Durable bool

	stop func() error
	done chan error
}

// Done yields once, when the server ended by itself or was closed.
func (e *Embedded) Done() <-chan error { return e.done }

// Close stops the server and waits for it.
func (e *Embedded) Close() error { return e.stop() }

// StartEmbedded starts a private redis-server with an append-only file in dir,
// or, where none is installed, an in-process Redis whose content does not
// outlive the process. Two processes cannot use one dir.
func StartEmbedded(ctx context.Context, dir string, log *slog.Logger) (*Embedded, error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return startInProcess(log)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("preparing the embedded redis: %w", err)
	}
	own, err := lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("the data directory %s is in use by another process: stop it, or set another data_dir: %w", filepath.Dir(dir), err)
	}
	e, err := startServer(ctx, binary, dir, own, log)
	if err != nil {
		_ = own.Close()
	}
	return e, err
}

func startInProcess(log *slog.Logger) (*Embedded, error) {
	srv := miniredis.NewMiniRedis()
	password := rand.Text() // on loopback every account of the machine could put jobs in
	srv.RequireAuth(password)
	if err := srv.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("starting the in-process redis: %w", err)
	}
	log.Warn("redis-server is not installed: queued jobs do not outlive this process (apt-get install redis-server, or set redis.url)")
	done := make(chan error, 1)
	return &Embedded{URL: vcs.Secret("redis://:" + password + "@" + srv.Addr()), done: done, stop: func() error {
		srv.Close()
		done <- nil
		return nil
	}}, nil
}
