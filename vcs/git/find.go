package git

import (
	"context"
	"slices"
	"strings"
)

// FindFiles returns the paths of the regular files at a commit whose name is
// one of those given, in whatever directory, sorted. vcs.ErrNotFound when the
// commit is not in the mirror.
func (m *Mirror) FindFiles(ctx context.Context, commit string, names ...string) ([]string, error) {
	o, done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	c, err := o.commit(commit)
	if err != nil {
		return nil, err
	}
	ft, err := o.flatten(ctx, c.TreeHash)
	if err != nil {
		return nil, m.markDamaged(err)
	}
	var out []string
	for p, e := range ft.files {
		if e.regular() && slices.Contains(names, p[strings.LastIndexByte(p, '/')+1:]) {
			out = append(out, p)
		}
	}
	slices.Sort(out)
	return out, nil
}
