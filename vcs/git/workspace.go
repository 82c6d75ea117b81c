package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"

	"github.com/greenwright/greenwright/vcs"
)

// Defaults of WorkspaceLimits.
const (
	defaultMaxFileBytes    = 100 << 20 // GitHub refuses larger files
	defaultMaxChangedBytes = 1 << 30
	defaultMaxEntries      = 1_000_000
	defaultMaxDepth        = 128
)

// WorkspaceLimits bounds what is read back from a workspace. Zero fields mean
// the defaults.
type WorkspaceLimits struct {
	MaxFileBytes    int64 // of one changed file; larger ones are refused with a note; 100 MB
	MaxChangedBytes int64 // of all changed files; what is over is refused with a note; 1 GiB
	MaxEntries      int   // files and directories looked at; over it ErrTooLarge; 1,000,000
	MaxDepth        int   // directories in directories; deeper ones are refused with a note; 128
}

func (l WorkspaceLimits) withDefaults() WorkspaceLimits {
	if l.MaxFileBytes <= 0 {
		l.MaxFileBytes = defaultMaxFileBytes
	}
	if l.MaxChangedBytes <= 0 {
		l.MaxChangedBytes = defaultMaxChangedBytes
	}
	if l.MaxEntries <= 0 {
		l.MaxEntries = defaultMaxEntries
	}
	if l.MaxDepth <= 0 {
		l.MaxDepth = defaultMaxDepth
	}
	return l
}

// CheckoutOptions says how a workspace is made.
type CheckoutOptions struct {
	// UID and GID own the files when positive; else the process does. Giving
	// files away needs the right to.
	UID, GID int
	// Branch is the name of the branch in the workspace's own .git; empty is
	// "work".
	Branch string
	// NoDotGit leaves the workspace without a .git.
	NoDotGit bool
	Limits   WorkspaceLimits
}

const defaultBranch = "work"

func (c CheckoutOptions) setsOwner() bool { return c.UID > 0 || c.GID > 0 }

// owner is what to pass to chown: -1 leaves as it is.
func (c CheckoutOptions) owner() (uid, gid int) {
	uid, gid = -1, -1
	if c.UID > 0 {
		uid = c.UID
	}
	if c.GID > 0 {
		gid = c.GID
	}
	return uid, gid
}

func (c CheckoutOptions) withDefaults() (CheckoutOptions, error) {
	if c.Branch == "" {
		c.Branch = defaultBranch
	}
	c.Limits = c.Limits.withDefaults()
	return c, vcs.ValidateBranch(c.Branch)
}

// Workspace is a directory made for a run, hostile once a command has run in
// it, together with the base tree in the trusted mirror. It is safe for
// concurrent use. While it is open its mirror is not pruned.
type Workspace struct {
	mirror *Mirror
	dir    string
	commit string
	limits WorkspaceLimits
	base   *flatTree
	attrs  *attributes
	held   *fileLock

	uid, gid int // own what is written, -1 for the process

	mu      sync.Mutex
	cache   map[string]cached // guarded by mu
	objects *objects          // guarded by mu; see reader
}

// cached is what a file's content was, and when that was found out.
type cached struct {
	stamp stamp
	hash  plumbing.Hash
	seen  time.Time
	// stored is whether the mirror has the blob, if it is not the base's.
	stored bool
}

// racy is how coarse file times may be: a file changed this shortly before it
// was looked at may change again without a trace (kernel ticks are 1-10 ms).
const racy = 20 * time.Millisecond

// Dir is the workspace's directory, absolute.
func (w *Workspace) Dir() string { return w.dir }

// Base is the commit the workspace was made from.
func (w *Workspace) Base() string { return w.commit }

// BaseTree is the tree of Base.
func (w *Workspace) BaseTree() string { return w.base.hash.String() }

// Close lets the mirror go. The directory stays: it is the caller's.
func (w *Workspace) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropReader()
	if w.held != nil {
		w.held.release()
		w.held = nil
	}
	return nil
}

