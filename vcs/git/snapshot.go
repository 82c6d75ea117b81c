package git

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/greenwright/greenwright/vcs"
)

// FirstSnapshot is the id of the state in which snapshots began.
const FirstSnapshot = "start"

// spare is room for what a look finds beyond what was there at first.
const spare = 64

// Defaults of SnapshotOptions.
const (
	defaultSnapshotFile    = 32 << 20
	defaultSnapshotBytes   = 1 << 30
	defaultSnapshotIgnored = 5000
	defaultSnapshotKeep    = 50 // RUNTIME 1.9
)

// SnapshotOptions bounds what snapshots keep. Zero fields mean the defaults.
type SnapshotOptions struct {
	// Dir is a private directory outside of the workspace for what the mirror
	// does not have; it is made, belongs to the snapshots, and goes with Close.
	Dir string
	// MaxFileBytes is the largest file kept that the base does not hold; 32 MB.
	MaxFileBytes int64
	// MaxBytes is what all snapshots of the run store together; 1 GiB.
	MaxBytes int64
	// MaxIgnored is how many files and directories of one ignored directory
	// are told apart: one with more is left alone as a whole; 5,000.
	MaxIgnored int
	// Keep is how many snapshots are kept; 50. Beyond it every second of the
	// older half goes, never the first.
	Keep int
	// Series goes into new ids, so that two workers that both believe they own
	// a run never give the same one: up to 20 of a-z and 0-9, for instance the
	// token of a lease. Empty for none.
	Series string
}

func (o SnapshotOptions) withDefaults() SnapshotOptions {
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = defaultSnapshotFile
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultSnapshotBytes
	}
	if o.MaxIgnored <= 0 {
		o.MaxIgnored = defaultSnapshotIgnored
	}
	if o.Keep <= 0 {
		o.Keep = defaultSnapshotKeep
	}
	return o
}

// Left is a path that snapshots do not keep, or that a restore left as it is.
type Left struct {
	Path string
	Why  string // for people
}

// Snapshot describes a kept state.
type Snapshot struct {
	ID    string
	Label string
	Left  []Left // what it does not hold, at most a few
}

// Snapshots keeps states of a workspace's files as they are on disk: bytes
// (not what a commit would make of them), permission bits, links, empty
// directories. It is safe for concurrent use.
//
// What was ignored when it began is nobody's business here: it is neither
// kept, nor changed, nor removed, not even when the rules change. What the run
// made, ignored or not, is kept. A .git, submodules, and owners are not.
type Snapshots struct {
	w    *Workspace
	opts SnapshotOptions

	mu      sync.Mutex // guards what follows; taken before w.mu
	store   *objects   // private objects
	stored  map[plumbing.Hash]bool
	bytes   int64
	foreign map[string]foreignKind
	opaque  map[string]bool // ignored directories of the run's with too much in them
	cache   map[string]cached
	start   map[string]node
	list    []*kept // oldest first
	serial  int
	exports *exports // nil before the first
	closed  bool
}

// kept is one state: its difference from the first.
type kept struct {
	Snapshot
	changed map[string]node // the zero node is a path that is not there
}

// foreignKind says how an ignored path stood there at the beginning.
type foreignKind uint8

const (
	foreignEntry  foreignKind = iota + 1 // a file, or a directory whose content is told apart
	foreignOpaque                        // a directory that is left alone whatever is in it
)

// Snapshots begins to keep states, the present one first, as [FirstSnapshot].
func (w *Workspace) Snapshots(ctx context.Context, opts SnapshotOptions) (*Snapshots, error) {
	s := &Snapshots{
		w: w, opts: opts.withDefaults(), stored: map[plumbing.Hash]bool{}, cache: map[string]cached{},
		foreign: map[string]foreignKind{}, opaque: map[string]bool{},
	}
	if opts.Dir == "" {
		return nil, fmt.Errorf("%w: no directory for snapshots", vcs.ErrInvalid)
	}
	if !snapshotID.MatchString(s.id(1)) {
		return nil, fmt.Errorf("%w: series %q of snapshots", vcs.ErrInvalid, opts.Series)
	}
	dir, err := filepath.Abs(opts.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolving the snapshots' directory: %w", err)
	}
	s.opts.Dir = dir
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("emptying the snapshots' directory: %w", err)
	}
	if err := initBare(dir); err != nil {
		return nil, err
	}
	s.store = openCached(dir, keptCacheBytes)
	st, err := s.look(ctx, true)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.start = st.nodes
	s.list = []*kept{{Snapshot: Snapshot{ID: FirstSnapshot, Label: "as the run began", Left: st.someLeft()}, changed: map[string]node{}}}
	return s, nil
}

// Close removes what was kept. The workspace stays as it is.
func (s *Snapshots) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.store.close()
	if err := os.RemoveAll(s.opts.Dir); err != nil {
		return fmt.Errorf("removing snapshots: %w", err)
	}
	return nil
}

// Take keeps the present state and returns its id: the last one's when nothing
// has changed since.
func (s *Snapshots) Take(ctx context.Context, label string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, err := s.look(ctx, false)
	if err != nil {
		return "", err
	}
	return s.add(st, label), nil
}

// List names what is kept, oldest first.
func (s *Snapshots) List() []Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Snapshot, len(s.list))
	for i, k := range s.list {
		out[i] = k.Snapshot
	}
	return out
}

func (s *Snapshots) add(st *state, label string) string {
	changed := st.since(s.start)
	last := s.list[len(s.list)-1]
	if maps.Equal(changed, last.changed) {
		return last.ID
	}
	s.serial++
	id := s.id(s.serial)
	s.list = append(s.list, &kept{Snapshot: Snapshot{ID: id, Label: label, Left: st.someLeft()}, changed: changed})
	s.thin()
	return id
}

func (s *Snapshots) id(n int) string {
	if s.opts.Series == "" {
		return "s" + strconv.Itoa(n)
	}
	return "s" + strconv.Itoa(n) + "-" + s.opts.Series
}

// thin drops every second of the older half, but the first.
func (s *Snapshots) thin() {
	if len(s.list) <= s.opts.Keep {
		return
	}
	half := max(len(s.list)/2, 2)
	out := s.list[:1:1]
	for i := 2; i < half; i += 2 {
		out = append(out, s.list[i])
	}
	s.list = append(out, s.list[half:]...)
}

func (s *Snapshots) find(id string) (*kept, error) {
	for _, k := range s.list {
		if k.ID == id {
			return k, nil
		}
	}
	return nil, fmt.Errorf("%w: snapshot %q", vcs.ErrNotFound, id)
}

// look finds the present state and stores what is new in it. The first look
// settles what is foreign.
func (s *Snapshots) look(ctx context.Context, first bool) (*state, error) {
	if s.closed {
		return nil, fmt.Errorf("%w: snapshots are closed", vcs.ErrInvalid)
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	o, err := s.w.reader()
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(s.w.dir)
	if err != nil {
		return nil, fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	k := &snapWalk{walker: walker{w: s.w, objects: o, root: root, notes: newNotes(), inodes: map[[2]uint64]uint64{}}, s: s, first: first, list: make([]seenNode, 0, len(s.start)+spare)}
	if err := k.walk(ctx); err != nil {
		return nil, fmt.Errorf("walking workspace: %w", s.w.mirror.markDamaged(err))
	}
	return k.read(ctx)
}
