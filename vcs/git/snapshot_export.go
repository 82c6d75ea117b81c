package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/greenwright/greenwright/vcs"
)

// Kept is a snapshot as it is kept elsewhere, for another machine to go on
// from. Pack is a git pack of what neither the base commit nor an earlier
// export holds, empty when that is nothing.
type Kept struct {
	ID       string
	Manifest []byte
	Pack     []byte
}

// Sum is the hex SHA-256 of the manifest. The manifest names every object by
// its hash, so whoever remembers the sum can tell that nothing was changed.
func (k Kept) Sum() string {
	sum := sha256.Sum256(k.Manifest)
	return hex.EncodeToString(sum[:])
}

// exports is what Export remembers between calls.
type exports struct {
	modes plainModes
	start map[string]node          // the first state's difference from a plain checkout
	base  map[plumbing.Hash]bool   // blobs of the base
	where map[plumbing.Hash]string // the id of the export that holds a blob
}

// Export makes a snapshot portable. The same state gives the same bytes, and
// exporting it again the same pack; an export whose result was lost has to be
// repeated, or taken back by Unexport, before a later one is of use.
//
// Errors: vcs.ErrNotFound for an id that is not kept, ErrTooLarge for a pack
// of more than 1 GiB.
func (s *Snapshots) Export(ctx context.Context, id string) (Kept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Kept{}, err
	}
	if s.closed {
		return Kept{}, fmt.Errorf("%w: snapshots are closed", vcs.ErrInvalid)
	}
	k, err := s.find(id)
	if err != nil {
		return Kept{}, err
	}
	x := s.exported()
	m := &manifest{
		Version: manifestVersion, ID: id, Label: cut(strings.ToValidUTF8(k.Label, "?"), maxLabel),
		Base: s.w.base.hash.String(), Modes: x.modes, Paths: []manifestPath{},
	}
	for _, l := range k.Left {
		m.Left = append(m.Left, manifestLeft{newRawPath(l.Path), strings.ToValidUTF8(l.Why, "?")})
	}
	nodes := s.fromBase(x, k)
	var fresh []plumbing.Hash
	for _, p := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[p]
		line := manifestPath{rawPath: newRawPath(p), Kind: nodeKinds[n.kind], Mode: uint32(n.perm)}
		if n.kind == nodeFile || n.kind == nodeLink {
			line.Hash = n.hash.String()
			fresh = x.add(fresh, n.hash, id)
		}
		m.Paths = append(m.Paths, line)
	}
	out := Kept{ID: id}
	if out.Manifest, err = m.encode(); err != nil || len(fresh) == 0 {
		return out, err
	}
	slices.SortFunc(fresh, func(a, b plumbing.Hash) int { return slices.Compare(a[:], b[:]) })
	if out.Pack, err = encodePack(s.store, slices.Compact(fresh)); err != nil {
		return Kept{}, fmt.Errorf("exporting snapshot %s: %w", id, err)
	}
	for _, h := range fresh {
		x.where[h] = id
	}
	return out, nil
}

// Unexport takes an export back that did not reach where it was to be kept: the
// next one holds what it held.
func (s *Snapshots) Unexport(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exports == nil {
		return
	}
	maps.DeleteFunc(s.exports.where, func(_ plumbing.Hash, at string) bool { return at == id })
}

// cut shortens a text to n bytes at the end of a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "")
}

// add lists a blob if this export has to hold it.
func (x *exports) add(list []plumbing.Hash, h plumbing.Hash, id string) []plumbing.Hash {
	if at, ok := x.where[h]; x.base[h] || ok && at != id {
		return list
	}
	return append(list, h)
}

// exported is what is known for exports, found out once.
func (s *Snapshots) exported() *exports {
	if s.exports != nil {
		return s.exports
	}
	x := &exports{modes: s.modes(), base: make(map[plumbing.Hash]bool, len(s.w.base.files)), where: map[plumbing.Hash]string{}}
	x.start = s.w.fromPlain(x.modes, s.start)
	for _, e := range s.w.base.files {
		if e.mode != filemode.Submodule {
			x.base[e.hash] = true
		}
	}
	s.exports = x
	return x
}

// fromBase is a state's difference from a plain checkout.
func (s *Snapshots) fromBase(x *exports, k *kept) map[string]node {
	nodes := make(map[string]node, len(x.start)+len(k.changed))
	maps.Copy(nodes, x.start)
	for p, n := range k.changed {
		if nodes[p] = n; n == s.w.plain(x.modes, p) {
			delete(nodes, p)
		}
	}
	return nodes
}

// modes finds the permissions that most of the base's paths had at the start.
func (s *Snapshots) modes() plainModes {
	var files, execs, dirs [fs.ModePerm + 1]int
	for p, n := range s.start {
		e, isFile := s.w.base.files[p]
		_, isDir := s.w.base.dirs[p]
		switch {
		case isFile && n.kind == nodeFile && e.mode == filemode.Executable:
			execs[n.perm&fs.ModePerm]++
		case isFile && n.kind == nodeFile:
			files[n.perm&fs.ModePerm]++
		case isDir && n.kind == nodeDir:
			dirs[n.perm&fs.ModePerm]++
		}
	}
	return plainModes{File: most(files[:], fileMode), Exec: most(execs[:], dirMode), Dir: most(dirs[:], dirMode)}
}

// fileMode is a checkout's for files that are not executable, before umask.
const fileMode = 0o644

// most is the index of the largest count, or otherwise where there is none.
func most(counts []int, otherwise uint32) uint32 {
	at := 0
	for i, n := range counts {
		if n > counts[at] {
			at = i
		}
	}
	if counts[at] == 0 {
		return otherwise
	}
	return uint32(at)
}
