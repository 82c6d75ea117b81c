package git

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/greenwright/greenwright/vcs"
)

// Bundle is a commit that was made here as a pack of what it adds to base,
// for [Mirror.Unbundle] on another mirror that has base. It is empty when the
// commit is base.
//
// Errors: vcs.ErrNotFound for a commit that is not there; vcs.ErrInvalid when
// it was not made here on base; ErrTooLarge for more than 1 GiB.
func (m *Mirror) Bundle(ctx context.Context, commit, base string) ([]byte, error) {
	o, done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	for _, sha := range []string{commit, base} {
		if _, err := o.commit(sha); err != nil {
			return nil, fmt.Errorf("bundling %s: %w", commit, err)
		}
	}
	if commit == base {
		return nil, nil
	}
	made, bases, err := o.madeUpTo(commit, base)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(bases, plumbing.NewHash(base)) {
		return nil, fmt.Errorf("bundling %s: %w: it was not made here on %s", commit, vcs.ErrInvalid, base)
	}
	list, err := o.toSend(ctx, made, bases)
	if err != nil {
		return nil, m.markDamaged(err)
	}
	return encodePack(o, list)
}

// madeUpTo is madeChain that ends at base, even where that was made here too.
func (o *objects) madeUpTo(tip, base string) (made, bases []plumbing.Hash, err error) {
	all, bases, err := o.madeChain(tip)
	if err != nil || !slices.Contains(all, plumbing.NewHash(base)) {
		return all, bases, err
	}
	below, beneath, err := o.madeChain(base)
	if err != nil {
		return nil, nil, err
	}
	made = slices.DeleteFunc(all, func(h plumbing.Hash) bool { return slices.Contains(below, h) })
	bases = slices.DeleteFunc(bases, func(h plumbing.Hash) bool { return slices.Contains(beneath, h) })
	return made, append(bases, plumbing.NewHash(base)), nil
}
