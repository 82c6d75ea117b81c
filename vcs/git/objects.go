package git

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"

	"github.com/greenwright/greenwright/vcs"
)

const (
	// objectCacheBytes bounds the delta bases one reader keeps.
	objectCacheBytes = 48 * cache.MiByte
	// streamAbove is the size from which objects are not held in memory.
	streamAbove = 64 << 20
)

// objects reads and writes one repository's object store. It is not safe for
// concurrent use: each goroutine opens its own.
type objects struct {
	st *filesystem.Storage
}

func openObjects(gitDir string) *objects { return openCached(gitDir, objectCacheBytes) }

// openCached opens a store whose reader keeps so much of delta bases.
func openCached(gitDir string, keep cache.FileSize) *objects {
	return &objects{st: filesystem.NewStorageWithOptions(newSteadyFS(gitDir),
		cache.NewObjectLRU(keep),
		filesystem.Options{KeepDescriptors: true, LargeObjectThreshold: streamAbove})}
}

func (o *objects) close() { _ = o.st.Close() } // read-only descriptors

// missing turns what go-git says of an absent or unreadable object that has
// to be there into ErrCorrupt.
func missing(what string, h plumbing.Hash, err error) error {
	return fmt.Errorf("reading %s %s: %w: %w", what, h, ErrCorrupt, err)
}

// commit reads the commit a caller named: an absent one is vcs.ErrNotFound.
func (o *objects) commit(sha string) (*object.Commit, error) {
	if err := vcs.ValidateSHA(sha); err != nil {
		return nil, err
	}
	c, err := object.GetCommit(o.st, plumbing.NewHash(sha))
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, fmt.Errorf("%w: commit %s", vcs.ErrNotFound, sha)
	}
	if err != nil {
		return nil, missing("commit", plumbing.NewHash(sha), err)
	}
	return c, nil
}

func (o *objects) tree(h plumbing.Hash) (*object.Tree, error) {
	if h == emptyTree {
		return &object.Tree{Hash: h}, nil
	}
	t, err := object.GetTree(o.st, h)
	if err != nil {
		return nil, missing("tree", h, err)
	}
	return t, nil
}

// blob reads a blob that has to be there, up to limit bytes.
func (o *objects) blob(h plumbing.Hash, limit int64) ([]byte, error) {
	obj, err := o.st.EncodedObject(plumbing.BlobObject, h)
	if err != nil {
		return nil, missing("blob", h, err)
	}
	if obj.Size() > limit {
		return nil, fmt.Errorf("%w: blob %s has %d bytes, limit %d", ErrTooLarge, h, obj.Size(), limit)
	}
	r, err := obj.Reader()
	if err != nil {
		return nil, missing("blob", h, err)
	}
	defer r.Close()
	buf := make([]byte, obj.Size())
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, missing("blob", h, err)
	}
	return buf, nil
}

// copyBlob writes out a blob that has to be there.
func (o *objects) copyBlob(h plumbing.Hash, w io.Writer) error {
	obj, err := o.st.EncodedObject(plumbing.BlobObject, h)
	if err != nil {
		return missing("blob", h, err)
	}
	return copyObject(obj, w)
}

// copyObject streams an object. An error that is the object's is ErrCorrupt.
func copyObject(obj plumbing.EncodedObject, w io.Writer) error {
	r, err := obj.Reader()
	if err != nil {
		return missing("blob", obj.Hash(), err)
	}
	defer r.Close()
	n, err := io.Copy(w, r)
	if err == nil && n != obj.Size() {
		err = missing("blob", obj.Hash(), io.ErrUnexpectedEOF)
	}
	return err
}

func (o *objects) has(h plumbing.Hash) bool { return o.st.HasEncodedObject(h) == nil }

// put stores an object of the given type unless it is there.
func (o *objects) put(t plumbing.ObjectType, content []byte) (plumbing.Hash, error) {
	h := plumbing.ComputeHash(t, content)
	if o.has(h) {
		return h, nil
	}
	obj := o.st.NewEncodedObject()
	obj.SetType(t)
	obj.SetSize(int64(len(content)))
	w, err := obj.Writer()
	if err != nil {
		return h, fmt.Errorf("storing object: %w", err)
	}
	if _, err := w.Write(content); err != nil {
		return h, fmt.Errorf("storing object: %w", err)
	}
	if err := w.Close(); err != nil {
		return h, fmt.Errorf("storing object: %w", err)
	}
	if _, err := o.st.SetEncodedObject(obj); err != nil {
		return h, fmt.Errorf("storing object: %w", err)
	}
	return h, nil
}

// ref reads a direct reference; "" when there is none.
func (o *objects) ref(name string) (string, error) {
	r, err := o.st.Reference(plumbing.ReferenceName(name))
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w: %w", name, ErrCorrupt, err)
	}
	return r.Hash().String(), nil
}

func (o *objects) setRef(name, sha string) error {
	ref := plumbing.NewHashReference(plumbing.ReferenceName(name), plumbing.NewHash(sha))
	if err := o.st.SetReference(ref); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// shallows is the set of commits whose parents the store does not hold.
func (o *objects) shallows() (map[plumbing.Hash]bool, error) {
	list, err := o.st.Shallow()
	if err != nil {
		return nil, fmt.Errorf("reading shallow boundary: %w: %w", ErrCorrupt, err)
	}
	set := make(map[plumbing.Hash]bool, len(list))
	for _, h := range list {
		set[h] = true
	}
	return set, nil
}
