package e2e_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/cli"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/sandbox/guest"
)

const (
	// asProgram makes the test binary be the program, so that it can be killed.
	asProgram = "GREENWRIGHT_E2E_PROGRAM"
	// dieAt makes the program kill itself at its n-th record: "12:before" has
	// not written it, "12:after" has, and has not done what follows.
	dieAt = "GREENWRIGHT_E2E_DIE_AT"
	// pace makes leases short, so that a test need not wait for half a minute:
	// milliseconds.
	pace = "GREENWRIGHT_E2E_LEASE_MS"
	// role is that of the program.
	role = "GREENWRIGHT_E2E_ROLE"
)

func TestMain(m *testing.M) {
	if guest.Asked(os.Args) {
		os.Exit(guest.Main())
	}
	switch {
	case os.Getenv(pace) != "":
		os.Exit(hurried())
	case os.Getenv(asProgram) != "":
		os.Exit(cli.Main(context.Background(), "test", os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// hurried is `serve` with short leases, and perhaps with a death of its own.
func hurried() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg, err := config.Load("")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ms, err := strconv.Atoi(os.Getenv(pace))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	lease := time.Duration(ms) * time.Millisecond
	opts := []wire.Option{wire.WithPace(runner.Pace{Lease: lease, Stop: lease / 4, Reconcile: lease / 4})}
	if at := os.Getenv(dieAt); at != "" {
		opts = append(opts, wire.WithJournals(mortal(at)))
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	opts = append(opts, injected()...)
	if err := wire.Serve(ctx, cfg, wire.Role(os.Getenv(role)), "test", log, nil, opts...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// mortal decorates journals so that the process dies at a record.
func mortal(at string) func(journal.Sink) journal.Sink {
	var n int64
	var when string
	if _, err := fmt.Sscanf(at, "%d:%s", &n, &when); err != nil {
		panic(err)
	}
	var count atomic.Int64
	return func(inner journal.Sink) journal.Sink {
		return sinkFunc(func(ctx context.Context, seq uint64, line []byte) error {
			mine := count.Add(1) == n
			if mine && when == "before" {
				die()
			}
			err := inner.Append(ctx, seq, line)
			if mine && err == nil {
				die()
			}
			return err
		})
	}
}

// die is what kill -9 does.
func die() {
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

type sinkFunc func(ctx context.Context, seq uint64, line []byte) error

func (f sinkFunc) Append(ctx context.Context, seq uint64, line []byte) error {
	return f(ctx, seq, line)
}
