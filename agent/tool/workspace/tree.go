package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// named is a file's content hash with the stat data that it is valid for.
type named struct {
	size, mtime, ctime int64
	inode              uint64
	hash               string
}

// TreeHash names the state of the files that are not ignored: equal contents,
// modes and link targets give equal names. Files whose size, times and inode
// did not change are not read again, so an unchanged tree costs a walk.
func (w *Workspace) TreeHash(ctx context.Context) (string, error) {
	sum := sha256.New()
	err := w.Walk(ctx, ".", false, func(e Entry) error {
		id, err := w.nameOf(e)
		if err != nil {
			return err
		}
		if id != "" {
			fmt.Fprintf(sum, "%q %s\n", e.Path, id)
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrWalkLimit) {
		return "", fmt.Errorf("naming the work tree: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// nameOf is an entry's contribution; directories have none.
func (w *Workspace) nameOf(e Entry) (string, error) {
	mode := e.Info.Mode()
	switch {
	case mode.IsDir():
		return "", nil
	case mode&fs.ModeSymlink != 0:
		target, err := w.root.Readlink(e.Path)
		return fmt.Sprintf("link %q", target), ignoreGone(err)
	case !mode.IsRegular():
		return "special", nil
	}
	hash, err := w.contentHash(e)
	return fmt.Sprintf("%o %s", mode.Perm()&0o111, hash), err
}

func (w *Workspace) contentHash(e Entry) (string, error) {
	st, ok := e.Info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.New("no stat data")
	}
	now := named{size: e.Info.Size(), mtime: e.Info.ModTime().UnixNano(), ctime: st.Ctim.Nano(), inode: st.Ino}
	w.mu.Lock()
	known := w.names[e.Path]
	w.mu.Unlock()
	if now.hash = known.hash; known == now && known.hash != "" {
		return known.hash, nil
	}
	if now.size > MaxFileBytes {
		return fmt.Sprintf("large %d %d", now.size, now.mtime), nil
	}
	f, err := w.Read(Path{Name: e.Path, Real: e.Path})
	if err != nil {
		if _, isFault := errors.AsType[*FaultError](err); isFault {
			return "gone", nil
		}
		return "", err
	}
	now.hash = Hash(f.Bytes)
	w.mu.Lock()
	w.names[e.Path] = now
	w.mu.Unlock()
	return now.hash, nil
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
