package tool

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaFor infers the schema of the argument struct A and lets refine add
// what tags cannot say (enumerations, bounds). It returns nil when A has no
// schema, which [NewRegistry] reports.
func SchemaFor[A any](refine ...func(*jsonschema.Schema)) *jsonschema.Schema {
	s, err := jsonschema.For[A](nil)
	if err != nil {
		return nil
	}
	dropNull(s)
	for _, f := range refine {
		f(s)
	}
	return s
}

// dropNull removes null from the types of s: absent optional fields may be
// sent as null (the validator drops them), but no model should be told to.
func dropNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	for _, p := range s.Properties {
		dropNull(p)
	}
	dropNull(s.Items)
}

// Enum sets the values that a property of s may have.
func Enum(property string, values ...string) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		p := s.Properties[property]
		for _, v := range values {
			p.Enum = append(p.Enum, v)
		}
	}
}

// Range sets the bounds of an integer property of s, both included.
func Range(property string, low, high int) func(*jsonschema.Schema) {
	return func(s *jsonschema.Schema) {
		lo, hi := float64(low), float64(high)
		s.Properties[property].Minimum, s.Properties[property].Maximum = &lo, &hi
	}
}
