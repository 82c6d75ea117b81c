package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"golang.org/x/sync/errgroup"
)

// reading is the second half of a look: contents.
type reading struct {
	*snapWalk
	mu sync.Mutex // guards the state, the snapshots' own maps and store
	st *state
}

// read finds the content of every file, from the cache where it has certainly
// not changed.
func (k *snapWalk) read(ctx context.Context) (*state, error) {
	r := &reading{snapWalk: k, st: &state{nodes: make(map[string]node, len(k.list)), stamps: make(map[string]stamp, len(k.list)), left: k.left}}
	var unread []seenNode
	for _, n := range k.list {
		r.st.stamps[n.path] = n.stamp
		switch n.kind {
		case nodeFile:
			if h, ok := k.remembered(n); ok {
				n.hash = h
				break
			}
			unread = append(unread, n)
			continue
		case nodeLink:
			h, err := r.keep(n.path, []byte(n.link))
			if err != nil {
				return nil, err
			}
			n.hash = h
		case nodeAbsent, nodeDir, nodeSpecial, nodeUnkept:
		}
		r.st.nodes[n.path] = n.node
	}
	if err := r.readAll(ctx, unread); err != nil {
		return nil, err
	}
	for p := range k.s.cache { // what is gone is not remembered for ever
		if r.st.nodes[p].kind != nodeFile {
			delete(k.s.cache, p)
		}
	}
	return r.st, nil
}

func (k *snapWalk) remembered(n seenNode) (plumbing.Hash, bool) {
	c, ok := k.s.cache[n.path]
	if !ok || !n.known || c.stamp != n.stamp || n.links > 1 || c.seen.Sub(c.stamp.changed()) < racy {
		return plumbing.ZeroHash, false
	}
	return c.hash, true
}

func (r *reading) readAll(ctx context.Context, unread []seenNode) error {
	var at atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range min(workers(), len(unread)) {
		g.Go(func() error {
			for i := at.Add(1) - 1; i < int64(len(unread)); i = at.Add(1) - 1 {
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := r.file(unread[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// file reads one file; only trouble with the store is an error.
func (r *reading) file(n seenNode) error {
	seen := time.Now()
	if n.info.Size() > r.s.opts.MaxFileBytes {
		r.large(n, seen)
		return nil
	}
	data, err := readChecked(r.root, n.path, n.info, r.s.opts.MaxFileBytes)
	if err != nil {
		r.lose(n.path, nodeUnkept, "%s", readFault(err))
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := plumbing.ComputeHash(plumbing.BlobObject, data)
	if r.base(n.path) != h && n.links > 1 && r.inodes[[2]uint64{n.stamp.dev, n.stamp.ino}] < n.links {
		r.loseLocked(n.path, nodeSpecial, "has names outside of the workspace")
		return nil
	}
	if r.base(n.path) != h && !r.s.stored[h] && r.s.bytes+int64(len(data)) > r.s.opts.MaxBytes {
		r.loseLocked(n.path, nodeUnkept, "all snapshots together are over %d bytes", r.s.opts.MaxBytes)
		return nil
	}
	if _, err := r.keep(n.path, data); err != nil {
		return err
	}
	r.learn(n, h, seen)
	return nil
}

func readFault(err error) string {
	switch {
	case isTooLarge(err):
		return "too large to be kept"
	case errors.Is(err, errMoved), errors.Is(err, fs.ErrNotExist):
		return "changed while it was read"
	}
	return fmt.Sprintf("cannot be read: %v", errno(err))
}

// base is the blob that the mirror holds for a path.
func (r *reading) base(p string) plumbing.Hash {
	if e := r.w.base.files[p]; e.regular() {
		return e.hash
	}
	return plumbing.ZeroHash
}

// learn notes a file's content; the caller holds r.mu.
func (r *reading) learn(n seenNode, h plumbing.Hash, seen time.Time) {
	n.hash = h
	r.st.nodes[n.path] = n.node
	r.s.cache[n.path] = cached{stamp: n.stamp, hash: h, seen: seen}
}

func (r *reading) lose(p string, kind nodeKind, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loseLocked(p, kind, format, args...)
}

func (r *reading) loseLocked(p string, kind nodeKind, format string, args ...any) {
	r.st.nodes[p] = node{kind: kind}
	r.st.left = append(r.st.left, Left{p, fmt.Sprintf(format, args...)})
}

// keep stores bytes unless the mirror or the store has them; callers in
// goroutines hold r.mu.
func (r *reading) keep(p string, data []byte) (plumbing.Hash, error) {
	h := plumbing.ComputeHash(plumbing.BlobObject, data)
	if e, ok := r.w.base.files[p]; ok && e.hash == h || r.s.stored[h] {
		return h, nil
	}
	if _, err := r.s.store.put(plumbing.BlobObject, data); err != nil {
		return h, fmt.Errorf("keeping %s: %w", p, err)
	}
	r.s.stored[h] = true
	r.s.bytes += int64(len(data))
	return h, nil
}

// maxLarge is the largest file that is read only to see whether it is still
// the base's.
const maxLarge = 1 << 30

// large recognises a large file of the base's, and keeps no other.
func (r *reading) large(n seenNode, seen time.Time) {
	if base := r.base(n.path); !base.IsZero() && n.info.Size() <= maxLarge {
		if h, err := hashChecked(r.root, n.path, n.info); err == nil && h == base {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.learn(n, h, seen)
			return
		}
	}
	r.lose(n.path, nodeUnkept, "too large to be kept: %d bytes, the limit is %d", n.info.Size(), r.s.opts.MaxFileBytes)
}

// hashChecked is readChecked for what is too large to hold.
func hashChecked(d *os.Root, name string, info fs.FileInfo) (plumbing.Hash, error) {
	f, err := d.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if !now.Mode().IsRegular() || !os.SameFile(info, now) || now.Size() != info.Size() {
		return plumbing.ZeroHash, errMoved
	}
	h := plumbing.NewHasher(plumbing.BlobObject, info.Size())
	if n, err := io.Copy(h, io.LimitReader(f, info.Size()+1)); err != nil || n != info.Size() {
		return plumbing.ZeroHash, errors.Join(errMoved, err)
	}
	return h.Sum(), nil
}
