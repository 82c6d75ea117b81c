// Package symbols holds the tools that answer from what the code declares:
// outline (of a file or a directory) and find_symbol.
//
// It sits under agent/tool, over agent/outline, which it feeds from a
// [workspace.Workspace]; the index it builds is also what the first candidates
// and the repository map of a task come from.
//
// Invariants: the index is taken anew for each call, so that an edit is seen
// at once; only what changed is read again. What these tools print are
// signatures, not lines of a file: they do not count as read.
package symbols

import (
	"context"
	"errors"
	"fmt"

	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// Repository is the workspace as the index sees it. It is safe for concurrent
// use.
type Repository struct {
	ws      *workspace.Workspace
	builder *outline.Builder
}

// NewRepository makes one over ws. builder keeps contents over runs when it is
// shared; nil means one of its own.
func NewRepository(ws *workspace.Workspace, builder *outline.Builder) *Repository {
	if builder == nil {
		builder = outline.NewBuilder(0, nil)
	}
	return &Repository{ws: ws, builder: builder}
}

// Index is the index of the workspace as it is now.
func (r *Repository) Index(ctx context.Context) (*outline.Index, error) {
	return r.builder.Build(ctx, tree{r.ws})
}

// tree is a workspace as an [outline.Tree].
type tree struct{ ws *workspace.Workspace }

func (t tree) Walk(ctx context.Context, visit func(outline.Entry) error) error {
	err := t.ws.Walk(ctx, ".", false, func(e workspace.Entry) error {
		if !e.Info.Mode().IsRegular() {
			return nil
		}
		return visit(outline.Entry{Path: e.Path, Size: e.Info.Size(), Info: e.Info})
	})
	if errors.Is(err, workspace.ErrWalkLimit) {
		return nil // the index takes fewer still
	}
	if err != nil {
		return fmt.Errorf("walking the workspace: %w", err)
	}
	return nil
}

func (t tree) Read(path string) ([]byte, error) {
	f, err := t.ws.Read(workspace.Path{Name: path, Real: path})
	if err != nil {
		return nil, err
	}
	return f.Bytes, nil
}
