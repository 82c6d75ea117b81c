// Package plan is the tool by which the agent keeps a short list of what it
// is going to do and how it will prove it.
//
// It sits under agent/tool; agent reads the plan from the result's Data
// ([Plan]) and keeps it for the outcome and for the review. The tool holds no
// state: each call replaces the plan.
package plan

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/greenwright/greenwright/agent/tool"
)

//go:embed plan.md
var description string

// Name is the tool's name; the loop exempts it from the rules on phases.
const Name = "update_plan"

// MaxItems is how long a plan may be: beyond that it is no longer a plan.
const MaxItems = 20

// Status is the state of an item.
type Status string

// The closed set of statuses.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Done       Status = "done"
	Dropped    Status = "dropped"
)

// Item is one entry of a plan.
type Item struct {
	Text   string `json:"text"`
	Status Status `json:"status"`
}

// Plan is the Data of a successful result.
type Plan struct {
	Items []Item `json:"items"`
	// Check is the command that is to prove the change, besides the task's own.
	Check string `json:"check,omitempty"`
	// Files are what is to be changed; empty means that it was not said.
	Files []string `json:"files,omitempty"`
}

// Text is the plan for people and models.
func (p Plan) Text() string {
	var b strings.Builder
	for _, it := range p.Items {
		fmt.Fprintf(&b, "[%s] %s\n", it.Status, it.Text)
	}
	if p.Check != "" {
		fmt.Fprintf(&b, "proved by: %s\n", p.Check)
	}
	if len(p.Files) > 0 {
		fmt.Fprintf(&b, "files: %s\n", strings.Join(p.Files, ", "))
	}
	return b.String()
}

// New makes the update_plan tool.
func New() tool.Tool {
	return tool.Typed(tool.Spec{
		Name:        Name,
		Description: description,
		Schema:      tool.SchemaFor[Plan](bounds),
		Tier:        tool.TierRead,
		Effect:      tool.EffectState,
	}, update)
}

func bounds(s *jsonschema.Schema) {
	items := s.Properties["items"]
	limit := MaxItems
	items.MaxItems = &limit
	tool.Enum("status", string(Pending), string(InProgress), string(Done), string(Dropped))(items.Items)
}

// update answers shortly: the model has just written the plan itself.
func update(_ context.Context, p Plan) tool.Result {
	open := 0
	for _, it := range p.Items {
		if it.Status == Pending || it.Status == InProgress {
			open++
		}
	}
	res := tool.OKText(fmt.Sprintf("Plan kept: %d items, %d open.", len(p.Items), open))
	res.Data = p
	return res
}
