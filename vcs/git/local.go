package git

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
)

// LocalInfo is what a checkout on this machine says of itself.
type LocalInfo struct {
	Root   string // the checkout's top directory, as given
	Branch string // of HEAD; empty when detached
	Head   string // commit of HEAD; empty when there is none
}

// OpenLocal reads where the checkout's HEAD is. The operator trusts the
// checkout; nothing in it is executed. vcs.ErrNotFound when root is not the
// top of one.
func OpenLocal(root string) (LocalInfo, error) {
	info := LocalInfo{Root: root}
	o, r, err := (&filePeer{path: root}).open()
	if err != nil {
		return info, err
	}
	defer o.close()
	ref, err := r.Reference(plumbing.HEAD, false)
	if err != nil {
		return info, fmt.Errorf("reading HEAD: %w", err)
	}
	if ref.Type() == plumbing.SymbolicReference {
		info.Branch = ref.Target().Short()
	}
	head, err := r.Head()
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return info, nil
	}
	if err != nil {
		return info, fmt.Errorf("resolving HEAD: %w", err)
	}
	info.Head = head.Hash().String()
	return info, nil
}

// DirtyPaths lists the files of the checkout that differ from HEAD, untracked
// ones that are not ignored included, sorted. It reads every tracked file and
// writes nothing. ErrEmpty when HEAD has no commit.
func DirtyPaths(ctx context.Context, root string) ([]string, error) {
	info, err := OpenLocal(root)
	if err != nil {
		return nil, err
	}
	if info.Head == "" {
		return nil, ErrEmpty
	}
	open := func() (*objects, error) {
		o, _, err := (&filePeer{path: root}).open()
		return o, err
	}
	o, err := open()
	if err != nil {
		return nil, err
	}
	defer o.close()
	w := &Workspace{dir: root, commit: info.Head, limits: WorkspaceLimits{}.withDefaults(), cache: map[string]cached{}}
	c, err := o.commit(info.Head)
	if err != nil {
		return nil, err
	}
	if w.base, err = o.flatten(ctx, c.TreeHash); err != nil {
		return nil, err
	}
	if w.attrs, err = o.attributes(w.base); err != nil {
		return nil, err
	}
	got, err := w.scan(ctx, o, open, false)
	if err != nil {
		return nil, fmt.Errorf("comparing checkout with HEAD: %w", err)
	}
	return got.changed, nil
}

// Dirty reports whether DirtyPaths lists anything; a checkout without a commit
// counts as dirty.
func Dirty(ctx context.Context, root string) (bool, error) {
	paths, err := DirtyPaths(ctx, root)
	if errors.Is(err, ErrEmpty) {
		return true, nil
	}
	return len(paths) > 0, err
}
