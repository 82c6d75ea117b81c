// Package history holds the tools that show the agent its own difference and
// the history that it works on: git_diff, git_log, git_blame.
//
// It sits under agent/tool and gets everything from the trusted side, by a
// [tool.Differ] and a [tool.Historian]: git is never run in the workspace for
// it. Names and text of history are untrusted and cleaned; addresses of
// authors are not shown.
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
