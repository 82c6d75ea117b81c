package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/vcs/git"
)

// room is a sandbox with the workspace that is bound into it.
type room struct {
	box    sandbox.Sandbox
	mirror *git.Mirror
	ws     *git.Workspace
	dir    string
}

// openRoom starts a sandbox and puts a commit's files into its workspace.
func (s *session) openRoom(ctx context.Context, name, commit string) (*room, error) {
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // the run's account passes through it
		return nil, fmt.Errorf("making a workspace: %w", err)
	}
	spec := s.cfg.Box
	spec.RunID = string(s.ctl.Run)
	spec.Workspace, spec.Scratch = filepath.Join(dir, "workspace"), filepath.Join(dir, "scratch")
	if err := os.Mkdir(spec.Workspace, 0o700); err != nil {
		return nil, fmt.Errorf("making a workspace: %w", err)
	}
	box, err := s.cfg.Sandbox.Start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	r := &room{box: box, mirror: s.mirror, dir: spec.Workspace}
	if err := r.fill(ctx, commit); err != nil {
		return nil, errors.Join(err, r.close(ctx))
	}
	return r, nil
}

// fill checks a commit out into the empty workspace.
func (r *room) fill(ctx context.Context, commit string) error {
	uid, gid := r.box.Owner()
	ws, err := r.mirror.Checkout(ctx, commit, r.dir, git.CheckoutOptions{UID: uid, GID: gid})
	if err != nil {
		return fmt.Errorf("preparing the workspace: %w", err)
	}
	r.ws = ws
	return nil
}

// refill replaces the workspace's content by another commit's. The directory
// itself stays: it is bound into the sandbox.
func (r *room) refill(ctx context.Context, commit string) error {
	if err := r.ws.Close(); err != nil {
		return fmt.Errorf("closing the workspace: %w", err)
	}
	r.ws = nil
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		return fmt.Errorf("emptying the workspace: %w", err)
	}
	for _, e := range entries {
		if err := removeTree(filepath.Join(r.dir, e.Name())); err != nil {
			return fmt.Errorf("emptying the workspace: %w", err)
		}
	}
	return r.fill(ctx, commit)
}

// proofOf puts a commit of ours into the proof room. The first keeps the home
// and the caches that the baseline left, which ran only the base's code; every
// further one gets a new room, since what the commit before it has left must
// not judge this one.
func (s *session) proofOf(ctx context.Context, commit string) error {
	if !s.proofUsed {
		s.proofUsed = true
		return s.proof.refill(ctx, commit)
	}
	old := s.proof
	s.proof = nil
	if err := errors.Join(old.close(ctx), removeTree(filepath.Dir(old.dir))); err != nil {
		return fmt.Errorf("clearing the proof room: %w", err)
	}
	var err error
	s.proof, err = s.openRoom(ctx, "proof", commit)
	return err
}

func (r *room) close(ctx context.Context) error {
	err := r.box.Close(ctx)
	if r.ws != nil {
		err = errors.Join(err, r.ws.Close())
	}
	return err
}

// removeTree removes a tree that commands have written, also directories that
// they left without permissions.
func removeTree(path string) error {
	err := os.RemoveAll(path)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	root, openErr := os.OpenRoot(path)
	if openErr != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	walkErr := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, walkErr error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(name, 0o700)
		}
		if walkErr != nil && d == nil {
			return walkErr
		}
		return nil
	})
	return errors.Join(walkErr, os.RemoveAll(path))
}
