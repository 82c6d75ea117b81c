package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/greenwright/greenwright/vcs"
)

// RestoredFile is a file or link that a restore changed. Hashes are hex
// SHA-256 of the bytes (of a link's target), empty where nothing stood or
// what stood had no content.
type RestoredFile struct {
	Path   string
	Before string
	After  string
}

// Restored is what a restore did.
type Restored struct {
	Before string // the snapshot of the state before, to go back to
	Files  []RestoredFile
	Dirs   int    // directories made, removed or given other permissions
	Left   []Left // what differs still, and why
}

// Restore takes files back to a snapshot: those that differ, and of them only
// the given paths and what is below them, if any are given. The present state
// is kept first. Nothing is destroyed that this does not hold, and nothing
// written through a link; what stands in the way is left and told of.
//
// Errors: vcs.ErrNotFound for an id that is not kept, or a path that neither
// state has; vcs.ErrInvalid for a path that is none.
func (s *Snapshots) Restore(ctx context.Context, id string, paths []string) (Restored, error) {
	return s.restore(ctx, id, paths, true)
}

// Resume is Restore of everything in a workspace that was just checked out: the
// state before is not kept, since it can be made again, and Restored.Before is
// empty.
func (s *Snapshots) Resume(ctx context.Context, id string) (Restored, error) {
	return s.restore(ctx, id, nil, false)
}

