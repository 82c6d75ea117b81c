package git

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/greenwright/greenwright/vcs"
)

// manifestVersion is the version of the format that is written and read.
const manifestVersion = 1

const (
	// maxManifest bounds one manifest: a million paths of some 250 bytes.
	maxManifest = 256 << 20
	// maxLabel bounds a snapshot's label.
	maxLabel = 4096
)

// manifest is the JSON of one state: what differs from a plain checkout of the
// base.
type manifest struct {
	Version int            `json:"version"`
	ID      string         `json:"id"`
	Label   string         `json:"label"`
	Base    string         `json:"base"`  // tree
	Modes   plainModes     `json:"modes"` // of what does not differ
	Paths   []manifestPath `json:"paths"` // sorted by the bytes of the path
	Left    []manifestLeft `json:"left,omitempty"`
}

// plainModes are the permission bits that a checkout gave to nearly
// everything; they depend on the process's umask.
type plainModes struct {
	File uint32 `json:"file"`
	Exec uint32 `json:"exec"`
	Dir  uint32 `json:"dir"`
}

// manifestPath is what stands at a path.
type manifestPath struct {
	rawPath
	Kind string `json:"kind"`
	Mode uint32 `json:"mode,omitempty"` // permission bits of files and directories
	Hash string `json:"hash,omitempty"` // blob of a file's bytes or a link's target
}

type manifestLeft struct {
	rawPath
	Why string `json:"why"`
}

// rawPath is a path of any bytes: JSON has only text.
type rawPath struct {
	Path string `json:"path,omitempty"`
	Raw  []byte `json:"raw,omitempty"` // instead of Path where that is no UTF-8
}

func newRawPath(p string) rawPath {
	if utf8.ValidString(p) {
		return rawPath{Path: p}
	}
	return rawPath{Raw: []byte(p)}
}

func (r rawPath) bytes() string { return r.Path + string(r.Raw) }

// nodeKinds are the names of kinds in a manifest, by nodeKind.
var nodeKinds = [...]string{nodeAbsent: "absent", nodeDir: "dir", nodeFile: "file", nodeLink: "link", nodeSpecial: "special", nodeUnkept: "unkept"}

// encode is the only way that a manifest is written: reading one that is
// written otherwise is refused.
func (m *manifest) encode() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return nil, fmt.Errorf("encoding a manifest: %w", err)
	}
	return out.Bytes(), nil
}

// snapshotID is what ids of snapshots look like.
var snapshotID = regexp.MustCompile(`^(` + FirstSnapshot + `|s([0-9]{1,9})(-[a-z0-9]{1,20})?)$`)

func badManifest(format string, args ...any) error {
	return fmt.Errorf("%w: manifest: %s", vcs.ErrInvalid, fmt.Sprintf(format, args...))
}

// parseManifest reads a manifest that anybody may have written; what its paths
// mean over a base is checked by nodesOver.
func parseManifest(data []byte) (*manifest, error) {
	if len(data) > maxManifest {
		return nil, fmt.Errorf("%w: manifest of %d bytes", ErrTooLarge, len(data))
	}
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, badManifest("%v", err)
	}
	if m.Version != manifestVersion {
		return nil, badManifest("version %d, want %d", m.Version, manifestVersion)
	}
	if again, err := m.encode(); err != nil || !bytes.Equal(again, data) {
		return nil, badManifest("it is not written as manifests are")
	}
	if !snapshotID.MatchString(m.ID) || len(m.Label) > maxLabel || len(m.Left) > maxLeft {
		return nil, badManifest("id %.40q, label of %d bytes, %d paths left", m.ID, len(m.Label), len(m.Left))
	}
	if (m.Modes.File|m.Modes.Exec|m.Modes.Dir)&^uint32(fs.ModePerm) != 0 {
		return nil, badManifest("modes %+v", m.Modes)
	}
	return &m, vcs.ValidateSHA(m.Base)
}

