package wire

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/command"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/trigger"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/redact"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
)

// Logger makes the program's log, on w.
func Logger(cfg config.Log, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		return nil, fmt.Errorf("log.level: %q: want debug, info, warn or error", cfg.Level)
	}
	opts := &slog.HandlerOptions{Level: level}
	if cfg.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return slog.New(slog.NewTextHandler(w, opts)), nil
}

// dirs are the parts of the data directory.
type dirs struct{ mirrors, runs, artifacts, redis, sandbox, images string }

// makeDirs makes them. A run's account passes through the data directory to
// its own part; everything else is closed to it.
func makeDirs(data string) (dirs, error) {
	d := dirs{
		mirrors: filepath.Join(data, "mirrors"), runs: filepath.Join(data, "runs"), artifacts: filepath.Join(data, "artifacts"),
		redis: filepath.Join(data, "redis"), sandbox: filepath.Join(data, "sandbox"), images: filepath.Join(data, "images"),
	}
	const pass, closed = 0o711, 0o700
	for _, part := range []struct {
		dir  string
		mode os.FileMode
	}{{data, pass}, {d.mirrors, closed}, {d.runs, pass}, {d.artifacts, closed}, {d.redis, closed}, {d.sandbox, pass}, {d.images, pass}} {
		if err := makeDir(part.dir, part.mode); err != nil {
			return d, fmt.Errorf("making the data directory (set data_dir to one that can be written): %w", err)
		}
	}
	return d, nil
}

// makeDir makes a directory with the mode, whatever the umask says; one that
// is there keeps its own.
func makeDir(dir string, mode os.FileMode) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return err
	}
	return os.Chmod(dir, mode)
}

// rules are those of a forge for an account of ours; zero while unknown.
func rules(cfg config.Config, self vcs.Actor) trigger.Rules {
	login := strings.TrimSuffix(self.Login, "[bot]") // people mention an App without the suffix
	return trigger.Rules{
		Self: self, Parser: command.Parser{Prefix: cfg.CommandPrefix, Login: login}, Policy: cfg.Policy, BranchPrefix: cfg.BranchPrefix,
	}
}

// makeRunner joins what a run needs.
func makeRunner(cfg config.Config, d dirs, archive *journal.Archive, driver sandbox.Driver, forges map[vcs.ForgeName]vcs.Forge, m *models, version string, log *slog.Logger, now func() time.Time) (*runner.Runner, error) {
	mirrors, err := git.New(git.Config{Dir: d.mirrors}, log)
	if err != nil {
		return nil, fmt.Errorf("opening the mirrors: %w", err)
	}
	box, err := boxSpec(cfg, log)
	if err != nil {
		return nil, err
	}
	kept, err := redact.New(secrets(cfg, slog.New(slog.DiscardHandler)), redact.WithoutShapes())
	if err != nil {
		return nil, fmt.Errorf("preparing the redaction of journals: %w", err)
	}
	store, err := openImages(d, cfg.Sandbox, log)
	if err != nil {
		return nil, err
	}
	return runner.New(runner.Config{
		Forges: forges, Git: mirrors, Sandbox: driver,
		Box: box, Egress: cfg.Sandbox.Egress, Resolver: cfg.Sandbox.Resolver, Images: store, Image: cfg.Sandbox.Image, AllowedImages: cfg.Sandbox.Images,
		Models: m, Model: cfg.Models.Default, Roles: runner.RoleModels(cfg.Models.Roles), Policy: cfg.Policy, Limits: cfg.Limits.Agent(), Ceilings: cfg.Budgets.Ceilings(),
		RunsDir: d.runs, Redact: kept.Bytes, Archive: archive, BranchPrefix: cfg.BranchPrefix, Version: version, Log: log, Now: now,
	}), nil
}
