package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/runner"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/layout"
)

// handBox is a sandbox for commands that a person gives by hand, the one that
// a run would get. It starts with the first command.
type handBox struct {
	cfg  config.Config
	opts ExecOptions // without Cmd
	log  *slog.Logger

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

// started starts it, once.
func (h *handBox) started(ctx context.Context) (sandbox.Sandbox, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.box == nil && h.cause == nil {
		h.cause = h.start(ctx)
	}
	return h.box, h.cause
}

func (h *handBox) start(ctx context.Context) error {
	d, err := makeDirs(h.cfg.DataDir)
	if err != nil {
		return err
	}
	opts := h.opts
	ws, places, err := namedWorkspace(opts.Workspace, d)
	if err != nil {
		return err
	}
	h.later(func(context.Context) error { leavePlaces(places); return nil })
	opts.Workspace = ws
	driver, err := boxDriver(ctx, h.cfg.Sandbox, d.sandbox, h.log)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(d.runs, "hand-")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	held, err := runner.HoldDir(dir) // a worker that starts sweeps what nobody holds
	if err != nil {
		return errors.Join(err, layout.RemoveTree(dir))
	}
	h.later(func(context.Context) error { return errors.Join(layout.RemoveTree(dir), held.Close()) })
	spec, release, err := execSpec(ctx, h.cfg, opts, d, dir, h.log)
	if err != nil {
		return err
	}
	h.later(func(context.Context) error { release(); return nil })
	return h.launch(ctx, driver, spec, d, dir)
}

// launch lends the workspace to the sandbox's account for as long as it lives.
func (h *handBox) launch(ctx context.Context, driver sandbox.Driver, spec sandbox.Spec, d dirs, dir string) error {
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