func (s *Snapshots) restore(ctx context.Context, id string, paths []string, keep bool) (Restored, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range paths {
		if err := ValidatePath(p); err != nil {
			return Restored{}, err
		}
	}
	k, err := s.find(id)
	if err != nil {
		return Restored{}, err
	}
	clear(s.cache) // a mapping can change a file without a trace in its times
	now, err := s.look(ctx, false)
	if err != nil {
		return Restored{}, err
	}
	if err := s.have(k, now, paths); err != nil {
		return Restored{}, err
	}
	var out Restored
	if keep {
		out.Before = s.add(now, "before restoring "+id)
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	root, err := os.OpenRoot(s.w.dir)
	if err != nil {
		return out, fmt.Errorf("opening workspace: %w", err)
	}
	defer root.Close()
	r := &restoring{s: s, root: root, now: now, then: k, out: &out, leave: map[string]bool{}, holds: map[string]bool{}}
	err = r.run(ctx, r.differing(paths))
	slices.SortFunc(out.Files, func(a, b RestoredFile) int { return cmp.Compare(a.Path, b.Path) })
	return out, err
}

// at is what the snapshot has at a path.
func (s *Snapshots) at(k *kept, p string) node {
	if n, ok := k.changed[p]; ok {
		return n
	}
	return s.start[p]
}

// have refuses a path that neither state knows.
func (s *Snapshots) have(k *kept, now *state, paths []string) error {
	for _, want := range paths {
		if s.at(k, want).kind == nodeAbsent && now.nodes[want].kind == nodeAbsent {
			return fmt.Errorf("%w: %s, neither now nor in snapshot %s", vcs.ErrNotFound, want, k.ID)
		}
	}
	return nil
}

// foreignAbove reports whether the path is in a directory that is nobody's
// business here.
func (s *Snapshots) foreignAbove(p string) bool {
	for ; p != ""; p = parent(p) {
		if s.foreign[p] == foreignOpaque {
			return true
		}
	}
	return s.foreign[p] != 0
}

// restoring is one restore at work.
type restoring struct {
	s     *Snapshots
	root  *os.Root
	now   *state
	then  *kept
	out   *Restored
	leave map[string]bool // paths that were left: so is what is below them
	holds map[string]bool // directories in which something was left
}

func (r *restoring) target(p string) node  { return r.s.at(r.then, p) }
func (r *restoring) present(p string) node { return r.now.nodes[p] }

// left notes a path that stays as it is, and with it the directories that it
// is in.
func (r *restoring) left(p, format string, args ...any) {
	r.leave[p] = true
	for d := parent(p); d != "" && !r.holds[d]; d = parent(d) {
		r.holds[d] = true
	}
	r.out.Left = append(r.out.Left, Left{p, fmt.Sprintf(format, args...)})
}

// differing lists the paths to act on, sorted, so that directories come before
// what is in them. A directory that is gone comes back for what is below it.
func (r *restoring) differing(paths []string) []string {
	var list []string
	consider := func(p string) {
		if selected(p, paths) && r.present(p) != r.target(p) && !r.s.foreignAbove(p) {
			list = append(list, p)
		}
	}
	for p := range r.now.nodes {
		consider(p)
	}
	for p := range r.then.changed {
		if _, ok := r.now.nodes[p]; !ok {
			consider(p)
		}
	}
	for p := range r.s.start {
		_, changed := r.then.changed[p]
		if _, ok := r.now.nodes[p]; !ok && !changed {
			consider(p)
		}
	}
	for _, p := range list {
		for d := parent(p); d != "" && r.target(p).kind != nodeAbsent; d = parent(d) {
			if r.present(d).kind == nodeAbsent && r.target(d).kind == nodeDir {
				list = append(list, d)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// run removes from below, makes from above, and sets directories' permissions
// last, since they may forbid the rest.
func (r *restoring) run(ctx context.Context, list []string) error {
	list = slices.DeleteFunc(list, r.beyond)
	for _, p := range slices.Backward(list) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.clear(p); err != nil {
			return err
		}
	}
	for _, p := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.make(p); err != nil {
			return err
		}
	}
	for _, p := range slices.Backward(list) {
		r.permit(p)
	}
	return nil
}

// beyond leaves what one of the two states does not hold.
func (r *restoring) beyond(p string) bool {
	switch {
	case unkeptAbove(p, r.present):
		if r.present(p).kind == nodeUnkept {
			r.left(p, "it is not kept as it is now, so it would be lost: remove it first if it may be")
		}
		return true
	case unkeptAbove(p, r.target):
		if r.target(p).kind == nodeUnkept {
			r.left(p, "the snapshot does not hold it")
		}
		return true
	case r.target(p).kind == nodeSpecial:
		r.left(p, "the snapshot does not hold it")
		return true
	}
	return false
}

// leftAbove reports whether the path or a directory above it was left.
func (r *restoring) leftAbove(p string) bool {
	for d := p; d != ""; d = parent(d) {
		if r.leave[d] {
			return true
		}
	}
	return false
}

// clear removes what stands at a path and is not to stand there. A file that
// gives way to a file does so when that is written.
func (r *restoring) clear(p string) error {
	now, then := r.present(p), r.target(p)
	isFile := then.kind == nodeFile || then.kind == nodeLink
	switch {
	case now.kind == nodeAbsent, now.kind == nodeDir && then.kind == nodeDir, now.kind != nodeDir && isFile:
		return nil
	}
	if now.kind == nodeDir && r.holds[p] { // it has been told why
		r.leave[p] = then.kind != nodeAbsent
		return nil
	}
	if err := r.remove(p, now); err != nil {
		r.left(p, "%s", err)
		return nil
	}
	if now.kind == nodeDir {
		r.out.Dirs++
		return nil
	}
	return r.changed(p, now, node{})
}

// make brings a path to the snapshot's state.
func (r *restoring) make(p string) error {
	now, then := r.present(p), r.target(p)
	if then.kind == nodeAbsent {
		return nil
	}
	if r.leave[p] {
		if now.kind == nodeDir && then.kind != nodeDir && r.holds[p] {
			r.left(p, "a directory stands there in which something was left")
		}
		return nil
	}
	if r.leftAbove(parent(p)) {
		r.left(p, "a directory above it was left as it is")
		return nil
	}
	var err error
	switch {
	case then.kind == nodeDir && now.kind == nodeDir:
		return nil
	case then.kind == nodeDir:
		if err = r.makeDir(p); err == nil {
			r.out.Dirs++
			return nil
		}
	default:
		err = r.put(p, then)
	}
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	if err != nil {
		r.left(p, "%s", err)
		return nil
	}
	return r.changed(p, now, then)
}

// changed notes an effect. One path may be cleared and made: that is one.
func (r *restoring) changed(p string, now, then node) error {
	f := RestoredFile{Path: p}
	var err error
	if f.Before, err = r.sum(now); err != nil {
		return err
	}
	if f.After, err = r.sum(then); err != nil {
		return err
	}
	r.out.Files = append(r.out.Files, f)
	return nil
}

func (r *restoring) sum(n node) (string, error) {
	if n.kind != nodeFile && n.kind != nodeLink {
		return "", nil
	}
	h := sha256.New()
	if err := r.content(n.hash, h); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// content writes out the bytes of a kept blob.
func (r *restoring) content(h plumbing.Hash, to io.Writer) error {
	o := r.s.store
	if !r.s.stored[h] {
		var err error
		if o, err = r.s.w.reader(); err != nil {
			return err
		}
	}
	return o.copyBlob(h, to)
}
