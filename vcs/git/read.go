package git

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"

	"github.com/greenwright/greenwright/vcs"
)

// ReadFile returns the content of a regular file at a commit, as stored, up
// to maxBytes (ErrTooLarge beyond). vcs.ErrNotFound when the commit is not in
// the mirror or has no such file; links are not followed.
func (m *Mirror) ReadFile(ctx context.Context, commit, path string, maxBytes int64) ([]byte, error) {
	if err := ValidatePath(path); err != nil {
		return nil, err
	}
	o, done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	c, err := o.commit(commit)
	if err != nil {
		return nil, err
	}
	e, err := o.lookup(c.TreeHash, path)
	if err != nil {
		return nil, m.markDamaged(err)
	}
	if !e.regular() {
		return nil, fmt.Errorf("%w: %s is not a regular file at %s", vcs.ErrNotFound, path, commit)
	}
	b, err := o.blob(e.hash, maxBytes)
	return b, m.markDamaged(err)
}

// ListFiles returns the names of the regular files directly in a directory
// ("" is the top) at a commit, sorted. vcs.ErrNotFound as in ReadFile.
func (m *Mirror) ListFiles(ctx context.Context, commit, dir string) ([]string, error) {
	o, done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	c, err := o.commit(commit)
	if err != nil {
		return nil, err
	}
	at := entry{filemode.Dir, c.TreeHash}
	if dir != "" {
		if err := ValidatePath(dir); err != nil {
			return nil, err
		}
		if at, err = o.lookup(c.TreeHash, dir); err != nil {
			return nil, m.markDamaged(err)
		}
	}
	if at.mode != filemode.Dir {
		return nil, fmt.Errorf("%w: %s is not a directory at %s", vcs.ErrNotFound, dir, commit)
	}
	t, err := o.tree(at.hash)
	if err != nil {
		return nil, m.markDamaged(err)
	}
	var names []string
	for _, e := range t.Entries {
		if (entry{e.Mode, e.Hash}).regular() {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// lookup finds what a tree holds at a valid path.
func (o *objects) lookup(root plumbing.Hash, path string) (entry, error) {
	at := entry{filemode.Dir, root}
	for rest := path; ; {
		name, more, deeper := strings.Cut(rest, "/")
		t, err := o.tree(at.hash)
		if err != nil {
			return entry{}, err
		}
		found := false
		for _, e := range t.Entries {
			if e.Name == name {
				at, found = entry{e.Mode, e.Hash}, true
				break
			}
		}
		if !found || deeper && at.mode != filemode.Dir {
			return entry{}, fmt.Errorf("%w: %s", vcs.ErrNotFound, path)
		}
		if !deeper {
			return at, nil
		}
		rest = more
	}
}
