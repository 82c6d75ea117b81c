// Package finish is the tool by which the agent submits its work, and the pure
// review that stands between the first call and the submission.
//
// It sits under agent/tool. The tool only reads the submission; agent holds
// the two steps, because it alone knows what ran after the last edit. [Review]
// takes facts and returns findings; it reads nothing.
package finish

import (
	"context"
	_ "embed"

	"github.com/greenwright/greenwright/agent/tool"
)

//go:embed finish.md
var description string

// Name is the tool's name; the loop exempts it from the rules on repeats.
const Name = "finish"

// Submission is the Data of a successful result.
type Submission struct {
	Summary    string  `json:"summary"`
	Answer     string  `json:"answer,omitempty"`
	Replies    []Reply `json:"replies,omitempty"`
	Unverified string  `json:"unverified,omitempty"`
}

// Reply answers one context block.
type Reply struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// New makes the finish tool.
func New() tool.Tool {
	return tool.Typed(tool.Spec{
		Name:        Name,
		Description: description,
		Tier:        tool.TierRead,
		Effect:      tool.EffectState,
	}, submit)
}

func submit(_ context.Context, s Submission) tool.Result {
	if s.Summary == "" && s.Answer == "" {
		return tool.Failf(tool.CodeInvalidArgs, "summary is empty")
	}
	res := tool.OKText("Submitted.")
	res.Data = s
	return res
}
