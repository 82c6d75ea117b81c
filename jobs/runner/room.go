package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/egress"
	"github.com/greenwright/greenwright/sandbox/layout"
	"github.com/greenwright/greenwright/vcs/git"
)

// The rooms of a run.
const (
	proofRoom = "proof" // where commands prove
	workRoom  = "work"  // where the agent works
)

// room is a sandbox with the workspace that is bound into it.
type room struct {
	name    string // proof or work
	gateway *egress.Gateway
	box     sandbox.Sandbox
	mirror  *git.Mirror
	ws      *git.Workspace
	dir     string
	home    string
}

// openRoom starts a sandbox and puts a commit's files into its workspace.
func (s *session) openRoom(ctx context.Context, name, commit string) (*room, error) {
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // the run's account passes through it
		return nil, fmt.Errorf("making a workspace: %w", err)
	}
	spec := s.spec()
	gateway := egress.New(s.egress, s.resolver()...)
	if !s.egress.Empty() && len(s.setup) > 0 {
		spec.Gateway = gateway
	}
	spec.Workspace, spec.Scratch = filepath.Join(dir, "workspace"), filepath.Join(dir, "scratch")
	if err := os.Mkdir(spec.Workspace, 0o700); err != nil {
		return nil, fmt.Errorf("making a workspace: %w", err)
	}
	box, err := s.cfg.Sandbox.Start(ctx, spec)
	if err != nil {
		return nil, fmt.Errorf("starting the sandbox: %w", err)
	}
	r := &room{name: name, box: box, gateway: gateway, mirror: s.mirror, dir: spec.Workspace, home: layout.DirsIn(spec.Scratch).Home}
	s.warm(ctx, r)
	err = r.fill(ctx, commit)
	if err == nil {
		err = s.setUp(ctx, r, commit)
	}
	if err != nil {
		return nil, errors.Join(err, r.close(ctx))
	}
	return r, nil
}

// warm gives the work room the caches that the baseline has filled, which ran
// the base's code alone. The other way round it would not do: what an agent
// has left must not judge its change.
func (s *session) warm(ctx context.Context, r *room) {
	if r.name != workRoom || s.proof == nil || s.proofUsed {
		return
	}
	begun := s.cfg.Now()
	uid, gid := r.box.Owner()
	if err := layout.Seed(ctx, s.proof.home, r.home, uid, gid); err != nil {
		s.log.Warn("caches were not copied: the agent's first commands take longer", "error", err)
		return
	}
	s.log.Debug("caches copied", "took", s.cfg.Now().Sub(begun))
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
		if err := layout.RemoveTree(filepath.Join(r.dir, e.Name())); err != nil {
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
		if err := s.proof.refill(ctx, commit); err != nil {
			return err
		}
		return s.setUp(ctx, s.proof, commit)
	}
	old := s.proof
	s.proof = nil
	if err := errors.Join(old.close(ctx), layout.RemoveTree(filepath.Dir(old.dir))); err != nil {
		return fmt.Errorf("clearing the proof room: %w", err)
	}
	var err error
	s.proof, err = s.openRoom(ctx, proofRoom, commit)
	return err
}

func (r *room) close(ctx context.Context) error {
	err := r.box.Close(ctx)
	if r.ws != nil {
		err = errors.Join(err, r.ws.Close())
	}
	return err
}
