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
	Summary    string  `json:"summary" jsonschema:"what was wrong, what you changed, what you ran"`
	Answer     string  `json:"answer,omitempty" jsonschema:"the answer, when the task is a question"`
	Replies    []Reply `json:"replies,omitempty" jsonschema:"answers to the remarks that carry an id"`
	Unverified string  `json:"unverified,omitempty" jsonschema:"why a verifying command could not be run"`
}

// Reply answers one context block.
type Reply struct {
	ID   string `json:"id" jsonschema:"the id of the remark"`
	Text string `json:"text" jsonschema:"your answer to it"`
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