// keptCacheBytes bounds the delta bases that the kept reader holds.
const keptCacheBytes = 8 * cache.MiByte

// reader is the mirror's objects, opened once: decoding the packs' indexes
// costs more than a look at the workspace. Packs that come later are not seen
// by it, which does no harm: the base was there before, and what is put twice
// is the same object. While the workspace is open its mirror is held, so that
// nothing goes away. The caller holds w.mu.
func (w *Workspace) reader() (*objects, error) {
	if w.held == nil {
		return nil, fmt.Errorf("%w: workspace is closed", vcs.ErrInvalid)
	}
	if w.objects != nil {
		return w.objects, nil
	}
	if err := w.mirror.there(); err != nil {
		return nil, err
	}
	w.objects = openCached(w.mirror.dir, keptCacheBytes)
	return w.objects, nil
}

// dropReader closes the kept reader after an error that may be its own.
func (w *Workspace) dropReader() {
	if w.objects != nil {
		w.objects.close()
		w.objects = nil
	}
}

// Forget drops what is known of files' contents, so that the next look reads
// every file: for the last look before publishing, since a writable mapping
// can change a file without changing its times.
func (w *Workspace) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cache = map[string]cached{}
}

// Attach takes up a workspace that a Checkout made earlier, perhaps in another
// process. Nothing in the directory is trusted or changed.
func (m *Mirror) Attach(ctx context.Context, commit, dir string, opts CheckoutOptions) (*Workspace, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("resolving workspace: %w", err)
	}
	if info, err := os.Lstat(abs); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is not a directory", vcs.ErrInvalid, dir)
	}
	return m.newWorkspace(ctx, commit, abs, opts)
}

// newWorkspace reads the base; the caller closes the workspace on error paths
// of its own.
func (m *Mirror) newWorkspace(ctx context.Context, commit, dir string, opts CheckoutOptions) (*Workspace, error) {
	held, err := m.hold(ctx)
	if err != nil {
		return nil, err
	}
	w := &Workspace{mirror: m, dir: dir, commit: commit, limits: opts.Limits, held: held, cache: map[string]cached{}}
	w.uid, w.gid = opts.owner()
	if err := w.readBase(ctx); err != nil {
		held.release()
		return nil, fmt.Errorf("reading %s of %s: %w", commit, m.repo, m.markDamaged(err))
	}
	return w, nil
}

func (w *Workspace) readBase(ctx context.Context) error {
	o, err := w.mirror.open()
	if err != nil {
		return err
	}
	defer o.close()
	c, err := o.commit(w.commit)
	if err != nil {
		return err
	}
	if w.base, err = o.flatten(ctx, c.TreeHash); err != nil {
		return err
	}
	w.attrs, err = o.attributes(w.base)
	return err
}

// attributes reads the .gitattributes files of a tree, except oversized ones.
func (o *objects) attributes(ft *flatTree) (*attributes, error) {
	a := newAttributes()
	for _, dir := range ft.sortedDirs() {
		e, ok := ft.files[join(dir, ".gitattributes")]
		if !ok || !e.regular() {
			continue
		}
		data, err := o.blob(e.hash, maxRuleFile)
		if isTooLarge(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		a.parse(dir, data)
	}
	return a, nil
}

// Adopt takes a directory that is there, with whatever changes it holds, as a
// workspace over a commit of its repository that the mirror has. Nothing in it
// is written now, and its .git is never read. Unless the options say
// otherwise, what a restore writes belongs to whoever owns the directory, as
// far as this process may give it away.
func (m *Mirror) Adopt(ctx context.Context, commit, dir string, opts CheckoutOptions) (*Workspace, error) {
	if !opts.setsOwner() && os.Geteuid() == 0 {
		info, err := os.Stat(dir)
		if err != nil {
			return nil, fmt.Errorf("%w: %s is not a directory", vcs.ErrInvalid, dir)
		}
		if _, _, uid, gid, ok := stampOf(info); ok {
			opts.UID, opts.GID = int(uid), int(gid)
		}
	}
	return m.Attach(ctx, commit, dir, opts)
}