// node reads one line of a manifest.
func (l manifestPath) node(maxDepth int) (string, node, error) {
	p := l.bytes()
	if err := ValidatePath(p); err != nil {
		return p, node{}, err
	}
	kind := slices.Index(nodeKinds[:], l.Kind)
	isFile := kind == int(nodeFile) || kind == int(nodeLink)
	hasMode := kind == int(nodeFile) || kind == int(nodeDir)
	switch {
	case kind < 0:
		return p, node{}, badManifest("%q is %.20q", p, l.Kind)
	case l.Path != "" && l.Raw != nil, l.Raw != nil && utf8.Valid(l.Raw):
		return p, node{}, badManifest("%q is named twice", p)
	case strings.Count(p, "/") > maxDepth:
		return p, node{}, badManifest("%q is too deep", p)
	case l.Mode&^uint32(fs.ModePerm) != 0, l.Mode != 0 && !hasMode:
		return p, node{}, badManifest("%q has mode %o", p, l.Mode)
	case isFile != (l.Hash != ""), isFile && vcs.ValidateSHA(l.Hash) != nil:
		return p, node{}, badManifest("%q has hash %.50q", p, l.Hash)
	}
	n := node{kind: nodeKind(kind), perm: fs.FileMode(l.Mode)} //nolint:gosec // one of nodeKinds
	if isFile {
		n.hash = plumbing.NewHash(l.Hash)
	}
	return p, n, nil
}

// plain is what a checkout with such modes has at a path.
func (w *Workspace) plain(m plainModes, p string) node {
	e, ok := w.base.files[p]
	switch {
	case ok && e.mode == filemode.Symlink:
		return node{kind: nodeLink, hash: e.hash}
	case ok && e.mode == filemode.Executable:
		return node{kind: nodeFile, perm: fs.FileMode(m.Exec), hash: e.hash}
	case ok && e.regular():
		return node{kind: nodeFile, perm: fs.FileMode(m.File), hash: e.hash}
	case ok:
		return node{}
	}
	if _, ok := w.base.dirs[p]; ok && p != "" {
		return node{kind: nodeDir, perm: fs.FileMode(m.Dir)}
	}
	return node{}
}

// fromPlain lists where nodes differ from a plain checkout.
func (w *Workspace) fromPlain(m plainModes, nodes map[string]node) map[string]node {
	diff := map[string]node{}
	for p, n := range nodes {
		if w.plain(m, p) != n {
			diff[p] = n
		}
	}
	missing := func(p string) {
		if _, ok := nodes[p]; !ok && w.plain(m, p).kind != nodeAbsent {
			diff[p] = node{}
		}
	}
	for p := range w.base.files {
		missing(p)
	}
	for p := range w.base.dirs {
		missing(p)
	}
	return diff
}

// nodesOver is the whole state that a manifest describes, checked.
func (m *manifest) nodesOver(w *Workspace) (map[string]node, error) {
	if m.Base != w.base.hash.String() {
		return nil, badManifest("it is over tree %s, the workspace over %s", m.Base, w.base.hash)
	}
	if len(m.Paths) > w.limits.MaxEntries {
		return nil, fmt.Errorf("%w: manifest of %d paths", ErrTooLarge, len(m.Paths))
	}
	nodes := make(map[string]node, len(w.base.files)+len(w.base.dirs)+len(m.Paths))
	for _, list := range []func(func(string) bool){maps.Keys(w.base.files), maps.Keys(w.base.dirs)} {
		for p := range list {
			if n := w.plain(m.Modes, p); n.kind != nodeAbsent {
				nodes[p] = n
			}
		}
	}
	last, over := "", false
	for _, l := range m.Paths {
		p, n, err := l.node(w.limits.MaxDepth)
		if err != nil {
			return nil, err
		}
		if p <= last || w.inSubmodule(p) || n == w.plain(m.Modes, p) {
			return nil, badManifest("%q is out of order, in a submodule, or no difference", p)
		}
		last = p
		_, wasDir := w.base.dirs[p]
		over = over || wasDir || n.kind != nodeAbsent
		if nodes[p] = n; n.kind == nodeAbsent {
			delete(nodes, p)
		}
	}
	return nodes, standing(nodes, over)
}

// standing refuses what stands below something that is no directory. A
// directory that is not in the state at all may be one that was ignored from
// the start.
func standing(nodes map[string]node, look bool) error {
	if !look {
		return nil
	}
	for p := range nodes {
		if k := nodes[parent(p)].kind; k == nodeFile || k == nodeLink || k == nodeSpecial {
			return badManifest("%q stands below something that is no directory", p)
		}
	}
	return nil
}

// inSubmodule reports whether a path is a submodule or in one.
func (w *Workspace) inSubmodule(p string) bool {
	for ; p != ""; p = parent(p) {
		if w.base.files[p].mode == filemode.Submodule {
			return true
		}
	}
	return false
}
