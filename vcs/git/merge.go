package git

import (
	"context"
	"maps"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/greenwright/greenwright/vcs"
)

// differing lists the paths at which two file lists differ, sorted.
func differing(a, b map[string]entry) []string {
	set := map[string]bool{}
	for p, e := range a {
		if b[p] != e {
			set[p] = true
		}
	}
	for p := range b {
		if _, ok := a[p]; !ok {
			set[p] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// MergeTrees carries the changes from tree base to tree ours over to tree
// theirs (rule P6: a person pushed meanwhile) and stores the result. Trees or
// commits may be named. Where both sides changed the same file differently,
// its path is in conflicts and the result is not to be used; files are taken
// whole, lines are never merged, so that no text arises that nobody has run.
func (m *Mirror) MergeTrees(ctx context.Context, base, ours, theirs string) (tree string, conflicts []string, err error) {
	o, done, err := m.read(ctx)
	if err != nil {
		return "", nil, err
	}
	defer done()
	var ft [3]*flatTree
	for i, name := range []string{base, ours, theirs} {
		if ft[i], err = o.flatNamed(ctx, name); err != nil {
			return "", nil, m.markDamaged(err)
		}
	}
	b, us, them := ft[0].files, ft[1].files, ft[2].files
	next, changed := maps.Clone(them), []string(nil)
	for _, p := range differing(b, us) {
		switch e, ok := us[p]; {
		case them[p] == us[p]:
			continue
		case them[p] != b[p]:
			conflicts = append(conflicts, p)
			continue
		case ok:
			next[p] = e
		default:
			delete(next, p)
		}
		changed = append(changed, p)
	}
	conflicts = append(conflicts, fileOverDir(next)...)
	if len(conflicts) > 0 {
		return "", conflicts, nil
	}
	h, err := buildTree(o, ft[2], next, changed)
	return h.String(), nil, err
}

// fileOverDir lists files that stand where others need a directory.
func fileOverDir(files map[string]entry) []string {
	var bad []string
	for p := range files {
		for d := parent(p); d != ""; d = parent(d) {
			if _, ok := files[d]; ok {
				bad = append(bad, d)
			}
		}
	}
	slices.Sort(bad)
	return slices.Compact(bad)
}

// flatNamed lays out the tree of a commit or the tree itself.
func (o *objects) flatNamed(ctx context.Context, sha string) (*flatTree, error) {
	if err := vcs.ValidateSHA(sha); err != nil {
		return nil, err
	}
	h := plumbing.NewHash(sha)
	if c, err := o.commit(sha); err == nil {
		h = c.TreeHash
	}
	return o.flatten(ctx, h)
}
