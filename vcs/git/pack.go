package git

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// maxHaves bounds what a fetch tells the server we hold.
const maxHaves = 64

// maxPeel bounds tags that point to tags.
const maxPeel = 8

// peel follows annotated tags; an object it cannot read is returned as it is.
func (o *objects) peel(h plumbing.Hash) plumbing.Hash {
	for range maxPeel {
		t, err := object.GetTag(o.st, h)
		if err != nil {
			return h
		}
		h = t.Target
	}
	return h
}

// haves lists fetched tips and the shallow boundary for negotiation.
func (o *objects) haves() (haves, shallows []plumbing.Hash, err error) {
	iter, err := o.st.IterReferences()
	if err != nil {
		return nil, nil, fmt.Errorf("listing refs: %w", err)
	}
	defer iter.Close()
	seen := map[plumbing.Hash]bool{}
	err = iter.ForEach(func(r *plumbing.Reference) error {
		h := o.peel(r.Hash())
		if isFetchedRef(r.Name().String()) && len(haves) < maxHaves && !seen[h] && o.has(h) {
			seen[h] = true
			haves = append(haves, h)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("listing refs: %w", err)
	}
	shallows, err = o.st.Shallow()
	return haves, shallows, err
}

// moveBoundary adds commits to the shallow boundary and drops those whose
// parents have arrived.
func (o *objects) moveBoundary(added []plumbing.Hash) error {
	set, err := o.shallows()
	if err != nil {
		return err
	}
	for _, h := range added {
		set[h] = true
	}
	var list []plumbing.Hash
	for h := range set {
		c, err := object.GetCommit(o.st, h)
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			continue
		}
		if err != nil {
			return missing("commit", h, err)
		}
		for _, p := range c.ParentHashes {
			if !o.has(p) {
				list = append(list, h)
				break
			}
		}
	}
	plumbing.HashesSort(list)
	if len(list) == 0 && len(set) == 0 {
		return nil
	}
	if err := o.st.SetShallow(list); err != nil {
		return fmt.Errorf("writing shallow boundary: %w", err)
	}
	return nil
}

// collect lists the objects of src that dst lacks for the commits and depth
// of their history, and the commits at which history ends.
func collect(ctx context.Context, src, dst *objects, wants []plumbing.Hash, depth int) (list, boundary []plumbing.Hash, err error) {
	c := &collector{src: src, has: dst.has, seen: map[plumbing.Hash]bool{}}
	level := wants
	for d := 1; len(level) > 0; d++ {
		var next []plumbing.Hash
		for _, h := range level {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			parents, err := c.commit(h)
			if err != nil {
				return nil, nil, err
			}
			if d == depth && len(parents) > 0 {
				boundary = append(boundary, h)
				continue
			}
			next = append(next, parents...)
		}
		level = next
	}
	return c.list, boundary, nil
}

// collector gathers objects once each, leaving out what the other side has.
type collector struct {
	src  *objects
	has  func(plumbing.Hash) bool
	seen map[plumbing.Hash]bool
	list []plumbing.Hash
}

// add reports whether the object is new to the collection and the other side.
func (c *collector) add(h plumbing.Hash) bool {
	if c.seen[h] {
		return false
	}
	c.seen[h] = true
	if c.has(h) {
		return false
	}
	c.list = append(c.list, h)
	return true
}

// commit gathers a commit with its tree and names its parents; none when it
// was met before.
func (c *collector) commit(h plumbing.Hash) ([]plumbing.Hash, error) {
	if c.seen[h] {
		return nil, nil
	}
	c.add(h)
	commit, err := object.GetCommit(c.src.st, h)
	if err != nil {
		return nil, missing("commit", h, err)
	}
	return commit.ParentHashes, c.tree(commit.TreeHash)
}

func (c *collector) tree(h plumbing.Hash) error {
	if !c.add(h) {
		return nil
	}
	t, err := c.src.tree(h)
	if err != nil {
		return err
	}
	for _, e := range t.Entries {
		switch e.Mode {
		case filemode.Submodule:
		case filemode.Dir:
			if err := c.tree(e.Hash); err != nil {
				return err
			}
		default:
			c.add(e.Hash)
		}
	}
	return nil
}

// copyObjects writes the objects into dst as one pack.
func copyObjects(src, dst *objects, hashes []plumbing.Hash) error {
	if len(hashes) == 0 {
		return nil
	}
	w, err := dst.st.PackfileWriter()
	if err != nil {
		return fmt.Errorf("opening pack: %w", err)
	}
	_, err = packfile.NewEncoder(w, src.st, false).Encode(hashes, 0)
	if err := errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("copying objects: %w", err)
	}
	return nil
}
