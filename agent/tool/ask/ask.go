// Package ask is the tool by which the agent asks a person and ends its turn.
//
// It sits under agent/tool. The tool only reads the question; agent ends the
// run with it, and whoever started the run puts it into the thread.
package ask

import (
	"context"
	_ "embed"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
)

//go:embed ask_person.md
var description string

// Name is the tool's name.
const Name = "ask_person"

// Question is the Data of a successful result.
type Question struct {
	Text string `json:"question"`
}

// New makes the ask_person tool.
func New() tool.Tool {
	return tool.Typed(tool.Spec{
		Name:        Name,
		Description: description,
		Tier:        tool.TierRead,
		Effect:      tool.EffectState,
	}, func(_ context.Context, q Question) tool.Result {
		if strings.TrimSpace(q.Text) == "" {
			return tool.Failf(tool.CodeInvalidArgs, "question is empty")
		}
		res := tool.OKText("The question is passed on; the run ends here.")
		res.Data = q
		return res
	})
}
