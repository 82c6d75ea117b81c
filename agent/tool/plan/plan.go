// Package plan is the tool by which the agent keeps a short list of what it
// is going to do and how it will prove it.
//
// It sits under agent/tool; agent reads the list from the result's Data
// ([List]) and keeps it in the outcome. The tool holds no state: each call
// replaces the list.
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
	Text   string `json:"text" jsonschema:"what is to be done, in one sentence"`
	Status Status `json:"status" jsonschema:"state of the item"`
}

// List is the Data of a successful result.
type List []Item

type args struct {
	Items []Item `json:"items" jsonschema:"the whole plan; it replaces the last one"`
	Check string `json:"check,omitempty" jsonschema:"the command that will prove the change"`
}

// New makes the update_plan tool.
func New() tool.Tool {
	return tool.Typed(tool.Spec{
		Name:        "update_plan",
		Description: description,
		Schema:      tool.SchemaFor[args](bounds),
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

func update(_ context.Context, a args) tool.Result {
	var b strings.Builder
	for _, it := range a.Items {
		fmt.Fprintf(&b, "[%s] %s\n", it.Status, it.Text)
	}
	if a.Check != "" {
		fmt.Fprintf(&b, "proved by: %s\n", a.Check)
	}
	res := tool.OKText("Plan kept.\n" + b.String())
	res.Data = List(a.Items)
	return res
}
