package git

import (
	"container/heap"
	"context"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/greenwright/greenwright/vcs"
)

// deepenSteps are the depths tried when history is missing; the last is git's
// own "everything" (INFINITE_DEPTH).
var deepenSteps = [...]int{50, 500, 5000, infiniteDepth}

const infiniteDepth = 0x7fffffff

// errShallow says that the history held does not answer the question.
var errShallow = errors.New("history is cut short")

// HasCommit reports whether the mirror holds the commit and its tree.
func (m *Mirror) HasCommit(ctx context.Context, sha string) (bool, error) {
	o, done, err := m.read(ctx)
	if errors.Is(err, vcs.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer done()
	return o.complete(sha)
}

// complete reports whether a commit and its top tree are there.
func (o *objects) complete(sha string) (bool, error) {
	c, err := o.commit(sha)
	if errors.Is(err, vcs.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return c.TreeHash == emptyTree || o.has(c.TreeHash), nil
}

// IsAncestor reports whether ancestor is descendant or comes before it. When
// the mirror's history is too short and remote has a URL, it is deepened;
// without one the answer is then an error.
func (m *Mirror) IsAncestor(ctx context.Context, remote vcs.Remote, ancestor, descendant string) (bool, error) {
	var yes bool
	err := m.deepening(ctx, remote, []string{descendant}, func(o *objects) error {
		set, cut, err := o.ancestors(ctx, descendant)
		if err != nil {
			return err
		}
		yes = set[plumbing.NewHash(ancestor)]
		if !yes && cut {
			return errShallow
		}
		return nil
	})
	return yes, err
}

// MergeBase returns the newest common ancestor of two commits, deepening the
// mirror from remote where needed; vcs.ErrNotFound when there is none.
func (m *Mirror) MergeBase(ctx context.Context, remote vcs.Remote, a, b string) (string, error) {
	var found string
	err := m.deepening(ctx, remote, []string{a, b}, func(o *objects) error {
		set, cutA, err := o.ancestors(ctx, a)
		if err != nil {
			return err
		}
		cutB, err := o.walk(ctx, b, func(h plumbing.Hash) bool {
			if set[h] {
				found = h.String()
			}
			return found == ""
		})
		if err == nil && found == "" && (cutA || cutB) {
			return errShallow
		}
		return err
	})
	if err == nil && found == "" {
		return "", fmt.Errorf("%w: %s and %s have no common ancestor", vcs.ErrNotFound, a, b)
	}
	return found, err
}

// Deepen brings up to depth commits of history behind each commit into the
// mirror. The server has to allow fetching the commits by name.
func (m *Mirror) Deepen(ctx context.Context, remote vcs.Remote, depth int, commits ...string) error {
	for _, c := range commits {
		if err := vcs.ValidateSHA(c); err != nil {
			return err
		}
	}
	_, err := m.fetch(ctx, remote, fetchPlan{refs: commits, depth: depth, always: true})
	return err
}

// deepening asks the question again with ever more history.
func (m *Mirror) deepening(ctx context.Context, remote vcs.Remote, tips []string, ask func(*objects) error) error {
	for step := 0; ; step++ {
		err := func() error {
			o, done, err := m.read(ctx)
			if err != nil {
				return err
			}
			defer done()
			return ask(o)
		}()
		if !errors.Is(err, errShallow) || remote.URL == "" || step >= len(deepenSteps) {
			return m.markDamaged(err)
		}
		wants, err := m.fetched(ctx, tips)
		if err != nil {
			return err
		}
		if err := m.Deepen(ctx, remote, deepenSteps[step], wants...); err != nil {
			return fmt.Errorf("deepening the mirror of %s: %w", m.repo, err)
		}
	}
}

// fetched replaces commits made here, which the remote does not know, by the
// commits they were made on.
func (m *Mirror) fetched(ctx context.Context, tips []string) ([]string, error) {
	o, done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	var out []string
	for _, tip := range tips {
		_, bases, err := o.madeChain(tip)
		if err != nil {
			return nil, err
		}
		for _, b := range bases {
			out = append(out, b.String())
		}
	}
	return out, nil
}

// ancestors is every commit reachable from tip, itself included; cut tells
// that the shallow boundary was met.
func (o *objects) ancestors(ctx context.Context, tip string) (set map[plumbing.Hash]bool, cut bool, err error) {
	set = map[plumbing.Hash]bool{}
	cut, err = o.walk(ctx, tip, func(h plumbing.Hash) bool {
		set[h] = true
		return true
	})
	return set, cut, err
}

// walk visits the commits reachable from tip, newest first, until visit
// returns false; cut tells that parents of some are not held.
func (o *objects) walk(ctx context.Context, tip string, visit func(plumbing.Hash) bool) (cut bool, err error) {
	first, err := o.commit(tip)
	if err != nil {
		return false, err
	}
	shallow, err := o.shallows()
	if err != nil {
		return false, err
	}
	seen := map[plumbing.Hash]bool{first.Hash: true}
	queue := &commitHeap{first}
	for queue.Len() > 0 {
		if err := ctx.Err(); err != nil {
			return cut, err
		}
		c := heap.Pop(queue).(*object.Commit)
		if !visit(c.Hash) {
			return cut, nil
		}
		if shallow[c.Hash] && len(c.ParentHashes) > 0 {
			cut = true
			continue
		}
		for _, p := range c.ParentHashes {
			if seen[p] {
				continue
			}
			seen[p] = true
			pc, err := object.GetCommit(o.st, p)
			if err != nil {
				return cut, missing("commit", p, err)
			}
			heap.Push(queue, pc)
		}
	}
	return cut, nil
}

// commitHeap yields the newest commit first.
type commitHeap []*object.Commit

func (h commitHeap) Len() int           { return len(h) }
func (h commitHeap) Less(i, j int) bool { return h[i].Committer.When.After(h[j].Committer.When) }
func (h commitHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *commitHeap) Push(x any) { *h = append(*h, x.(*object.Commit)) }

// Pop implements heap.Interface.
func (h *commitHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
