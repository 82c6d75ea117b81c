package git

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/greenwright/greenwright/vcs"
)

// bundleLimits bounds what a bundle may bring: a file as large as a workspace
// may hold, and all together as much as a change may.
func bundleLimits() packLimits {
	return packLimits{object: defaultMaxFileBytes, total: defaultMaxChangedBytes}
}

// Unbundle takes in the commit that a [Mirror.Bundle] elsewhere has packed, as
// if it had been made here, so that it can be pushed. Doing it again changes
// nothing. An empty pack is that of a commit which is there.
//
// The pack is not trusted: whatever is not the commit, or reached from it and
// whole, is refused before anything is written. Errors: vcs.ErrInvalid for
// what is damaged or forged; ErrIncomplete, which comes with vcs.ErrInvalid,
// for what neither the pack nor the mirror has; ErrTooLarge.
func (m *Mirror) Unbundle(ctx context.Context, pack []byte, commit string) error {
	o, done, err := m.read(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := vcs.ValidateSHA(commit); err != nil {
		return err
	}
	if len(pack) == 0 {
		_, err := o.commit(commit)
		return err
	}
	b := &unbundling{o: o, objects: map[plumbing.Hash]*bundled{}}
	err = readPack(pack, bundleLimits(), func(t plumbing.ObjectType, h plumbing.Hash, content []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return b.look(t, h, content)
	})
	if err == nil {
		err = b.reach(plumbing.NewHash(commit))
	}
	if err == nil {
		err = b.store(ctx, pack)
	}
	if err != nil {
		return fmt.Errorf("unbundling %s: %w", commit, err)
	}
	return nil
}

// bundled is an object of a bundle and what it names.
type bundled struct {
	kind    plumbing.ObjectType
	entries []object.TreeEntry // of a tree
	tree    plumbing.Hash      // of a commit
	parents []plumbing.Hash
	reached bool
}

// unbundling is one Unbundle at work.
type unbundling struct {
	o       *objects
	objects map[plumbing.Hash]*bundled
	commits []plumbing.Hash // reached
	count   int             // reached
}

// look reads what an object names.
func (b *unbundling) look(t plumbing.ObjectType, h plumbing.Hash, content []byte) error {
	if b.objects[h] != nil {
		return badPack("object %s is there twice", h)
	}
	obj := &bundled{kind: t}
	b.objects[h] = obj
	if t == plumbing.BlobObject {
		return nil
	}
	raw := &plumbing.MemoryObject{}
	raw.SetType(t)
	if _, err := raw.Write(bytes.Clone(content)); err != nil {
		return badPack("%v", err)
	}
	if t == plumbing.CommitObject {
		var c object.Commit
		if err := c.Decode(raw); err != nil {
			return badPack("commit %s: %v", h, err)
		}
		obj.tree, obj.parents = c.TreeHash, c.ParentHashes
		return nil
	}
	var tree object.Tree
	if err := tree.Decode(raw); err != nil {
		return badPack("tree %s: %v", h, err)
	}
	obj.entries = tree.Entries
	return nil
}

// reach goes from the commit to everything that the pack has of it, and sees
// that the mirror has the rest and that the pack has no more.
func (b *unbundling) reach(tip plumbing.Hash) error {
	queue := []plumbing.Hash{tip}
	for len(queue) > 0 {
		h := queue[0]
		queue = queue[1:]
		obj, err := b.find(h, plumbing.CommitObject)
		if err != nil {
			return err
		}
		if obj == nil || obj.reached {
			continue
		}
		b.mark(obj)
		b.commits = append(b.commits, h)
		if err := b.tree(obj.tree, 0); err != nil {
			return err
		}
		queue = append(queue, obj.parents...)
	}
	if b.count != len(b.objects) {
		return badPack("%d of its %d objects do not belong to the commit", len(b.objects)-b.count, len(b.objects))
	}
	return nil
}

func (b *unbundling) mark(obj *bundled) {
	obj.reached = true
	b.count++
}

// find is the pack's object, or nil for one that the mirror has.
func (b *unbundling) find(h plumbing.Hash, want plumbing.ObjectType) (*bundled, error) {
	obj, ok := b.objects[h]
	switch {
	case ok && obj.kind != want:
		return nil, badPack("%s is a %s, not a %s", h, obj.kind, want)
	case ok:
		return obj, nil
	case want == plumbing.TreeObject && h == emptyTree:
		return nil, nil
	}
	if _, err := b.o.st.EncodedObject(want, h); err != nil {
		return nil, fmt.Errorf("%w: %w: %s %s", vcs.ErrInvalid, ErrIncomplete, want, h)
	}
	return nil, nil
}

func (b *unbundling) tree(h plumbing.Hash, depth int) error {
	if depth > maxTreeDepth {
		return badPack("its tree is deeper than %d directories", maxTreeDepth)
	}
	obj, err := b.find(h, plumbing.TreeObject)
	if err != nil || obj == nil || obj.reached {
		return err
	}
	b.mark(obj)
	seen := make(map[string]bool, len(obj.entries))
	for _, e := range obj.entries {
		if err := validateName(e.Name); err != nil {
			return err
		}
		if seen[e.Name] {
			return badPack("tree %s holds %q twice", h, e.Name)
		}
		seen[e.Name] = true
		if err := b.entry(e, depth); err != nil {
			return err
		}
	}
	return nil
}

func (b *unbundling) entry(e object.TreeEntry, depth int) error {
	switch e.Mode {
	case filemode.Submodule:
		return nil
	case filemode.Dir:
		return b.tree(e.Hash, depth+1)
	case filemode.Regular, filemode.Executable, filemode.Symlink, filemode.Deprecated:
	default:
		return badPack("%q has mode %o", e.Name, uint32(e.Mode))
	}
	obj, err := b.find(e.Hash, plumbing.BlobObject)
	if err == nil && obj != nil && !obj.reached {
		b.mark(obj)
	}
	return err
}

// store writes what nothing else needs first, so that whatever is found in a
// mirror is whole, and marks the commits as made here.
func (b *unbundling) store(ctx context.Context, pack []byte) error {
	for _, kind := range []plumbing.ObjectType{plumbing.BlobObject, plumbing.TreeObject, plumbing.CommitObject} {
		err := readPack(pack, bundleLimits(), func(t plumbing.ObjectType, _ plumbing.Hash, content []byte) error {
			if t != kind {
				return ctx.Err()
			}
			_, err := b.o.put(t, content)
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, h := range b.commits {
		if err := b.o.setRef(madePrefix+h.String(), h.String()); err != nil {
			return err
		}
	}
	return nil
}
