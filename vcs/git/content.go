package git

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
)

// file reads one regular file; only trouble with the mirror is an error.
func (s *scanner) file(o *objects, f foundFile) error {
	seen := time.Now()
	data, err := readChecked(s.walker.root, f.path, f.info, s.w.limits.MaxFileBytes)
	switch {
	case err == nil:
	case isTooLarge(err):
		s.tooLarge(f)
		return nil
	case errors.Is(err, errMoved), errors.Is(err, fs.ErrNotExist):
		s.refuse(NoteMoving, f.path, "changed while it was read")
		return nil
	default:
		s.refuse(NoteUnreadable, f.path, "cannot be read: %v", errno(err))
		return nil
	}
	h, err := s.content(o, f, data)
	if err != nil || h.IsZero() {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[f.path] = entry{s.modeOf(f), h}
	s.learned[f.path] = cached{stamp: f.stamp, hash: h, seen: seen, stored: s.store}
	return nil
}

// tooLarge keeps a file over the limit as it was; if it looks untouched, that
// is no change and worth no note.
func (s *scanner) tooLarge(f foundFile) {
	if c, ok := s.w.cache[f.path]; ok && c.stamp == f.stamp && f.known {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.next[f.path] = entry{s.modeOf(f), c.hash}
		return
	}
	s.refuse(NoteTooLarge, f.path, "%d bytes, the limit is %d", f.info.Size(), s.w.limits.MaxFileBytes)
}

// content returns the blob that a file's bytes amount to, storing it when it
// is new; the zero hash when the change was refused.
func (s *scanner) content(o *objects, f foundFile, data []byte) (plumbing.Hash, error) {
	base, tracked := s.w.base.files[f.path]
	tracked = tracked && base.regular()
	raw := plumbing.ComputeHash(plumbing.BlobObject, data)
	if tracked && raw == base.hash {
		return raw, nil
	}
	var old []byte // the base's blob, read at most once
	blob := func() ([]byte, error) {
		if !tracked || old != nil {
			return old, nil
		}
		var err error
		old, err = o.blob(base.hash, s.w.limits.MaxFileBytes)
		if isTooLarge(err) {
			return nil, nil
		}
		return old, err
	}
	attrs := s.w.attrs.lookup(f.path)
	clean, err := s.convert(eolOf(attrs), data, tracked, blob)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	h := plumbing.ComputeHash(plumbing.BlobObject, clean)
	if tracked && h == base.hash {
		return h, nil
	}
	return s.admit(o, f, attrs, clean, h, blob)
}

// convert undoes what checkout did to line ends. A file that is byte by byte
// what checkout wrote is the base's blob, even where git's rules would
// normalise it.
func (s *scanner) convert(rule eolRule, data []byte, tracked bool, blob func() ([]byte, error)) ([]byte, error) {
	if !rule.text {
		return data, nil
	}
	if tracked && rule.crlf {
		old, err := blob()
		if err != nil {
			return nil, err
		}
		if old != nil && string(rule.smudge(old)) == string(data) {
			return old, nil
		}
	}
	return rule.clean(data, blob)
}

// admit decides on a changed file and stores its blob.
func (s *scanner) admit(o *objects, f foundFile, attrs map[string]string, data []byte, h plumbing.Hash, blob func() ([]byte, error)) (plumbing.Hash, error) {
	if f.links > 1 && s.walker.inodes[[2]uint64{f.stamp.dev, f.stamp.ino}] < f.links {
		s.refuse(NoteHardLink, f.path, "has names outside what a commit holds")
		return plumbing.ZeroHash, nil
	}
	old, err := blob()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if (attrs["filter"] == "lfs" || isLFSPointer(old)) && !isLFSPointer(data) {
		s.refuse(NoteLFSRefused, f.path, "changing a file kept in LFS is not supported; its pointer was kept")
		return plumbing.ZeroHash, nil
	}
	if s.budget.Add(-int64(len(data))) < 0 {
		s.refuse(NoteTooLarge, f.path, "all changes together are over %d bytes", s.w.limits.MaxChangedBytes)
		return plumbing.ZeroHash, nil
	}
	if !s.store {
		return h, nil
	}
	return o.put(plumbing.BlobObject, data)
}

// lfsVersion begins every LFS pointer (git-lfs docs/spec.md), and maxPointer
// is the size below which a pointer has to stay.
const (
	lfsVersion = "version https://git-lfs.github.com/spec/v1\n"
	maxPointer = 1024
)

func isLFSPointer(b []byte) bool {
	return len(b) < maxPointer && strings.HasPrefix(string(b), lfsVersion)
}
