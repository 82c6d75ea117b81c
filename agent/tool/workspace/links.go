package workspace

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/greenwright/greenwright/agent/tool"
)

// ResolveEntry resolves a path to the entry itself: the symlinks of its
// directories are followed, one at its end is not. Moving and removing act on
// it. The root itself is refused.
func (w *Workspace) ResolveEntry(name string) (Path, error) {
	clean, err := w.relative(name)
	if err != nil {
		return Path{}, err
	}
	if clean == "." {
		return Path{}, faultf(tool.CodeIsDirectory, "%s is the workspace itself", name)
	}
	dir, err := w.follow(path.Dir(clean))
	if err != nil {
		return Path{}, err
	}
	real := path.Join(dir, path.Base(clean))
	return Path{Name: clean, Real: real}, protect(real)
}

// Kind is what is found at a path.
type Kind string

// The closed set of kinds.
const (
	KindNothing   Kind = "nothing"
	KindFile      Kind = "file"
	KindDirectory Kind = "directory"
	KindLink      Kind = "symlink"
	KindSpecial   Kind = "special file" // a FIFO, socket or device
)

// Kind looks at the entry itself, without following a link at its end.
func (w *Workspace) Kind(p Path) Kind {
	info, err := w.root.Lstat(p.Real)
	switch {
	case err != nil:
		return KindNothing
	case info.Mode().IsRegular():
		return KindFile
	case info.IsDir():
		return KindDirectory
	case info.Mode()&fs.ModeSymlink != 0:
		return KindLink
	}
	return KindSpecial
}

// Dangling says that a resolved path was a symlink to nothing.
func (w *Workspace) Dangling(p Path) bool {
	return p.Linked() && w.isLink(p.Name) && w.Kind(p) == KindNothing
}

// LinkTarget is what the symlink at p says, empty when it is none.
func (w *Workspace) LinkTarget(p Path) string {
	target, err := w.root.Readlink(p.Real)
	if err != nil {
		return ""
	}
	return target
}

// LockAll is [Workspace.Lock] for several resolved paths.
func (w *Workspace) LockAll(paths []string) (unlock func()) {
	paths = slices.Compact(slices.Sorted(slices.Values(paths))) // one order for all, so that no two wait for each other
	var unlocks []func()
	for _, p := range paths {
		unlocks = append(unlocks, w.Lock(p))
	}
	return func() {
		for _, u := range unlocks {
			u()
		}
	}
}

// maxTwins is how many entries of a directory are looked at for a twin.
const maxTwins = 10_000

// Twins are the other entries of the path's directory whose names are the same
// to a file system that ignores case or Unicode's ways of composing a
// character. They are a trap: not everybody who checks the change out will get
// both.
func (w *Workspace) Twins(p Path) []string {
	dir, base := path.Split(p.Real)
	d, err := w.openDir(path.Clean(dir))
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxTwins)
	var twins []string
	for _, name := range names {
		if name != base && folded(name) == folded(base) {
			twins = append(twins, path.Join(dir, name))
		}
	}
	slices.Sort(twins)
	return twins
}

func folded(name string) string { return norm.NFC.String(strings.ToLower(norm.NFC.String(name))) }
