package git

import (
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// maxTreeChanges is where counting the files of one commit ends.
const maxTreeChanges = 5000

// treeChanges lists the files that differ between two trees, sorted, up to a
// limit. What is equal is not read.
func (o *objects) treeChanges(a, b plumbing.Hash, limit int) ([]string, error) {
	t := &treeCompare{objects: o, limit: limit}
	if err := t.compare("", a, b, 0); err != nil {
		return nil, err
	}
	slices.Sort(t.out)
	return t.out, nil
}

type treeCompare struct {
	*objects
	limit int
	out   []string
}

func (t *treeCompare) compare(dir string, a, b plumbing.Hash, depth int) error {
	if a == b || len(t.out) >= t.limit || depth > maxTreeDepth {
		return nil
	}
	before, err := t.entriesOf(a)
	if err != nil {
		return err
	}
	after, err := t.entriesOf(b)
	if err != nil {
		return err
	}
	for name, e := range before {
		if err := t.entry(join(dir, name), e, after[name], depth); err != nil {
			return err
		}
	}
	for name, e := range after {
		if _, ok := before[name]; ok {
			continue
		}
		if err := t.entry(join(dir, name), entry{}, e, depth); err != nil {
			return err
		}
	}
	return nil
}

// entry compares what two trees have under one name.
func (t *treeCompare) entry(p string, a, b entry, depth int) error {
	if a == b {
		return nil
	}
	var dirs [2]plumbing.Hash
	file := false
	for i, e := range [2]entry{a, b} {
		dirs[i] = emptyTree
		if e.mode == filemode.Dir {
			dirs[i] = e.hash
		} else if e != (entry{}) {
			file = true
		}
	}
	if file && len(t.out) < t.limit {
		t.out = append(t.out, p)
	}
	return t.compare(p, dirs[0], dirs[1], depth+1)
}

func (t *treeCompare) entriesOf(h plumbing.Hash) (map[string]entry, error) {
	tree, err := t.tree(h)
	if err != nil {
		return nil, err
	}
	out := make(map[string]entry, len(tree.Entries))
	for _, e := range tree.Entries {
		out[e.Name] = entry{e.Mode, e.Hash}
	}
	return out, nil
}
