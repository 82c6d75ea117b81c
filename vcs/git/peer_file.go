package git

import (
	"context"
	"errors"
	"fmt"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/greenwright/greenwright/vcs"
)

// filePeer is a repository on this machine that the operator trusts. It is
// read and written in process, so none of its hooks runs.
type filePeer struct{ path string }

func (p *filePeer) scheme() string      { return "file" }
func (p *filePeer) gitURL() string      { return "file://" + p.path }
func (p *filePeer) gitEnv() [][2]string { return nil }

func (p *filePeer) open() (*objects, *gogit.Repository, error) {
	r, err := gogit.PlainOpenWithOptions(p.path, &gogit.PlainOpenOptions{EnableDotGitCommonDir: true})
	if errors.Is(err, gogit.ErrRepositoryNotExists) {
		return nil, nil, fmt.Errorf("%w: no repository at %s", vcs.ErrNotFound, p.path)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("opening repository: %w: %w", vcs.ErrInvalid, err)
	}
	st, ok := r.Storer.(*filesystem.Storage)
	if !ok {
		return nil, nil, fmt.Errorf("%w: repository at %s is not on disk", vcs.ErrInvalid, p.path)
	}
	return &objects{st: st}, r, nil
}

func (p *filePeer) advertise(ctx context.Context) (*advert, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o, r, err := p.open()
	if err != nil {
		return nil, err
	}
	defer o.close()
	iter, err := o.st.IterReferences()
	if err != nil {
		return nil, fmt.Errorf("listing refs: %w", err)
	}
	ad := &advert{refs: map[string]string{}}
	err = iter.ForEach(func(ref *plumbing.Reference) error {
		if ref.Type() == plumbing.HashReference {
			ad.refs[ref.Name().String()] = o.peel(ref.Hash()).String()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing refs: %w", err)
	}
	if len(ad.refs) == 0 {
		return nil, ErrEmpty
	}
	if head, err := r.Reference(plumbing.HEAD, false); err == nil && head.Type() == plumbing.SymbolicReference {
		ad.head = head.Target().String()
	}
	return ad, nil
}

func (p *filePeer) fetch(ctx context.Context, dst *objects, wants []plumbing.Hash, depth int) error {
	src, _, err := p.open()
	if err != nil {
		return err
	}
	defer src.close()
	hashes, boundary, err := collect(ctx, src, dst, wants, depth)
	if err != nil {
		return err
	}
	if err := copyObjects(src, dst, hashes); err != nil {
		return err
	}
	return dst.moveBoundary(boundary)
}

func (p *filePeer) push(ctx context.Context, src *objects, cmd pushCommand) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	dst, r, err := p.open()
	if err != nil {
		return err
	}
	defer dst.close()
	if head, err := r.Reference(plumbing.HEAD, false); err == nil && head.Target() == cmd.ref {
		return fmt.Errorf("%w: %s is checked out", vcs.ErrForbidden, cmd.ref.Short())
	}
	if err := copyObjects(src, dst, cmd.objects); err != nil {
		return err
	}
	var old *plumbing.Reference
	at, err := dst.ref(cmd.ref.String())
	switch {
	case err != nil:
		return err
	case at == "" && !cmd.old.IsZero(), at != "" && at != cmd.old.String():
		return fmt.Errorf("%w: %s is at %q, not at %s", vcs.ErrConflict, cmd.ref, at, cmd.old)
	case at != "":
		old = plumbing.NewHashReference(cmd.ref, cmd.old)
	}
	if err := dst.st.CheckAndSetReference(plumbing.NewHashReference(cmd.ref, cmd.new), old); err != nil {
		return fmt.Errorf("setting %s: %w: %w", cmd.ref, vcs.ErrConflict, err)
	}
	return nil
}
