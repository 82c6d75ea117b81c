package git

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/greenwright/greenwright/vcs"
)

const (
	// historyTime and historyCommits bound one question about history.
	historyTime    = 10 * time.Second
	historyCommits = 10_000
	// maxLogFiles is how many changed files of a commit are named.
	maxLogFiles = 20
	// maxMessage bounds a commit's message in bytes.
	maxMessage = 64 << 10
)

// CutError is an error beside an answer that is not the whole one: the mirror's
// history is shallow, or a limit was met. Its text is for people.
type CutError struct{ Why string }

// Error implements error.
func (c *CutError) Error() string { return c.Why }

// LogQuery selects commits.
type LogQuery struct {
	Path  string // file or directory, empty means all; renames are not followed
	Text  string // in the message, ignoring case; empty means any
	Limit int    // how many at most; 0 is 1
}

// LogEntry is one commit. All text in it is untrusted.
type LogEntry struct {
	ID      string
	Author  string // the name alone
	Date    time.Time
	Message string
	// Files changed against the only parent, at most 20; More counts the rest.
	// Merges name none.
	Files []string
	More  int
}

// Log lists the commits reachable from one, newest first, as git log does,
// also in how merges are passed over when a path is given. At most 10,000
// commits are looked at, for 10 seconds; with what was found until then comes
// a [*CutError].
//
// Errors: vcs.ErrNotFound (the commit), vcs.ErrInvalid (the path), *CutError.
func (m *Mirror) Log(ctx context.Context, commit string, q LogQuery) ([]LogEntry, error) {
	if q.Path != "" {
		if err := ValidatePath(q.Path); err != nil {
			return nil, err
		}
	}
	o, done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	h, err := o.history(commit)
	if err != nil {
		return nil, m.markDamaged(err)
	}
	l := &logging{past: h, q: q}
	l.q.Limit, l.q.Text = max(q.Limit, 1), strings.ToLower(q.Text)
	err = h.walk(ctx, l.visit)
	return l.out, m.markDamaged(err)
}

// past walks a commit's history within limits.
type past struct {
	*objects
	shallow map[plumbing.Hash]bool
	queue   commitHeap
	seen    map[plumbing.Hash]bool
	entries map[plumbing.Hash]entry // of one path, by top tree
	met     int
	cut     string
}

func (o *objects) history(commit string) (*past, error) {
	first, err := o.commit(commit)
	if err != nil {
		return nil, err
	}
	shallow, err := o.shallows()
	if err != nil {
		return nil, err
	}
	return &past{objects: o, shallow: shallow, queue: commitHeap{first}, seen: map[plumbing.Hash]bool{first.Hash: true}, entries: map[plumbing.Hash]entry{}}, nil
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// walk visits commits, newest first; visit pushes the parents to go on with.
// A *CutError tells that it was not the whole history.
func (h *past) walk(ctx context.Context, visit func(*object.Commit) error) error {
	end := time.Now().Add(historyTime)
	for len(h.queue) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if h.met++; h.met > historyCommits {
			return &CutError{fmt.Sprintf("only the newest %d commits were looked at", historyCommits)}
		}
		if time.Now().After(end) {
			return &CutError{fmt.Sprintf("after %s, %d commits had been looked at", historyTime, h.met)}
		}
		err := visit(heap.Pop(&h.queue).(*object.Commit))
		if errors.Is(err, errEnough) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if h.cut != "" {
		return &CutError{h.cut}
	}
	return nil
}

// parents reads a commit's parents; none, and a note, where history ends
// because the mirror does not hold more.
func (h *past) parents(c *object.Commit) ([]*object.Commit, error) {
	if h.shallow[c.Hash] && len(c.ParentHashes) > 0 {
		h.cut = "older commits are not here"
		return nil, nil
	}
	var out []*object.Commit
	for _, p := range c.ParentHashes {
		pc, err := object.GetCommit(h.st, p)
		if err != nil {
			return nil, missing("commit", p, err)
		}
		out = append(out, pc)
	}
	return out, nil
}

// ends reports whether what came before a commit is not known.
func (h *past) ends(c *object.Commit) bool { return h.shallow[c.Hash] && len(c.ParentHashes) > 0 }

func (h *past) push(commits ...*object.Commit) {
	for _, c := range commits {
		if !h.seen[c.Hash] {
			h.seen[c.Hash] = true
			heap.Push(&h.queue, c)
		}
	}
}

// entryAt is what a commit has at a path, zero for nothing.
func (h *past) entryAt(c *object.Commit, path string) (entry, error) {
	if e, ok := h.entries[c.TreeHash]; ok {
		return e, nil
	}
	e, err := h.lookup(c.TreeHash, path)
	if errors.Is(err, vcs.ErrNotFound) {
		e, err = entry{}, nil
	}
	if err == nil {
		h.entries[c.TreeHash] = e
	}
	return e, err
}

// logging is one Log.
type logging struct {
	*past
	q   LogQuery
	out []LogEntry
}

func (l *logging) visit(c *object.Commit) error {
	parents, err := l.parents(c)
	if err != nil {
		return err
	}
	touches, next, err := l.simplify(c, parents)
	if err != nil {
		return err
	}
	l.push(next...)
	if !touches || l.q.Text != "" && !strings.Contains(strings.ToLower(c.Message), l.q.Text) {
		return nil
	}
	if err := l.add(c, parents); err != nil {
		return err
	}
	if len(l.out) >= l.q.Limit {
		return errEnough
	}
	return nil
}

// simplify says whether a commit changed the path, and with which parents to
// go on: with the first that has the path as it is, if there is one (git's
// default simplification of history).
func (l *logging) simplify(c *object.Commit, parents []*object.Commit) (touches bool, next []*object.Commit, err error) {
	if l.q.Path == "" {
		return true, parents, nil
	}
	now, err := l.entryAt(c, l.q.Path)
	if err != nil {
		return false, nil, err
	}
	for _, p := range parents {
		before, err := l.entryAt(p, l.q.Path)
		if err != nil {
			return false, nil, err
		}
		if before == now {
			return false, []*object.Commit{p}, nil
		}
	}
	if len(parents) == 0 { // nobody knows what the end of a shallow history changed
		return now != entry{} && !l.ends(c), nil, nil
	}
	return true, parents, nil
}

func (l *logging) add(c *object.Commit, parents []*object.Commit) error {
	e := LogEntry{ID: c.Hash.String(), Author: c.Author.Name, Date: c.Author.When, Message: c.Message[:min(len(c.Message), maxMessage)]}
	if len(parents) <= 1 && !l.ends(c) {
		before := emptyTree
		if len(parents) == 1 {
			before = parents[0].TreeHash
		}
		files, err := l.treeChanges(before, c.TreeHash, maxTreeChanges)
		if err != nil {
			return err
		}
		e.Files = files[:min(len(files), maxLogFiles)]
		e.More = len(files) - len(e.Files)
	}
	l.out = append(l.out, e)
	return nil
}

// HasHistory reports whether the mirror holds so many commits before a commit,
// or all that there are.
func (m *Mirror) HasHistory(ctx context.Context, commit string, depth int) (bool, error) {
	o, done, err := m.read(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	n := 0
	cut, err := o.walk(ctx, commit, func(plumbing.Hash) bool { n++; return n <= depth })
	return err == nil && (!cut || n > depth), m.markDamaged(err)
}
