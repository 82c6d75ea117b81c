package git

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/greenwright/greenwright/vcs"
)

// emptyTree is git's well-known name of the tree without entries.
//
//nolint:gochecknoglobals // a constant that Go cannot spell as one
var emptyTree = plumbing.NewHash("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

// maxTreeDepth bounds directories in directories; far above real trees.
const maxTreeDepth = 256

// entry is what a tree holds at a path.
type entry struct {
	mode filemode.FileMode
	hash plumbing.Hash
}

func (e entry) regular() bool {
	return e.mode == filemode.Regular || e.mode == filemode.Executable || e.mode == filemode.Deprecated
}

// flatTree is a tree laid out: every file by its path, every directory's hash.
type flatTree struct {
	hash  plumbing.Hash
	files map[string]entry         // all but directories
	order []string                 // paths of files, as the trees order them
	dirs  map[string]plumbing.Hash // "" is the top
}

// flatten lays a tree out and refuses names that could do harm on disk and
// trees that hold a name twice.
func (o *objects) flatten(ctx context.Context, root plumbing.Hash) (*flatTree, error) {
	ft := &flatTree{hash: root, files: map[string]entry{}, dirs: map[string]plumbing.Hash{}}
	return ft, o.flattenInto(ctx, ft, "", root, 0)
}

func (o *objects) flattenInto(ctx context.Context, ft *flatTree, dir string, h plumbing.Hash, depth int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if depth > maxTreeDepth {
		return fmt.Errorf("%w: tree is deeper than %d directories", ErrTooLarge, maxTreeDepth)
	}
	t, err := o.tree(h)
	if err != nil {
		return err
	}
	ft.dirs[dir] = h
	seen := make(map[string]bool, len(t.Entries))
	for _, e := range t.Entries {
		if err := validateName(e.Name); err != nil {
			return err
		}
		if seen[e.Name] {
			return fmt.Errorf("%w: tree %s holds %q twice", vcs.ErrInvalid, h, e.Name)
		}
		seen[e.Name] = true
		p := join(dir, e.Name)
		if e.Mode == filemode.Dir {
			if err := o.flattenInto(ctx, ft, p, e.Hash, depth+1); err != nil {
				return err
			}
			continue
		}
		ft.files[p] = entry{e.Mode, e.Hash}
		ft.order = append(ft.order, p)
	}
	return nil
}

// treeBuilder writes the trees of a file list, reusing those of base where
// nothing changed.
type treeBuilder struct {
	objects  *objects // nil computes hashes and stores nothing
	base     *flatTree
	changed  map[string]bool     // directories with a change in or under them
	children map[string][]string // of changed directories: names of directories
	files    map[string][]string // of changed directories: paths of files
	next     map[string]entry
}

// buildTree stores the tree that holds next, given the paths that differ from
// base, and returns its hash.
func buildTree(o *objects, base *flatTree, next map[string]entry, changed []string) (plumbing.Hash, error) {
	if len(changed) == 0 {
		return base.hash, nil
	}
	b := &treeBuilder{objects: o, base: base, next: next, changed: map[string]bool{"": true},
		children: map[string][]string{}, files: map[string][]string{}}
	for _, p := range changed {
		for d := parent(p); d != "" && !b.changed[d]; d = parent(d) {
			b.changed[d] = true
		}
	}
	b.group()
	return b.build("")
}

func (b *treeBuilder) group() {
	seen := map[string]bool{"": true}
	for p := range b.next {
		d := parent(p)
		if b.changed[d] {
			b.files[d] = append(b.files[d], p)
		}
		for ; !seen[d]; d = parent(d) {
			seen[d] = true
			if up := parent(d); b.changed[up] {
				b.children[up] = append(b.children[up], d)
			}
		}
	}
}

// treeLine is one entry of a tree about to be written.
type treeLine struct {
	name string
	entry
}

// sortKey orders entries as git does: a directory as if its name ended in '/'.
func (l treeLine) sortKey() string {
	if l.mode == filemode.Dir {
		return l.name + "/"
	}
	return l.name
}

func (b *treeBuilder) build(dir string) (plumbing.Hash, error) {
	if h, ok := b.base.dirs[dir]; ok && !b.changed[dir] {
		return h, nil
	}
	var lines []treeLine
	for _, p := range b.files[dir] {
		lines = append(lines, treeLine{p[len(dirPrefix(dir)):], b.next[p]})
	}
	for _, d := range b.children[dir] {
		h, err := b.build(d)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		lines = append(lines, treeLine{d[len(dirPrefix(dir)):], entry{filemode.Dir, h}})
	}
	slices.SortFunc(lines, func(x, y treeLine) int { return cmp.Compare(x.sortKey(), y.sortKey()) })
	var buf bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&buf, "%o %s\x00", uint32(l.mode), l.name)
		buf.Write(l.hash[:])
	}
	if b.objects == nil {
		return plumbing.ComputeHash(plumbing.TreeObject, buf.Bytes()), nil
	}
	return b.objects.put(plumbing.TreeObject, buf.Bytes())
}

func dirPrefix(dir string) string {
	if dir == "" {
		return ""
	}
	return dir + "/"
}
