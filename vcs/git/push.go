package git

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/greenwright/greenwright/vcs"
)

// PushSpec is one branch to create or move forward.
type PushSpec struct {
	Commit string
	Branch string // without refs/heads/
	// Expect is the commit the branch has to be at; empty when it must not
	// exist yet.
	Expect string
}

func (s PushSpec) validate() error {
	if err := vcs.ValidateBranch(s.Branch); err != nil {
		return err
	}
	if s.Expect != "" {
		if err := vcs.ValidateSHA(s.Expect); err != nil {
			return err
		}
	}
	return vcs.ValidateSHA(s.Commit)
}

// Push sends the commit and moves the branch to it, then asks the remote
// again where the branch is and returns that. It never forces: unless the
// branch is at Expect, and Expect is an ancestor of Commit, the error is
// vcs.ErrConflict and nothing has changed. A branch that is at Commit already
// is success, so that an interrupted push can be repeated.
//
// Other errors: vcs.ErrForbidden (rights, hooks, protected branches, with the
// remote's words), vcs.ErrUnavailable, vcs.ErrNotFound.
func (m *Mirror) Push(ctx context.Context, remote vcs.Remote, spec PushSpec) (string, error) {
	if err := spec.validate(); err != nil {
		return "", err
	}
	p, err := m.peer(remote)
	if err != nil {
		return "", err
	}
	ctx, cancel := m.store.withTimeout(ctx)
	defer cancel()
	doing := fmt.Sprintf("pushing %s to %s", spec.Branch, m.repo)
	at, err := tip(ctx, p, spec.Branch)
	if err != nil {
		return "", remoteError(doing, err)
	}
	if at == spec.Commit {
		return at, nil
	}
	if at != spec.Expect {
		return "", fmt.Errorf("%s: %w: it is at %q, expected %q", doing, vcs.ErrConflict, at, spec.Expect)
	}
	if err := m.send(ctx, p, remote, spec); err != nil {
		return "", remoteError(doing, err)
	}
	got, err := tip(ctx, p, spec.Branch)
	if err != nil {
		return "", remoteError(doing+": reading it back", err)
	}
	if got != spec.Commit {
		return got, fmt.Errorf("%s: %w: read back %q, want %s", doing, vcs.ErrConflict, got, spec.Commit)
	}
	return got, nil
}

func (m *Mirror) send(ctx context.Context, p peer, remote vcs.Remote, spec PushSpec) error {
	if spec.Expect != "" {
		forward, err := m.IsAncestor(ctx, remote, spec.Expect, spec.Commit)
		if err != nil {
			return err
		}
		if !forward {
			return fmt.Errorf("%w: %s does not come after %s", vcs.ErrConflict, spec.Commit, spec.Expect)
		}
	}
	o, done, err := m.read(ctx)
	if err != nil {
		return err
	}
	defer done()
	made, bases, err := o.madeChain(spec.Commit)
	if err != nil {
		return err
	}
	list, err := o.toSend(ctx, made, bases)
	if err != nil {
		return m.markDamaged(err)
	}
	return p.push(ctx, o, pushCommand{
		ref: plumbing.NewBranchReferenceName(spec.Branch),
		old: plumbing.NewHash(spec.Expect), new: plumbing.NewHash(spec.Commit), objects: list,
	})
}

// tip is where the branch is on the remote; "" when it does not exist.
func tip(ctx context.Context, p peer, branch string) (string, error) {
	ad, err := p.advertise(ctx)
	if errors.Is(err, ErrEmpty) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return ad.refs["refs/heads/"+branch], nil
}
