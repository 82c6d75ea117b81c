package git

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/greenwright/greenwright/vcs"
)

const (
	// coCommits is how many commits CoChanged looks at, and coFiles above how
	// many files a commit says nothing about which belong together.
	coCommits = 500
	coFiles   = 50
	// maxCoChanged is how many paths it names.
	maxCoChanged = 20
)

// CoChanged names the files that changed most often together with any of the
// paths, best first, at most 20, of those that the commit still has. It looks
// at the newest 500 commits before the commit and passes over merges and
// commits of more than 50 files; a small commit counts for more than a large
// one. A shallow history gives what it has.
func (m *Mirror) CoChanged(ctx context.Context, commit string, paths []string) ([]string, error) {
	o, done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	h, err := o.history(commit)
	if err != nil {
		return nil, m.markDamaged(err)
	}
	co := &coChange{past: h, of: map[string]bool{}, score: map[string]float64{}}
	for _, p := range paths {
		co.of[p] = true
	}
	tip := h.queue[0]
	var cut *CutError
	if err := h.walk(ctx, co.visit); err != nil && !errors.As(err, &cut) {
		return nil, m.markDamaged(err)
	}
	return co.best(tip)
}

type coChange struct {
	*past
	of    map[string]bool
	score map[string]float64
}

func (co *coChange) visit(c *object.Commit) error {
	parents, err := co.parents(c)
	if err != nil {
		return err
	}
	co.push(parents...)
	if co.met > coCommits {
		return errEnough
	}
	if len(parents) > 1 || co.ends(c) {
		return nil
	}
	before := emptyTree
	if len(parents) == 1 {
		before = parents[0].TreeHash
	}
	files, err := co.treeChanges(before, c.TreeHash, coFiles+1)
	if err != nil || len(files) > coFiles || !slices.ContainsFunc(files, func(f string) bool { return co.of[f] }) {
		return err
	}
	for _, f := range files {
		if !co.of[f] {
			co.score[f] += 1 / float64(len(files))
		}
	}
	return nil
}

func (co *coChange) best(tip *object.Commit) ([]string, error) {
	all := make([]string, 0, len(co.score))
	for p := range co.score {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(cmp.Compare(co.score[b], co.score[a]), cmp.Compare(a, b)) })
	var out []string
	for _, p := range all {
		if len(out) == maxCoChanged {
			break
		}
		switch _, err := co.lookup(tip.TreeHash, p); {
		case errors.Is(err, vcs.ErrNotFound):
		case err != nil:
			return nil, err
		default:
			out = append(out, p)
		}
	}
	return out, nil
}
