package git

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sync/errgroup"
)

// scanned is a workspace's state as a tree would hold it.
type scanned struct {
	next    map[string]entry
	changed []string // paths that differ from the base, sorted
	notes   *notes
}

// scanner turns what a walk found into entries.
type scanner struct {
	w       *Workspace
	walker  *walker
	open    func() (*objects, error) // a reader per goroutine
	store   bool                     // whether to write new blobs
	budget  atomic.Int64             // bytes of changed files still allowed
	mu      sync.Mutex               // guards what follows
	next    map[string]entry
	refused []refusal
	learned map[string]cached
}

// refusal is a change that is not taken over.
type refusal struct {
	kind NoteKind
	path string
	text string
}

// scan compares the workspace with its base, reading objects from o and, where
// much is to be read, from further readers. The caller holds w.mu.
func (w *Workspace) scan(ctx context.Context, o *objects, open func() (*objects, error), store bool) (*scanned, error) {
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	s := &scanner{w: w, open: open, store: store, next: make(map[string]entry, len(w.base.files)), learned: map[string]cached{}}
	s.walker = &walker{w: w, objects: o, root: root, notes: newNotes(), found: make([]foundFile, 0, len(w.base.files))}
	s.budget.Store(w.limits.MaxChangedBytes)
	if err := s.walker.walk(ctx); err != nil {
		return nil, fmt.Errorf("walking workspace: %w", err)
	}
	if err := s.hashAll(ctx); err != nil {
		return nil, err
	}
	for p, c := range s.learned {
		w.cache[p] = c
	}
	return s.finish(), nil
}

// fewFiles are read with the reader at hand: opening one costs more.
const fewFiles = 16

// hashAll finds the entry of every file found, reading in parallel those whose
// stamp has changed.
func (s *scanner) hashAll(ctx context.Context) error {
	var unread []foundFile
	for _, f := range s.walker.found {
		if f.isLink() {
			s.link(f)
			continue
		}
		if h, ok := s.remembered(f); ok {
			s.next[f.path] = entry{s.modeOf(f), h}
			continue
		}
		unread = append(unread, f)
	}
	if len(unread) <= fewFiles {
		return s.readThese(ctx, s.walker.objects, unread, &atomic.Int64{})
	}
	var at atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(workers(), len(unread)) {
		g.Go(func() error {
			o, err := s.open()
			if err != nil {
				return err
			}
			defer o.close()
			return s.readThese(ctx, o, unread, &at)
		})
	}
	return g.Wait()
}

// readThese reads files from a list that it may share with others: at counts
// those that are taken.
func (s *scanner) readThese(ctx context.Context, o *objects, list []foundFile, at *atomic.Int64) error {
	for i := at.Add(1) - 1; i < int64(len(list)); i = at.Add(1) - 1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.file(o, list[i]); err != nil {
			return err
		}
	}
	return nil
}

// remembered returns the content's hash when the file has certainly not
// changed since it was read.
func (s *scanner) remembered(f foundFile) (plumbing.Hash, bool) {
	c, ok := s.w.cache[f.path]
	if !ok || !f.known || c.stamp != f.stamp || c.seen.Sub(c.stamp.changed()) < racy {
		return plumbing.ZeroHash, false
	}
	unchanged := s.w.base.files[f.path].hash == c.hash
	return c.hash, unchanged || f.links == 1 && (c.stored || !s.store)
}

// modeOf is a file's mode in a tree; where the base has git's old group-
// writable mode, that stays.
func (s *scanner) modeOf(f foundFile) filemode.FileMode {
	if f.info.Mode()&0o100 != 0 {
		return filemode.Executable
	}
	if s.w.base.files[f.path].mode == filemode.Deprecated {
		return filemode.Deprecated
	}
	return filemode.Regular
}

func (s *scanner) refuse(kind NoteKind, path, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, refusal{kind, path, fmt.Sprintf(format, args...)})
}

func (s *scanner) link(f foundFile) {
	h := plumbing.ComputeHash(plumbing.BlobObject, []byte(f.link))
	e := entry{filemode.Symlink, h}
	if s.w.base.files[f.path] == e {
		s.next[f.path] = e
		return
	}
	if linkEscapes(f.path, f.link) {
		s.refuse(NoteLink, f.path, "leads out of the repository: %q", f.link)
		return
	}
	if s.store {
		if _, err := s.walker.objects.put(plumbing.BlobObject, []byte(f.link)); err != nil {
			s.refuse(NoteUnreadable, f.path, "%v", err)
			return
		}
	}
	s.next[f.path] = e
}

// finish brings what was found together with what is kept from the base.
func (s *scanner) finish() *scanned {
	n := s.walker.notes
	refused := map[string]bool{}
	for _, p := range s.walker.refused {
		refused[p] = true
	}
	for _, r := range s.refused {
		n.add(r.kind, r.path, "%s", r.text)
		refused[r.path] = true
	}
	out := &scanned{next: s.next, notes: n}
	for p, e := range s.w.base.files {
		if _, found := s.next[p]; found {
			continue
		}
		if e.mode == filemode.Submodule {
			n.add(NoteSubmodule, p, "left at %s", e.hash)
		}
		if e.mode == filemode.Submodule || underAny(p, refused) {
			s.keep(p, e)
		}
	}
	for p, e := range s.next {
		if s.w.base.files[p] != e {
			out.changed = append(out.changed, p)
		}
	}
	for p := range s.w.base.files {
		if _, ok := s.next[p]; !ok {
			out.changed = append(out.changed, p)
		}
	}
	slices.Sort(out.changed)
	return out
}

// underAny reports whether p or a directory above it is in the set.
func underAny(p string, set map[string]bool) bool {
	if len(set) == 0 {
		return false
	}
	for ; p != ""; p = parent(p) {
		if set[p] {
			return true
		}
	}
	return set[""]
}

// keep puts the base's entry back; a new file where its directory was gives way.
func (s *scanner) keep(p string, e entry) {
	s.next[p] = e
	for d := parent(p); d != ""; d = parent(d) {
		if _, ok := s.next[d]; ok {
			delete(s.next, d)
			s.walker.notes.add(NoteConflict, d, "stands where %s has to stay", p)
		}
	}
}

// TreeHash returns the hash of the tree a commit of the workspace's present
// state would have: the same as ChangeSet.Tree, without storing anything. An
// unchanged workspace costs a walk.
func (w *Workspace) TreeHash(ctx context.Context) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, err := w.reader()
	if err != nil {
		return "", err
	}
	got, err := w.scan(ctx, o, w.mirror.open, false)
	if err != nil {
		w.dropReader()
		return "", w.mirror.markDamaged(err)
	}
	h, err := buildTree(nil, w.base, got.next, got.changed)
	return h.String(), err
}
