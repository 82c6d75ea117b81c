package edit

import (
	"context"
	_ "embed"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

var (
	//go:embed move_file.md
	moveDescription string
	//go:embed delete_file.md
	deleteDescription string
)

type moveArgs struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// NewMove makes the move_file tool over ws. It acts on the entry: a symlink is
// moved, not what it leads to.
func NewMove(ws *workspace.Workspace) tool.Tool {
	return tool.Typed(tool.Spec{
		Name:        "move_file",
		Description: moveDescription,
		Tier:        tool.TierPatch,
		Effect:      tool.EffectWrite,
	}, func(ctx context.Context, a moveArgs) tool.Result {
		if a.From == a.To {
			return tool.Failf(tool.CodeNoChange, "from and to are the same path")
		}
		return patcher{ws: ws}.single(ctx, FilePatch{Action: ActionMove, Path: a.From, To: a.To})
	})
}

type deleteArgs struct {
	Path string `json:"path"`
}

// NewDelete makes the delete_file tool over ws. It acts on the entry, and
// never on a directory.
func NewDelete(ws *workspace.Workspace) tool.Tool {
	return tool.Typed(tool.Spec{
		Name:        "delete_file",
		Description: deleteDescription,
		Tier:        tool.TierPatch,
		Effect:      tool.EffectWrite,
	}, func(ctx context.Context, a deleteArgs) tool.Result {
		return patcher{ws: ws}.single(ctx, FilePatch{Action: ActionDelete, Path: a.Path})
	})
}

// single carries out a part of a patch that is a call of its own.
func (t patcher) single(ctx context.Context, f FilePatch) tool.Result {
	patch := Patch{Files: []FilePatch{f}}
	defer t.ws.LockAll(t.paths(patch))()
	p := newPlanner(ctx, t.ws, patch)
	if failed := p.plan(patch); failed != nil {
		return refusal("", failed.err)
	}
	return t.commit(ctx, p.order)
}
