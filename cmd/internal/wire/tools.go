package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/process"
	"github.com/greenwright/greenwright/agent/tool/toolbox"
	"github.com/greenwright/greenwright/agent/tool/workspace"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/layout"
	"github.com/greenwright/greenwright/vcs"
)

// ToolOptions say on what tools work by hand.
type ToolOptions struct {
	Workspace string
	// AssumeRead takes every file as shown to the model.
	AssumeRead bool
}

// Tools are a run's tools on a directory, for people who want to see what a
// model sees, behind the gate of a run at tier run. Close ends the processes
// that were started and the sandbox, if one was needed.
type Tools struct {
	*tool.Registry
	ws        *workspace.Workspace
	processes *process.Table
	box       *handBox
	side      *handSide // nil outside of a repository
}

// Keep keeps the state of the files for the restore tool, as a run does before
// its first step and after each that changed something. Outside of a
// repository, or in one that cannot be read, it does nothing.
func (t *Tools) Keep(ctx context.Context, label string) error {
	if t.side == nil {
		return nil
	}
	side, err := t.side.opened(ctx)
	if err != nil {
		return nil //nolint:nilerr // no commit yet, or no repository: restore will say so
	}
	_, err = side.Take(ctx, label)
	return err
}

// OpenTools makes the tools. Nothing is started before a tool needs it.
func OpenTools(cfg config.Config, opts ToolOptions, log *slog.Logger) (*Tools, error) {
	st, err := os.Stat(opts.Workspace)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: --workspace %s is not there", vcs.ErrInvalid, opts.Workspace)
	case !st.IsDir():
		return nil, fmt.Errorf("%w: --workspace %s is not a directory", vcs.ErrInvalid, opts.Workspace)
	}
	ws, err := workspace.Open(opts.Workspace)
	if err != nil {
		return nil, err
	}
	if opts.AssumeRead {
		ws.Reads().AssumeAll()
	}
	box := &handBox{cfg: cfg, dir: opts.Workspace, log: log}
	commands := runner.NewCommands(box.outputs, box.started)
	t := &Tools{ws: ws, box: box, processes: process.New(commands)}
	parts := toolbox.Parts{Workspace: ws, Executor: commands, Processes: t.processes.Tools(), Format: toolbox.FormatAll}
	if _, err := os.Lstat(filepath.Join(opts.Workspace, ".git")); err == nil {
		t.side = &handSide{cfg: cfg, dir: opts.Workspace, log: log}
		parts.Differ, parts.Historian, parts.Restorer = t.side, t.side, t.side
	}
	gated, err := handGate(cfg, toolbox.New(parts))
	if err == nil {
		t.Registry, err = tool.NewRegistry(gated...)
	}
	if err != nil {
		return nil, errors.Join(err, ws.Close())
	}
	return t, nil
}

// handGate puts the operator's policy in front of tools.
func handGate(cfg config.Config, tools []tool.Tool) ([]tool.Tool, error) {
	scripts, err := cfg.Policy.Scripts()
	if err != nil {
		return nil, err
	}
	gate := &runner.Gate{Tier: tool.TierRun, Why: "it is used by hand", Scripts: scripts, Ask: cfg.Policy.Ask}
	return gate.Wrap(tools), nil
}

// Close releases what was opened.
func (t *Tools) Close(ctx context.Context) error {
	t.processes.Close(ctx)
	if t.side != nil {
		defer t.side.close()
	}
	return errors.Join(t.box.close(ctx), t.ws.Close())
}

// handBox is a sandbox over a directory that starts with the first command.
type handBox struct {
	cfg config.Config
	dir string
	log *slog.Logger

	mu      sync.Mutex // guards box, scratch and what its end undoes
	box     sandbox.Sandbox
	scratch string // a directory of the run's
	undo    []func(context.Context) error
	cause   error // why it did not start
}

// outputs is where whole outputs are kept, once it has started.
func (h *handBox) outputs() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return filepath.Join(h.scratch, "outputs")
}

func (h *handBox) started(ctx context.Context) (sandbox.Sandbox, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.box == nil && h.cause == nil {
		h.cause = h.start(context.WithoutCancel(ctx))
	}
	return h.box, h.cause
}

// start is the way of `sandbox exec`, for more than one command.
func (h *handBox) start(ctx context.Context) error {
	d, err := makeDirs(h.cfg.DataDir)
	if err != nil {
		return err
	}
	ws, places, err := namedWorkspace(h.dir, d)
	if err != nil {
		return err
	}
	h.later(func(context.Context) error { leavePlaces(places); return nil })
	driver, err := boxDriver(ctx, h.cfg.Sandbox, d.sandbox, h.log)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(d.runs, "tool-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	held, err := runner.HoldDir(dir) // a worker that starts sweeps what nobody holds
	if err != nil {
		return err
	}
	h.later(func(context.Context) error { return errors.Join(layout.RemoveTree(dir), held.Close()) })
	spec, release, err := execSpec(ctx, h.cfg, ExecOptions{Workspace: ws}, d, dir, h.log)
	if err != nil {
		return err
	}
	h.later(func(context.Context) error { release(); return nil })
	lent, err := lend(filepath.Join(d.sandbox, "lent"), spec.Workspace)
	if err != nil {
		return err
	}
	h.later(func(context.Context) error { return lent.takeBack() })
	box, err := driver.Start(ctx, spec)
	if err != nil {
		return err
	}
	h.later(box.Close)
	uid, _ := box.Owner()
	if err := lent.give(uid); err != nil {
		return err
	}
	h.box, h.scratch = box, dir
	return nil
}

func (h *handBox) later(undo func(context.Context) error) { h.undo = append(h.undo, undo) }

// close undoes everything, the latest first.
func (h *handBox) close(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var faults []error
	for i := len(h.undo) - 1; i >= 0; i-- {
		faults = append(faults, h.undo[i](context.WithoutCancel(ctx)))
	}
	h.undo, h.box = nil, nil
	return errors.Join(faults...)
}
