package git

import (
	"bytes"
	"context"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/greenwright/greenwright/vcs"
)

// ChangeKind is what happened to a path.
type ChangeKind string

// The kinds of change. A renamed file is one deleted and one added.
const (
	Added    ChangeKind = "added"
	Modified ChangeKind = "modified" // content, and perhaps mode or type
	Deleted  ChangeKind = "deleted"
	ModeOnly ChangeKind = "mode"
)

// FileChange is one path that differs from the base.
type FileChange struct {
	Path string     `json:"path"` // bytes as they are, not necessarily UTF-8
	Kind ChangeKind `json:"kind"`
	// Modes are git's, in octal ("100644", "100755", "120000"), empty where
	// the path does not exist.
	OldMode string `json:"old_mode,omitempty"`
	NewMode string `json:"new_mode,omitempty"`
	// Hashes name the blobs, empty where the path does not exist.
	OldHash string `json:"old_hash,omitempty"`
	NewHash string `json:"new_hash,omitempty"`
	// Added and Deleted count lines; 0 for binary files and those too large
	// to compare.
	Added   int  `json:"added"`
	Deleted int  `json:"deleted"`
	Binary  bool `json:"binary,omitempty"`
}

// ChangeSet is how a workspace differs from its base.
type ChangeSet struct {
	Files []FileChange `json:"files"` // sorted by path
	// Tree holds the workspace's state and is stored in the mirror, ready for
	// Mirror.Commit. It is the base's tree when nothing has changed.
	Tree  string `json:"tree"`
	Notes []Note `json:"notes,omitempty"`
}

// Empty reports whether a commit would change nothing.
func (c *ChangeSet) Empty() bool { return len(c.Files) == 0 }

// Refused returns the notes of changes that were not taken over.
func (c *ChangeSet) Refused() []Note {
	var out []Note
	for _, n := range c.Notes {
		if n.Kind.Refused() {
			out = append(out, n)
		}
	}
	return out
}

// Changes compares the workspace with its base and stores the new tree.
//
// Tracked files are always compared. Untracked ones count unless ignored, by
// the base's rules or the workspace's. Submodules and LFS pointers stay as
// the base has them. What is not safe to take over is refused: the base's
// state stays, and a note says so. ErrTooLarge when there are too many files.
func (w *Workspace) Changes(ctx context.Context) (*ChangeSet, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, err := w.reader()
	if err != nil {
		return nil, err
	}
	set, err := w.changes(ctx, o)
	if err != nil {
		w.dropReader()
	}
	return set, w.mirror.markDamaged(err)
}

func (w *Workspace) changes(ctx context.Context, o *objects) (*ChangeSet, error) {
	got, err := w.scan(ctx, o, w.mirror.open, true)
	if err != nil {
		return nil, err
	}
	tree, err := buildTree(o, w.base, got.next, got.changed)
	if err != nil {
		return nil, err
	}
	set := &ChangeSet{Tree: tree.String()}
	for _, p := range got.changed {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fc, err := o.describe(p, w.base.files[p], got.next[p])
		if err != nil {
			return nil, err
		}
		set.Files = append(set.Files, fc)
	}
	if err := w.noteLFS(o, got.notes); err != nil {
		return nil, err
	}
	set.Notes = got.notes.sorted()
	return set, nil
}

// noteLFS says how many files the base keeps in LFS: the workspace has their
// pointers only.
func (w *Workspace) noteLFS(o *objects, n *notes) error {
	for _, p := range w.base.order {
		e := w.base.files[p]
		if !e.regular() || w.attrs.lookup(p)["filter"] != "lfs" {
			continue
		}
		data, err := o.blob(e.hash, maxPointer)
		if isTooLarge(err) {
			continue
		}
		if err != nil {
			return err
		}
		if isLFSPointer(data) {
			n.add(NoteLFS, p, "kept in LFS: only the pointer is here, and it was left")
		}
	}
	return nil
}

// describe compares two entries, of which the zero one does not exist.
func (o *objects) describe(p string, before, after entry) (FileChange, error) {
	fc := FileChange{Path: p, Kind: Modified}
	if before != (entry{}) {
		fc.OldMode, fc.OldHash = modeText(before.mode), before.hash.String()
	} else {
		fc.Kind = Added
	}
	if after != (entry{}) {
		fc.NewMode, fc.NewHash = modeText(after.mode), after.hash.String()
	} else {
		fc.Kind = Deleted
	}
	if before.hash == after.hash {
		fc.Kind = ModeOnly
		return fc, nil
	}
	a, b, ok, err := o.contents(before, after)
	if err != nil {
		return fc, err
	}
	if !ok || isBinary(a) || isBinary(b) {
		fc.Binary = true
		return fc, nil
	}
	for _, op := range diffLines(splitLines(a), splitLines(b)) {
		fc.Deleted += op.a2 - op.a1
		fc.Added += op.b2 - op.b1
	}
	return fc, nil
}

// maxDiffBytes is the size above which a file is shown as binary (git's own
// core.bigFileThreshold is 512 MB, which nobody reads).
const maxDiffBytes = 4 << 20

// contents reads both sides; ok is false when one is too large to compare.
func (o *objects) contents(before, after entry) (a, b []byte, ok bool, err error) {
	read := func(e entry) ([]byte, error) {
		if e == (entry{}) {
			return nil, nil
		}
		return o.blob(e.hash, maxDiffBytes)
	}
	if a, err = read(before); err == nil {
		b, err = read(after)
	}
	if isTooLarge(err) {
		return nil, nil, false, nil
	}
	return a, b, err == nil, err
}

func modeText(m filemode.FileMode) string { return fmt.Sprintf("%06o", uint32(m)) }

// binaryProbe is how far git looks for a NUL (buffer_is_binary).
const binaryProbe = 8000

func isBinary(b []byte) bool { return bytes.IndexByte(b[:min(len(b), binaryProbe)], 0) >= 0 }

// parseEntry reads one side of a FileChange.
func parseEntry(mode, hash string) (entry, error) {
	if hash == "" {
		return entry{}, nil
	}
	m, err := filemode.New(mode)
	if err != nil {
		return entry{}, fmt.Errorf("%w: mode %q", vcs.ErrInvalid, mode)
	}
	return entry{m, plumbing.NewHash(hash)}, nil
}
