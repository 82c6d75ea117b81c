package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/greenwright/greenwright/vcs"
)

// ErrIncomplete says that an object that is named is neither in what was given
// nor in the base.
var ErrIncomplete = errors.New("an object is missing")

// Import takes up the snapshots that others have exported from a workspace
// over the same tree, in the order of their exports, so that they can be
// restored here. It has to come before anything is taken. All exports have to
// be given, since later packs build on earlier ones. A [FirstSnapshot] among
// them takes the place of this one's. One that is given again is the same.
//
// Nothing of it is trusted: everything is checked before anything is kept.
//
// Errors: vcs.ErrInvalid for what is damaged, forged, or of another base;
// ErrIncomplete, which comes with vcs.ErrInvalid, for a missing object;
// ErrTooLarge.
func (s *Snapshots) Import(ctx context.Context, given []Kept) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.serial != 0 || len(s.list) != 1 {
		return fmt.Errorf("%w: snapshots can be imported only before one is taken", vcs.ErrInvalid)
	}
	im := &importing{s: s, ids: map[string][]byte{}, packed: map[plumbing.Hash]string{}, links: map[plumbing.Hash]bool{}}
	for _, k := range given {
		if err := im.check(ctx, k); err != nil {
			return fmt.Errorf("importing snapshot %.40q: %w", k.ID, err)
		}
	}
	for _, k := range given {
		if err := im.store(ctx, k); err != nil {
			return fmt.Errorf("importing snapshot %.40q: %w", k.ID, err)
		}
	}
	im.take()
	return nil
}

// importing is one Import at work.
type importing struct {
	s      *Snapshots
	ids    map[string][]byte        // their manifests
	packed map[plumbing.Hash]string // blobs of the packs, by the export that has them
	links  map[plumbing.Hash]bool   // those that can be a link's target
	bytes  int64
	list   []*kept
}

// check reads one export and keeps nothing of it on disk.
func (im *importing) check(ctx context.Context, k Kept) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := parseManifest(k.Manifest)
	if err != nil {
		return err
	}
	same, again := im.ids[k.ID]
	if m.ID != k.ID || again && !bytes.Equal(same, k.Manifest) {
		return badManifest("it is of %q, or another has that id", m.ID)
	}
	im.ids[k.ID] = k.Manifest
	nodes, err := m.nodesOver(im.s.w)
	if err != nil {
		return err
	}
	if err := im.look(k); err != nil {
		return err
	}
	if err := im.complete(nodes); err != nil {
		return err
	}
	if again {
		return nil
	}
	snap := Snapshot{ID: m.ID, Label: m.Label}
	for _, l := range m.Left {
		snap.Left = append(snap.Left, Left{l.bytes(), l.Why})
	}
	im.list = append(im.list, &kept{Snapshot: snap, changed: (&state{nodes: nodes}).since(im.s.start)})
	return nil
}

func (im *importing) limits() packLimits {
	return packLimits{object: im.s.opts.MaxFileBytes, total: im.s.opts.MaxBytes}
}

// look notes which blobs a pack has.
func (im *importing) look(k Kept) error {
	if len(k.Pack) == 0 {
		return nil
	}
	return readPack(k.Pack, im.limits(), func(t plumbing.ObjectType, h plumbing.Hash, content []byte) error {
		if t != plumbing.BlobObject {
			return badPack("a %s among a snapshot's files", t)
		}
		if _, ok := im.packed[h]; !ok {
			im.bytes += int64(len(content))
		}
		if im.bytes > im.s.opts.MaxBytes {
			return fmt.Errorf("%w: snapshots of more than %d bytes", ErrTooLarge, im.s.opts.MaxBytes)
		}
		im.packed[h] = k.ID
		im.links[h] = 0 < len(content) && len(content) <= maxLink && bytes.IndexByte(content, 0) < 0
		return nil
	})
}

// complete refuses a state of which something is neither in the base nor in a
// pack up to here.
func (im *importing) complete(nodes map[string]node) error {
	base := im.s.exported().base
	for p, n := range nodes {
		if n.kind != nodeFile && n.kind != nodeLink {
			continue
		}
		_, packed := im.packed[n.hash]
		if !packed && !base[n.hash] {
			return fmt.Errorf("%w: %w: %s, for %q", vcs.ErrInvalid, ErrIncomplete, n.hash, p)
		}
		if e := im.s.w.base.files[p]; n.kind == nodeLink && !im.links[n.hash] && (e.hash != n.hash || e.mode != filemode.Symlink) {
			if err := im.linkOfBase(p, n.hash); err != nil {
				return err
			}
		}
	}
	return nil
}

// linkOfBase checks that a blob of the base can be a link's target.
func (im *importing) linkOfBase(p string, h plumbing.Hash) error {
	bad := badManifest("%q has no usable target", p)
	if _, packed := im.packed[h]; packed {
		return bad
	}
	im.s.w.mu.Lock()
	defer im.s.w.mu.Unlock()
	o, err := im.s.w.reader()
	if err != nil {
		return err
	}
	target, err := o.blob(h, maxLink)
	if isTooLarge(err) || err == nil && (len(target) == 0 || bytes.IndexByte(target, 0) >= 0) {
		return bad
	}
	return err
}

// store keeps the blobs of a pack that was looked at.
func (im *importing) store(ctx context.Context, k Kept) error {
	if len(k.Pack) == 0 {
		return nil
	}
	s, x := im.s, im.s.exported()
	return readPack(k.Pack, im.limits(), func(t plumbing.ObjectType, h plumbing.Hash, content []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := s.store.put(t, content); err != nil {
			return err
		}
		if !s.stored[h] {
			s.stored[h] = true
			s.bytes += int64(len(content))
		}
		x.where[h] = k.ID
		return nil
	})
}

// take puts the imported states into the list; new ids go on behind theirs.
func (im *importing) take() {
	s := im.s
	for _, k := range im.list {
		if k.ID == FirstSnapshot {
			s.list[0] = k
			continue
		}
		s.list = append(s.list, k)
		if n, err := strconv.Atoi(snapshotID.FindStringSubmatch(k.ID)[2]); err == nil {
			s.serial = max(s.serial, n)
		}
	}
	for len(s.list) > s.opts.Keep {
		s.thin()
	}
}
