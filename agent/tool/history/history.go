// Package history is the tool that shows the agent its own difference.
//
// It sits under agent/tool and gets the difference from a [tool.Differ] on the
// trusted side: git is never run in the workspace for it.
package history

import (
	"context"
	_ "embed"

	"github.com/greenwright/greenwright/agent/tool"
)

//go:embed history.md
var description string

type args struct {
	Paths []string `json:"paths,omitempty"`
}

// New makes the git_diff tool over d.
func New(d tool.Differ) tool.Tool {
	return tool.Typed(tool.Spec{
		Name:        "git_diff",
		Description: description,
		Tier:        tool.TierRead,
		Effect:      tool.EffectRead,
	}, func(ctx context.Context, a args) tool.Result {
		diff, err := d.Diff(ctx, a.Paths)
		switch {
		case err != nil:
			return tool.Failf(tool.CodeInternal, "the difference could not be made: %v", err)
		case diff == "":
			return tool.OKText("No difference.")
		}
		return tool.OKText(diff)
	})
}
