package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing/filemode"
	"golang.org/x/sync/errgroup"

	"github.com/greenwright/greenwright/vcs"
)

const (
	// batchFiles is how many files of one directory a worker takes at once.
	batchFiles = 128
	// maxWorkers bounds readers: each holds an index of the packs.
	maxWorkers = 8
	dirMode    = 0o755
)

func workers() int { return min(runtime.GOMAXPROCS(0), maxWorkers) }

func isTooLarge(err error) bool { return errors.Is(err, ErrTooLarge) }

// Checkout writes the files of a commit into dir, which has to be empty or
// absent, and gives it an ordinary .git of its own. Line ends follow the
// commit's attributes; filters do not run, so LFS pointers stay pointers;
// submodules are empty directories. Trees with names that could do harm
// ("..", ".git" in any spelling) are refused with vcs.ErrInvalid.
func (m *Mirror) Checkout(ctx context.Context, commit, dir string, opts CheckoutOptions) (*Workspace, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	abs, err := emptyDir(dir)
	if err != nil {
		return nil, err
	}
	w, err := m.newWorkspace(ctx, commit, abs, opts)
	if err != nil {
		return nil, err
	}
	if err := w.materialise(ctx, opts); err != nil {
		err = fmt.Errorf("checking out %s of %s: %w", commit, m.repo, m.markDamaged(err))
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func emptyDir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("resolving workspace: %w", err)
	}
	if err := os.MkdirAll(abs, dirMode); err != nil {
		return "", fmt.Errorf("creating workspace: %w", err)
	}
	names, err := os.ReadDir(abs)
	if err != nil {
		return "", fmt.Errorf("reading workspace: %w", err)
	}
	if len(names) > 0 {
		return "", fmt.Errorf("%w: workspace %s is not empty", vcs.ErrInvalid, dir)
	}
	return abs, nil
}

func (w *Workspace) materialise(ctx context.Context, opts CheckoutOptions) error {
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	c := &checkout{w: w, root: root, opts: opts, stamps: make(map[string]fileStat, len(w.base.files))}
	if err := c.makeDirs(); err != nil {
		return err
	}
	g, gctx := errgroup.WithContext(ctx)
	if !opts.NoDotGit {
		g.Go(func() error { return c.copyObjects(gctx) })
	}
	g.Go(func() error { return c.writeFiles(gctx) })
	if err := g.Wait(); err != nil {
		return err
	}
	// Links come last, so that no file is written through one.
	if err := c.makeLinks(); err != nil {
		return err
	}
	if !opts.NoDotGit {
		if err := c.writeDotGit(); err != nil {
			return err
		}
	}
	c.remember()
	return nil
}

// checkout is the state of one materialisation.
type checkout struct {
	w    *Workspace
	root *os.Root
	opts CheckoutOptions

	mu     sync.Mutex
	stamps map[string]fileStat // guarded by mu
}

// fileStat is a written file's stamp and when it was taken.
type fileStat struct {
	stamp
	uid, gid uint32
	taken    time.Time
}

func (ft *flatTree) sortedDirs() []string {
	dirs := make([]string, 0, len(ft.dirs))
	for d := range ft.dirs {
		dirs = append(dirs, d)
	}
	slices.Sort(dirs)
	return dirs
}

func (c *checkout) makeDirs() error {
	dirs := c.w.base.sortedDirs()
	for _, p := range c.w.base.order {
		if c.w.base.files[p].mode == filemode.Submodule {
			dirs = append(dirs, p)
		}
	}
	for _, d := range dirs {
		if d == "" {
			d = "."
		} else if err := c.root.Mkdir(d, dirMode); err != nil {
			return fmt.Errorf("creating directory: %w", err)
		}
		if err := c.own(d); err != nil {
			return err
		}
	}
	return nil
}

func (c *checkout) own(p string) error {
	if !c.opts.setsOwner() {
		return nil
	}
	uid, gid := c.opts.owner()
	if err := c.root.Lchown(p, uid, gid); err != nil {
		return fmt.Errorf("setting owner: %w", err)
	}
	return nil
}

// remember fills the workspace's cache with what was just written.
func (c *checkout) remember() {
	w := c.w
	w.mu.Lock()
	defer w.mu.Unlock()
	for p, st := range c.stamps {
		w.cache[p] = cached{stamp: st.stamp, hash: w.base.files[p].hash, seen: st.taken}
	}
}
