package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/jobs/trusted"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/layout"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
	"github.com/greenwright/greenwright/vcs/local"
)

// replayRoom is a sandbox with the files of a run, as they were before a step.
type replayRoom struct {
	dir   string
	box   sandbox.Sandbox
	ws    *git.Workspace
	snaps *git.Snapshots
	side  *trusted.Side
	undo  []func(context.Context) error
}

// close undoes everything, the latest first.
func (room *replayRoom) close(ctx context.Context) error {
	var faults []error
	for i := len(room.undo) - 1; i >= 0; i-- {
		faults = append(faults, room.undo[i](context.WithoutCancel(ctx)))
	}
	return errors.Join(faults...)
}

func (room *replayRoom) later(undo func(context.Context) error) { room.undo = append(room.undo, undo) }

// openReplay makes the room. After an error there is nothing to close.
func (r *Runs) openReplay(ctx context.Context, p Played, opts ReplayOptions, log *slog.Logger) (*replayRoom, error) {
	room := &replayRoom{}
	err := r.fillReplay(ctx, room, p, opts, log)
	if err != nil {
		return nil, errors.Join(err, room.close(ctx))
	}
	return room, nil
}

func (r *Runs) fillReplay(ctx context.Context, room *replayRoom, p Played, opts ReplayOptions, log *slog.Logger) error {
	d, err := makeDirs(r.cfg.DataDir)
	if err != nil {
		return err
	}
	mirror, err := replayMirror(ctx, d, p, opts.Repo, log)
	if err != nil {
		return err
	}
	cfg := r.cfg
	cfg.Sandbox.Image = p.image // none, where the run had none
	if p.job.Thread.Repo.Forge == vcs.Local {
		modules := hostModules(ctx)
		places, err := makeReachable(d.sandbox, modules)
		if err != nil {
			return err
		}
		room.later(func(context.Context) error { leavePlaces(places); return nil })
		cfg.Sandbox = mountModules(cfg.Sandbox, modules, places, opts.Repo, opts.Say)
	}
	if err := room.start(ctx, cfg, d, log); err != nil {
		return err
	}
	uid, gid := room.box.Owner()
	if room.ws, err = mirror.Checkout(ctx, p.base, filepath.Join(room.dir, "workspace"), git.CheckoutOptions{UID: uid, GID: gid}); err != nil {
		return fmt.Errorf("preparing the workspace: %w", err)
	}
	room.later(func(context.Context) error { return room.ws.Close() })
	if room.snaps, err = room.ws.Snapshots(ctx, git.SnapshotOptions{Dir: filepath.Join(room.dir, "snapshots"), Series: "replay"}); err != nil {
		return fmt.Errorf("keeping the workspace's state: %w", err)
	}
	room.later(func(context.Context) error { return room.snaps.Close() })
	room.side = trusted.New(trusted.Config{Mirror: mirror, Workspace: room.ws, Snapshots: room.snaps})
	return r.restoreReplay(ctx, room, p, opts.From)
}

// start makes the directories and starts the sandbox.
func (room *replayRoom) start(ctx context.Context, cfg config.Config, d dirs, log *slog.Logger) error {
	driver, err := boxDriver(ctx, cfg.Sandbox, d.sandbox, log)
	if err != nil {
		return err
	}
	if room.dir, err = os.MkdirTemp(d.runs, "replay-"); err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	held, err := runner.HoldDir(room.dir) // a worker that starts sweeps what nobody holds
	if err != nil {
		return errors.Join(err, layout.RemoveTree(room.dir))
	}
	room.later(func(context.Context) error { return errors.Join(layout.RemoveTree(room.dir), held.Close()) })
	spec, release, err := execSpec(ctx, cfg, ExecOptions{}, d, room.dir, log)
	if err != nil {
		return err
	}
	room.later(func(context.Context) error { release(); return nil })
	if room.box, err = driver.Start(ctx, spec); err != nil {
		return fmt.Errorf("starting the sandbox: %w", err)
	}
	room.later(room.box.Close)
	return nil
}

// replayMirror is a mirror that has the run's commit: filled from a checkout, or
// the one that the run itself has left in the data directory.
func replayMirror(ctx context.Context, d dirs, p Played, repo string, log *slog.Logger) (*git.Mirror, error) {
	if p.base == "" {
		return nil, fmt.Errorf("%w: the run ended before it knew what to work on", vcs.ErrInvalid)
	}
	mirrors, err := git.New(git.Config{Dir: d.mirrors}, log)
	if err != nil {
		return nil, fmt.Errorf("opening the mirrors: %w", err)
	}
	if repo == "" {
		mirror, err := mirrors.Mirror(p.job.Thread.Repo)
		if err != nil {
			return nil, err
		}
		if _, err := mirror.ListFiles(ctx, p.base, ""); err != nil {
			return nil, fmt.Errorf("commit %s of %s is not in the data directory: name a checkout that has it by --repo: %w", p.base, p.job.Thread.Repo.FullName(), err)
		}
		return mirror, nil
	}
	forge, err := local.Open(repo)
	if err != nil {
		return nil, err
	}
	mirror, err := mirrors.Mirror(forge.Thread().Repo)
	if err != nil {
		return nil, err
	}
	remote, err := forge.Remote(ctx, forge.Thread().Repo, vcs.Read)
	if err != nil {
		return nil, err
	}
	if _, err := mirror.Fetch(ctx, remote, p.base); err != nil {
		return nil, fmt.Errorf("reading commit %s of --repo %s: %w", p.base, repo, err)
	}
	return mirror, nil
}
