package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// UseName is the tool through which the tools that are seldom needed are
// called. Each request carries every tool's description: listing those by a
// line each instead of a schema each keeps requests small and the menu short.
const UseName = "use_tool"

type useArgs struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// Offered is what a model is told of the tools: those that are often needed as
// they are, the others as lines in the description of [UseName].
func (r *Registry) Offered() []Spec {
	var offered, rare []Spec
	for _, s := range r.Specs() {
		if s.Rare {
			rare = append(rare, s)
			continue
		}
		s.Schema, s.Description = slim(s.Schema), strings.Join(strings.Fields(s.Description), " ")
		offered = append(offered, s)
	}
	if len(rare) == 0 {
		return offered
	}
	var b strings.Builder
	b.WriteString("Call one of these:\n")
	for _, s := range rare {
		b.WriteString(Signature(s) + " " + firstSentence(s.Description) + "\n")
	}
	return append(offered, Spec{
		Name: UseName, Description: strings.TrimSpace(b.String()), Effect: EffectState,
		Schema: &jsonschema.Schema{
			Type: "object", Required: []string{"tool"}, PropertyOrder: []string{"tool", "args"},
			Properties: map[string]*jsonschema.Schema{"tool": {Type: "string"}, "args": {Type: "object"}},
		},
	})
}

// slim is a schema without what only the check of the arguments needs: bounds,
// and that there are no other properties.
func slim(s *jsonschema.Schema) *jsonschema.Schema {
	if s == nil {
		return nil
	}
	out := s.CloneSchemas()
	out.AdditionalProperties, out.Minimum, out.Maximum, out.MaxItems = nil, nil, nil, nil
	for name, p := range out.Properties {
		out.Properties[name] = slim(p)
	}
	out.Items = slim(out.Items)
	return out
}

// Signature is a tool with its arguments in one line; optional ones have a
// question mark.
func Signature(s Spec) string {
	var required, optional []string
	for _, name := range s.Schema.PropertyOrder {
		p := s.Schema.Properties[name]
		text := name + kind(p)
		if slices.Contains(s.Schema.Required, name) {
			required = append(required, text)
		} else {
			optional = append(optional, name+"?"+kind(p))
		}
	}
	return s.Name + "(" + strings.Join(append(required, optional...), ", ") + ")"
}

// maxListed is how many values of an argument are worth the room; the check of
// the arguments names them all.
const maxListed = 6

// kind is what is to be said of an argument besides its name: nothing for a
// string.
func kind(p *jsonschema.Schema) string {
	switch {
	case len(p.Enum) > maxListed:
		return ""
	case len(p.Enum) > 0:
		var values []string
		for _, v := range p.Enum {
			values = append(values, fmt.Sprint(v))
		}
		return ":" + strings.Join(values, "|")
	case p.Type == "integer":
		return ":int"
	case p.Type == "boolean":
		return ":bool"
	case p.Type == "array":
		return ":[]"
	}
	return ""
}

func firstSentence(description string) string {
	text := strings.Join(strings.Fields(description), " ")
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".") + "."
}

// Unwrap is the call that a call of [UseName] asks for; any other call it
// returns as it is. What cannot be unwrapped stays, and fails when it is
// checked.
func (r *Registry) Unwrap(c Call) Call {
	if c.Name != UseName || c.Cut {
		return c
	}
	var args useArgs
	if fixed, ok := repair(bytes.TrimSpace(c.Args)); !ok || json.Unmarshal(fixed, &args) != nil || args.Tool == "" || args.Tool == UseName {
		return c
	}
	if len(args.Args) == 0 {
		args.Args = json.RawMessage("{}")
	}
	return Call{Name: args.Tool, Args: args.Args}
}
