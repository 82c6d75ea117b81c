package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/greenwright/greenwright/jobs/trusted"
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
	side    *trusted.Side  // of the work room
	snaps   *git.Snapshots // of the work room; nil keeps none
	dir     string
	home    string
}

// openRoom starts a sandbox and puts a commit's files into its workspace.
func (s *session) openRoom(ctx context.Context, name, commit string, with seed) (*room, error) {
	s.rooms++
	dir := filepath.Join(s.dir, name+"-"+strconv.Itoa(s.rooms))
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
	s.warm(ctx, r, with)
	err = r.fill(ctx, commit)
	if err == nil {
		err = s.setUp(ctx, r, commit)
	}
	if err != nil {
		return nil, errors.Join(err, r.close(ctx))
	}
	return r, nil
}

// seed is a room whose caches another begins with.
type seed struct {
	from   *room
	caches []string // relative to the home
}

// warm copies caches into a room in which nothing has run yet.
func (s *session) warm(ctx context.Context, r *room, with seed) {
	if with.from == nil {
		return
	}
	uid, gid := r.box.Owner()
	if err := layout.Seed(ctx, with.from.home, r.home, with.caches, uid, gid); err != nil {
		s.log.Warn("caches were not copied: first commands take longer", "room", r.name, "error", err)
	}
}

// openWork opens the room where the agent works, with all caches that the
// baseline has filled. The other way round it would not do: what an agent has
// left must not judge its change.
func (s *session) openWork(ctx context.Context) error {
	if s.work != nil {
		return nil
	}
	var with seed
	if s.proof != nil && !s.proofUsed {
		with = seed{s.proof, layout.Caches()}
	}
	var err error
	if s.work, err = s.openRoom(ctx, workRoom, s.base, with); err != nil {
		return err
	}
	if err := s.openSide(ctx); err != nil {
		return err
	}
	return s.restoreWork(ctx)
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

// proofOf opens a new proof room with a commit of ours. Nothing of the one
// before it is kept, since what commands have left there must not turn another
// commit green: a file that makes the second run of a command pass, or a
// setting in a home. Only the tool chains' own stores are copied, and only from
// a baseline that ran nothing but the trusted base.
func (s *session) proofOf(ctx context.Context, commit string) error {
	old := s.proof
	var with seed
	if old != nil && !s.proofUsed && s.base == s.trusted {
		with = seed{old, layout.ToolStores()}
	}
	s.proofUsed = true
	var err error
	s.proof, err = s.openRoom(ctx, proofRoom, commit, with)
	if old == nil {
		return err
	}
	if err := errors.Join(err, old.close(ctx), layout.RemoveTree(filepath.Dir(old.dir))); err != nil {
		return fmt.Errorf("making the proof room anew: %w", err)
	}
	return nil
}

func (r *room) close(ctx context.Context) error {
	err := r.box.Close(ctx)
	if r.snaps != nil {
		err = errors.Join(err, r.snaps.Close())
	}
	if r.ws != nil {
		err = errors.Join(err, r.ws.Close())
	}
	return err
}
