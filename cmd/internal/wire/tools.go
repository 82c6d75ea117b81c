package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/process"
	"github.com/greenwright/greenwright/agent/tool/toolbox"
	"github.com/greenwright/greenwright/agent/tool/workspace"
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/sandbox"
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
	box := &handBox{cfg: cfg, opts: ExecOptions{Workspace: opts.Workspace}, log: log}
	commands := runner.NewCommands(box.outputs, func(ctx context.Context) (sandbox.Sandbox, error) {
		return box.started(context.WithoutCancel(ctx)) // it outlives the call that needs it first
	})
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
