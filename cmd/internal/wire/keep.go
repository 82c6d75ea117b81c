package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/store"
	"github.com/greenwright/greenwright/vcs/git"
)

// archive is the configured archive, closed once.
type archive struct {
	*journal.Archive
	place string
	log   *slog.Logger
}

func openArchive(ctx context.Context, cfg config.Config, log *slog.Logger) (*archive, error) {
	place := cfg.ArtifactsPlace()
	a, err := journal.OpenArchive(ctx, place)
	if err != nil {
		return nil, fmt.Errorf("%w (check artifacts, GREENWRIGHT_ARTIFACTS)", err)
	}
	return &archive{Archive: a, place: place, log: log}, nil
}

func (a *archive) close() {
	if err := a.Close(); err != nil {
		a.log.Warn("the archive was not closed cleanly", "error", err)
	}
}

// keepFile puts a journal that was written to a file into the archive, unless
// that is where the file is. A run that has ended early is worth no less.
func (a *archive) keepFile(ctx context.Context, path string) error {
	run := filepath.Dir(path)
	if path == "" || filepath.Dir(run) == filepath.Clean(a.place) {
		return nil
	}
	records, err := journal.LoadFile(path)
	if err != nil || len(records) == 0 {
		return err
	}
	lines, err := journal.Lines(records)
	if err != nil {
		return err
	}
	return a.Put(context.WithoutCancel(ctx), jobs.RunID(filepath.Base(run)), lines)
}

// Pruned is what went for the sake of retention, or would go.
type Pruned struct {
	Runs    []journal.Doom     `json:"runs"`
	Mirrors []git.StoredMirror `json:"mirrors"`
}

// Bytes is how much that is.
func (p Pruned) Bytes() int64 {
	var n int64
	for _, d := range p.Runs {
		n += d.Bytes
	}
	for _, m := range p.Mirrors {
		n += m.Bytes
	}
	return n
}

// pruning is what a round of pruning needs.
type pruning struct {
	archive *archive
	mirrors string // directory
	rules   config.Retention
	live    func(jobs.RunID) bool // nil: only what the journals say
	dry     bool
	log     *slog.Logger
}

// do goes round once. What went is given after an error as well.
func (p pruning) do(ctx context.Context, now time.Time) (Pruned, error) {
	out := Pruned{Runs: []journal.Doom{}, Mirrors: []git.StoredMirror{}}
	plan, err := p.archive.Doomed(ctx, now, p.rules.Rules(), p.live)
	if err == nil && !p.dry {
		plan, err = p.archive.Discard(ctx, plan, p.live)
	}
	out.Runs = append(out.Runs, plan...)
	if err != nil {
		return out, fmt.Errorf("pruning runs: %w", err)
	}
	mirrors, err := git.New(git.Config{Dir: p.mirrors}, p.log)
	if err != nil {
		return out, err
	}
	var before time.Time
	if age := time.Duration(p.rules.Mirrors); age > 0 {
		before = now.Add(-age)
	}
	gone, err := mirrors.PruneUnused(ctx, before, p.dry)
	out.Mirrors = append(out.Mirrors, gone...)
	if err != nil {
		return out, fmt.Errorf("pruning mirrors: %w", err)
	}
	return out, nil
}

// Prune removes what the retention rules say; a dry run only says what would
// go. Where a Redis is configured, it is asked which runs are live.
func Prune(ctx context.Context, cfg config.Config, dry bool, log *slog.Logger) (Pruned, error) {
	d, err := makeDirs(cfg.DataDir)
	if err != nil {
		return Pruned{}, err
	}
	a, err := openArchive(ctx, cfg, log)
	if err != nil {
		return Pruned{}, err
	}
	defer a.close()
	p := pruning{archive: a, mirrors: d.mirrors, rules: cfg.Retention, dry: dry, log: log}
	if cfg.Redis.URL != "" {
		store.LogTo(log)
		st, err := store.Open(cfg.Redis.URL, time.Now)
		if err != nil {
			return Pruned{}, err
		}
		defer func() { _ = st.Close() }()
		if p.live, err = liveRuns(ctx, st, a); err != nil {
			return Pruned{}, err
		}
	}
	return p.do(ctx, time.Now())
}

// liveRuns tells which runs are live now.
func liveRuns(ctx context.Context, st *store.Store, a *archive) (func(jobs.RunID) bool, error) {
	list, err := st.Live(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking which runs are live: %w", err)
	}
	live := make(map[jobs.RunID]bool, len(list))
	for _, rec := range list {
		live[rec.Run] = true
		for run, back := rec.Job.Continues, 0; run != "" && back < runner.MaxBefore; back++ { // it stands on their files
			live[run] = true
			run = continues(ctx, a, run)
		}
	}
	return func(run jobs.RunID) bool { return live[run] }, nil
}

// continues is the run that another went on from; empty for none, and for what
// cannot be read.
func continues(ctx context.Context, a *archive, run jobs.RunID) jobs.RunID {
	records, err := a.Load(ctx, run)
	if err != nil || len(records) == 0 {
		return ""
	}
	report, err := journal.Fold(records[:1])
	if err != nil {
		return ""
	}
	return report.Started.Job.Continues
}

// prune goes round once. Without an answer to which runs are live nothing goes.
func (s *server) prune(ctx context.Context) error {
	live, err := liveRuns(ctx, s.store, s.archive)
	if err != nil {
		return err
	}
	p := pruning{archive: s.archive, mirrors: s.dirs.mirrors, rules: s.cfg.Retention, live: live, log: s.log}
	gone, err := p.do(ctx, time.Now())
	if n := len(gone.Runs) + len(gone.Mirrors); n > 0 {
		s.log.Info("pruned", "runs", len(gone.Runs), "mirrors", len(gone.Mirrors), "bytes", gone.Bytes())
	}
	return err
}

// Pruning begins a little after the start, so that a restart is not slowed by
// it, and goes on every hour: nothing is kept in hours.
const (
	firstPruning = 5 * time.Minute
	nextPruning  = time.Hour
)

// keepPruned prunes until ctx ends.
func (s *server) keepPruned(ctx context.Context) {
	timer := time.NewTimer(firstPruning)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		if err := s.prune(ctx); err != nil && !errors.Is(err, context.Canceled) {
			s.log.Warn("what is too old could not be pruned", "error", err)
		}
		timer.Reset(nextPruning)
	}
}

// checkArtifacts looks at the bucket.
func checkArtifacts(ctx context.Context, cfg config.Config, log *slog.Logger) []Finding {
	a, err := openArchive(ctx, cfg, log)
	if err == nil {
		defer a.close()
		err = a.Check(ctx)
	}
	if err != nil {
		return found("artifacts", Failure, "check artifacts (GREENWRIGHT_ARTIFACTS), the credentials in the environment and the network", "%s", err)
	}
	return found("artifacts", OK, "", "%s", a.place)
}
