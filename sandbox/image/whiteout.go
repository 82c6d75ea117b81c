package image

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Whiteouts are how a layer removes what an earlier one made: a file with the
// prefix hides its namesake, the opaque one all that is in its directory.
const (
	whiteoutPrefix = ".wh."
	whiteoutMeta   = ".wh..wh."
	whiteoutOpaque = ".wh..wh..opq"
)

// hiding is what a whiteout removes; with all, what is in dir.
type hiding struct {
	dir  string
	base string
	all  bool
}

// whiteout reads an entry's name as one. Other names that begin like the
// opaque one are notes of a storage driver, which hide nothing.
func whiteout(name string) (hiding, bool, error) {
	dir, base := path.Split(name)
	rest, ok := strings.CutPrefix(base, whiteoutPrefix)
	switch {
	case !ok:
		return hiding{}, false, nil
	case base == whiteoutOpaque:
		return hiding{dir: path.Clean(dir), all: true}, true, nil
	case strings.HasPrefix(base, whiteoutMeta):
		return hiding{}, true, nil
	case rest == "" || rest == "." || rest == "..":
		return hiding{}, true, fmt.Errorf("%w: a whiteout of %q", ErrHostile, rest)
	}
	return hiding{dir: path.Clean(dir), base: rest}, true, nil
}

// hide removes what earlier layers made, and leaves what this one did.
func (u *unpacker) hide(h hiding) error {
	if h.dir == "" {
		return nil
	}
	parent, err := u.resolve(h.dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if h.all {
		return u.hideOld(parent)
	}
	at := path.Join(parent, h.base)
	if !u.isNew(at) {
		return u.clear(at)
	}
	if info, err := u.root.Lstat(at); err == nil && info.IsDir() {
		return u.hideOld(at)
	}
	return nil
}

// hideOld removes what is old in a directory, at all depths.
func (u *unpacker) hideOld(dir string) error {
	d, err := u.root.Open(dir)
	if err != nil {
		return fmt.Errorf("reading a directory: %w", err)
	}
	entries, err := d.ReadDir(-1)
	_ = d.Close()
	if err != nil {
		return fmt.Errorf("reading a directory: %w", err)
	}
	for _, e := range entries {
		at := path.Join(dir, e.Name())
		switch {
		case !u.isNew(at):
			err = u.clear(at)
		case e.IsDir():
			err = u.hideOld(at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
