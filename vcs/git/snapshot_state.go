package git

import (
	"io/fs"

	"github.com/go-git/go-git/v5/plumbing"
)

// nodeKind is what stands at a path.
type nodeKind uint8

const (
	nodeAbsent nodeKind = iota
	nodeDir
	nodeFile
	nodeLink
	// nodeSpecial holds nothing that could be lost, and cannot be made again:
	// a FIFO, socket or device, or one more name of a file elsewhere.
	nodeSpecial
	// nodeUnkept is a file or directory whose content is not kept: it, and
	// what is below it, is never touched.
	nodeUnkept
)

// node is what stands at a path, comparable.
type node struct {
	kind nodeKind
	perm fs.FileMode   // permission bits of files and directories
	hash plumbing.Hash // of a file's bytes or a link's target, as a blob
}

// state is what a workspace held.
type state struct {
	nodes  map[string]node
	stamps map[string]stamp // as each path was looked at, where known
	left   []Left
}

// maxLeft bounds what is told of paths that are not kept.
const maxLeft = 20

func (st *state) someLeft() []Left { return st.left[:min(len(st.left), maxLeft)] }

// since lists the paths that differ from another state.
func (st *state) since(start map[string]node) map[string]node {
	changed := map[string]node{}
	for p, n := range st.nodes {
		if start[p] != n {
			changed[p] = n
		}
	}
	for p := range start {
		if _, ok := st.nodes[p]; !ok {
			changed[p] = node{}
		}
	}
	return changed
}

// unkeptAbove reports whether the path, or a directory above it, is not kept.
func unkeptAbove(p string, at func(string) node) bool {
	for ; p != ""; p = parent(p) {
		if at(p).kind == nodeUnkept {
			return true
		}
	}
	return false
}
