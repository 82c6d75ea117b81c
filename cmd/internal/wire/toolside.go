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
	"github.com/greenwright/greenwright/cmd/internal/config"
	"github.com/greenwright/greenwright/jobs/trusted"
	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/git"
	"github.com/greenwright/greenwright/vcs/local"
)

// handSide is the trusted side of a directory that is a repository: its own
// commit, read into a mirror, and the directory as it is over that. It opens
// with the first question.
type handSide struct {
	cfg config.Config
	dir string
	log *slog.Logger

	mu   sync.Mutex // guards the rest
	side *trusted.Side
	undo []func() error
	err  error // why it did not open
}

func (h *handSide) opened(ctx context.Context) (*trusted.Side, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.side == nil && h.err == nil {
		h.err = h.open(ctx)
	}
	return h.side, h.err
}

func (h *handSide) open(ctx context.Context) error {
	d, err := makeDirs(h.cfg.DataDir)
	if err != nil {
		return err
	}
	forge, err := local.Open(h.dir)
	if err != nil {
		return err
	}
	info, err := git.OpenLocal(forge.Root())
	if err != nil {
		return err
	}
	mirror, err := h.mirror(ctx, d, forge, info.Head)
	if err != nil {
		return err
	}
	ws, err := mirror.Adopt(ctx, info.Head, h.dir, git.CheckoutOptions{})
	if err != nil {
		return fmt.Errorf("reading the directory over its commit: %w", err)
	}
	h.undo = append(h.undo, ws.Close)
	scratch, err := os.MkdirTemp("", "greenwright-tool-")
	if err != nil {
		return err
	}
	h.undo = append(h.undo, func() error { return os.RemoveAll(scratch) })
	snaps, err := ws.Snapshots(ctx, git.SnapshotOptions{Dir: filepath.Join(scratch, "snapshots")})
	if err != nil {
		return fmt.Errorf("keeping the state of the files: %w", err)
	}
	h.undo = append(h.undo, snaps.Close)
	h.side = trusted.New(trusted.Config{Mirror: mirror, Workspace: ws, Snapshots: snaps})
	return nil
}

// mirror reads the commit with its history.
func (h *handSide) mirror(ctx context.Context, d dirs, forge *local.Forge, head string) (*git.Mirror, error) {
	store, err := git.New(git.Config{Dir: d.mirrors}, h.log)
	if err != nil {
		return nil, err
	}
	mirror, err := store.Mirror(forge.Thread().Repo)
	if err != nil {
		return nil, err
	}
	remote, err := forge.Remote(ctx, forge.Thread().Repo, vcs.Read)
	if err != nil {
		return nil, err
	}
	if _, err := mirror.Fetch(ctx, remote, head); err != nil {
		return nil, fmt.Errorf("reading the repository: %w", err)
	}
	return mirror, nil
}

// close undoes everything, the latest first.
func (h *handSide) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	var faults []error
	for i := len(h.undo) - 1; i >= 0; i-- {
		faults = append(faults, h.undo[i]())
	}
	if err := errors.Join(faults...); err != nil {
		h.log.Warn("closing the trusted side of a directory", "error", err)
	}
	h.undo, h.side = nil, nil
}

// Diff is the directory over its commit.
func (h *handSide) Diff(ctx context.Context, paths []string) (string, error) {
	side, err := h.opened(ctx)
	if err != nil {
		return "", err
	}
	return side.Diff(ctx, paths)
}

// Log is the history of its commit.
func (h *handSide) Log(ctx context.Context, q tool.LogQuery) ([]tool.Commit, error) {
	side, err := h.opened(ctx)
	if err != nil {
		return nil, err
	}
	return side.Log(ctx, q)
}

// Blame is where the lines of its commit came from.
func (h *handSide) Blame(ctx context.Context, path string, from, to int) ([]tool.BlameLine, error) {
	side, err := h.opened(ctx)
	if err != nil {
		return nil, err
	}
	return side.Blame(ctx, path, from, to)
}

// Snapshots are the states that were kept.
func (h *handSide) Snapshots(ctx context.Context) ([]tool.Snapshot, error) {
	side, err := h.opened(ctx)
	if err != nil {
		return nil, err
	}
	return side.Snapshots(ctx)
}

// Restore takes files back.
func (h *handSide) Restore(ctx context.Context, id string, paths []string) (tool.Restored, error) {
	side, err := h.opened(ctx)
	if err != nil {
		return tool.Restored{}, err
	}
	return side.Restore(ctx, id, paths)
}
