package outline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// The bounds of one build (RUNTIME 1.5). What is beyond them is left out and
// said in [Index.LeftOut].
const (
	MaxFiles     = 20_000
	MaxReadBytes = 50 << 20
	MaxBuildTime = 3 * time.Second
	// DefaultCacheBytes bounds what a Builder keeps between builds.
	DefaultCacheBytes = 64 << 20
	maxPaths          = 100_000
	maxTextBytes      = 64 << 10 // of a file that is no source
	maxWorkers        = 4
)

// Builder builds indexes and keeps what it learnt of each content, so that a
// second build reads only what changed. It is safe for concurrent use.
type Builder struct {
	limit int
	now   func() time.Time

	mu     sync.Mutex // guards the rest
	byHash map[string]*kept
	byPath map[string]seen
	bytes  int
	round  int
}

type kept struct {
	facts *facts
	round int // of the last build that used it
}

// seen is what a path held at a stamp.
type seen struct {
	stamp stamp
	hash  string
}

// NewBuilder makes a builder that keeps about cacheBytes, [DefaultCacheBytes]
// when zero. now is the clock, time.Now when nil.
func NewBuilder(cacheBytes int, now func() time.Time) *Builder {
	if now == nil {
		now = time.Now
	}
	return &Builder{
		limit: cmp.Or(cacheBytes, DefaultCacheBytes), now: now,
		byHash: make(map[string]*kept), byPath: make(map[string]seen),
	}
}

// errEnough ends a walk over too many files.
var errEnough = errors.New("outline: enough files")

// Build reads the tree. It fails only when ctx ends or the tree cannot be
// walked; what did not fit into the bounds is left out.
func (b *Builder) Build(ctx context.Context, tree Tree) (*Index, error) {
	deadline, cancel := context.WithTimeout(ctx, MaxBuildTime)
	defer cancel()
	entries, missed, err := b.list(ctx, tree)
	if err != nil {
		return nil, fmt.Errorf("listing files for the index: %w", err)
	}
	x := &Index{paths: make([]string, 0, len(entries))}
	for _, e := range entries {
		x.paths = append(x.paths, e.Path)
	}
	slices.Sort(x.paths)
	todo, left := choose(entries)
	x.left = left
	x.left.Paths = missed
	b.mu.Lock()
	b.round++
	b.mu.Unlock()
	b.readAll(deadline, tree, todo, x)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("building the index: %w", err)
	}
	b.evict()
	x.finish()
	return x, nil
}

// list collects the files of the tree.
func (b *Builder) list(ctx context.Context, tree Tree) (entries []Entry, missed bool, err error) {
	err = tree.Walk(ctx, func(e Entry) error {
		if len(entries) == maxPaths {
			return errEnough
		}
		entries = append(entries, e)
		return nil
	})
	if errors.Is(err, errEnough) {
		return entries, true, nil
	}
	return entries, false, err
}

// choose orders the files (own source first, shallow first) and cuts the list
// at the bounds.
func choose(entries []Entry) (todo []Entry, left LeftOut) {
	type ranked struct {
		Entry
		class class
		depth int
	}
	all := make([]ranked, 0, len(entries))
	for _, e := range entries {
		if !worthReading(e) {
			left.Large++
			continue
		}
		all = append(all, ranked{e, classOf(e.Path), strings.Count(e.Path, "/")})
	}
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.depth, b.depth), strings.Compare(a.Path, b.Path))
	})
	total := int64(0)
	for _, r := range all {
		if len(todo) == MaxFiles || total+r.Size > MaxReadBytes {
			left.Files++
			continue
		}
		total += r.Size
		todo = append(todo, r.Entry)
	}
	return todo, left
}

func worthReading(e Entry) bool {
	if Supported(e.Path) {
		return e.Size <= MaxBytes
	}
	return e.Size <= maxTextBytes
}

// readAll fills the index; what ctx leaves no time for is counted.
func (b *Builder) readAll(ctx context.Context, tree Tree, todo []Entry, x *Index) {
	x.files = make([]indexed, len(todo))
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(maxWorkers, runtime.GOMAXPROCS(0), max(1, len(todo))) {
		wg.Go(func() {
			s := newScratch()
			for i := range next {
				if f := b.one(tree, todo[i], s); f != nil {
					x.files[i] = indexed{path: todo[i].Path, facts: f}
				}
			}
		})
	}
	sent := 0
	for ; sent < len(todo) && ctx.Err() == nil; sent++ {
		next <- sent
	}
	close(next)
	wg.Wait()
	x.left.Late = len(todo) - sent
	x.files = slices.DeleteFunc(x.files, func(f indexed) bool { return f.facts == nil })
}

// one is the facts of a file, from the cache when its content is known.
func (b *Builder) one(tree Tree, e Entry, s *scratch) *facts {
	stamp, sure := stampOf(e, b.now())
	if f := b.known(e, stamp, sure); f != nil {
		return f
	}
	src, err := tree.Read(e.Path)
	if err != nil {
		return nil // gone or unreadable: it is not in the index
	}
	// The language is part of the key: it comes from the name.
	sum := sha256.Sum256(src)
	hash := kindOfName(e.Path) + hex.EncodeToString(sum[:16])
	if e.Hash != "" {
		hash = kindOfName(e.Path) + e.Hash
	}
	b.mu.Lock()
	k := b.byHash[hash]
	b.mu.Unlock()
	if k == nil {
		k = &kept{facts: s.facts(e.Path, src)}
	}
	b.keep(e.Path, hash, k, stamp, sure)
	return k.facts
}

func kindOfName(name string) string {
	if l := languageOf(name); l != nil {
		return l.name + ":"
	}
	return ":"
}

// known is the facts of an entry that need not be read.
func (b *Builder) known(e Entry, now stamp, sure bool) *facts {
	b.mu.Lock()
	defer b.mu.Unlock()
	hash := ""
	if e.Hash != "" {
		hash = kindOfName(e.Path) + e.Hash
	} else if was, ok := b.byPath[e.Path]; ok && sure && was.stamp == now {
		hash = was.hash
	}
	if k := b.byHash[hash]; k != nil {
		k.round = b.round
		return k.facts
	}
	return nil
}

func (b *Builder) keep(path, hash string, k *kept, s stamp, sure bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.byHash[hash] == nil {
		b.byHash[hash] = k
		b.bytes += k.facts.bytes
	}
	b.byHash[hash].round = b.round
	if sure && (b.byPath[path] != seen{} || len(b.byPath) < maxPaths) {
		b.byPath[path] = seen{s, hash}
	}
}

// evict drops contents until the cache is within its bound, those that the
// last build did not use first.
func (b *Builder) evict() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes <= b.limit {
		return
	}
	hashes := make([]string, 0, len(b.byHash))
	for h := range b.byHash {
		hashes = append(hashes, h)
	}
	slices.SortFunc(hashes, func(x, y string) int {
		return cmp.Or(cmp.Compare(b.byHash[x].round, b.byHash[y].round), strings.Compare(x, y))
	})
	for _, h := range hashes {
		if b.bytes <= b.limit {
			break
		}
		b.bytes -= b.byHash[h].facts.bytes
		delete(b.byHash, h)
	}
}
