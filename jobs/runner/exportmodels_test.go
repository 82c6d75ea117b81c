package runner

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/greenwright/greenwright/agent"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
)

// FitLimits are the limits of a turn of a model, after what was used.
func FitLimits(set agent.Limits, c Choice, used journal.Spent) agent.Limits {
	s := &session{Runner: &Runner{cfg: Config{Limits: set}}, used: used}
	return s.limits(worker{choice: c})
}

// nowhere takes records.
type nowhere struct{}

func (nowhere) Append(context.Context, uint64, []byte) error { return nil }

// WaitForModel is what becomes of a job whose model's service fails with err.
func WaitForModel(ctx context.Context, set agent.Limits, ctl Control, used journal.Spent, err error) error {
	ctl.Journal = nowhere{}
	r := New(Config{Limits: set, Now: time.Now, Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	archive, openErr := journal.OpenArchive(ctx, "mem://")
	if openErr != nil {
		return openErr
	}
	defer func() { _ = archive.Close() }()
	r.cfg.Archive = archive
	s := r.newSession(jobs.Job{}, ctl)
	s.used = used
	return s.tryAgain(ctx, err)
}
