package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// MaxArgumentBytes caps the arguments of one call: larger than any sensible
// file to write, small enough to hold many in memory.
const MaxArgumentBytes = 4 << 20

// Validator checks the arguments of one tool. It is safe for concurrent use.
type Validator struct {
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// NewValidator prepares the schema, which must be of type object.
func NewValidator(schema *jsonschema.Schema) (*Validator, error) {
	if schema == nil || schema.Type != "object" {
		return nil, fmt.Errorf("schema is missing or not of type object")
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolving schema: %w", err)
	}
	return &Validator{schema: schema, resolved: resolved}, nil
}

// Check returns the arguments in the form the tool gets them, or every fault
// found. It coerces only what cannot change the meaning ("5" to 5, "true" to
// true, null for an absent optional field, an object sent as a string), names
// the nearest field for one it does not know, and never fills a required one.
func (v *Validator) Check(raw json.RawMessage) (json.RawMessage, []string) {
	value, fault := decodeObject(raw)
	if fault != "" {
		return nil, []string{fault}
	}
	c := coercer{}
	value = c.object(v.schema, value, "")
	if len(c.faults) > 0 {
		return nil, c.faults
	}
	if err := v.resolved.Validate(value); err != nil {
		return nil, []string{err.Error()}
	}
	out, err := json.Marshal(value)
	if err != nil {
		return nil, []string{err.Error()}
	}
	return out, nil
}

// decodeObject reads raw as one JSON object, also when it is sent as a string
// that holds one. Empty arguments are the empty object.
func decodeObject(raw []byte) (map[string]any, string) {
	if len(raw) > MaxArgumentBytes {
		return nil, fmt.Sprintf("arguments are %d bytes, over the limit of %d", len(raw), MaxArgumentBytes)
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return map[string]any{}, ""
	}
	fixed, ok := repair(raw)
	if !ok {
		return nil, "arguments are not valid JSON: " + jsonFault(raw)
	}
	var text string
	if fixed[0] == '"' && json.Unmarshal(fixed, &text) == nil {
		if fixed, ok = repair([]byte(text)); !ok {
			return nil, "arguments are a string that holds no JSON object"
		}
	}
	dec := json.NewDecoder(bytes.NewReader(fixed))
	dec.UseNumber()
	var value map[string]any
	if err := dec.Decode(&value); err != nil || value == nil {
		return nil, "arguments must be one JSON object"
	}
	return value, ""
}

func jsonFault(raw []byte) string {
	var v any
	err := json.Unmarshal(raw, &v)
	if err == nil {
		return "unknown fault"
	}
	return err.Error()
}

// coercer walks a value along its schema and collects faults.
type coercer struct{ faults []string }

func (c *coercer) fault(path, format string, args ...any) {
	if path == "" {
		path = "arguments"
	}
	c.faults = append(c.faults, path+": "+fmt.Sprintf(format, args...))
}

func (c *coercer) object(s *jsonschema.Schema, in map[string]any, path string) map[string]any {
	out := make(map[string]any, len(in))
	for _, name := range slices.Sorted(maps.Keys(in)) {
		sub := s.Properties[name]
		switch {
		case sub == nil && s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil:
			out[name] = c.value(s.AdditionalProperties, in[name], join(path, name))
		case sub == nil:
			c.unknown(s, name, path)
		case in[name] == nil && !slices.Contains(s.Required, name):
			// null for an absent optional field
		default:
			out[name] = c.value(sub, in[name], join(path, name))
		}
	}
	for _, name := range s.Required {
		if _, ok := in[name]; !ok {
			c.fault(join(path, name), "required field is missing")
		}
	}
	return out
}

func (c *coercer) unknown(s *jsonschema.Schema, name, path string) {
	near := Nearest(name, slices.Sorted(maps.Keys(s.Properties)), 1)
	if len(near) == 0 {
		c.fault(join(path, name), "unknown field; this object takes none")
		return
	}
	c.fault(join(path, name), "unknown field; did you mean %q?", near[0])
}

func (c *coercer) value(s *jsonschema.Schema, v any, path string) any {
	switch s.Type {
	case "object":
		if m, ok := v.(map[string]any); ok {
			return c.object(s, m, path)
		}
	case "array":
		if list, ok := v.([]any); ok && s.Items != nil {
			return c.array(s, list, path)
		}
	case "integer", "number":
		return c.number(s.Type, v, path)
	case "boolean":
		return c.boolean(v, path)
	case "string":
		if text, ok := v.(string); ok {
			return text
		}
	default:
		return v
	}
	c.fault(path, "must be %s, not %s", s.Type, kindOf(v))
	return v
}

func (c *coercer) array(s *jsonschema.Schema, list []any, path string) []any {
	out := make([]any, len(list))
	for i, item := range list {
		out[i] = c.value(s.Items, item, path+"["+strconv.Itoa(i)+"]")
	}
	return out
}

func (c *coercer) number(kind string, v any, path string) any {
	var text string
	switch n := v.(type) {
	case json.Number:
		text = n.String()
	case string:
		text = strings.TrimSpace(n)
	default:
		c.fault(path, "must be %s, not %s", kind, kindOf(v))
		return v
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(text, 64)
	if whole := f == float64(int64(f)); err == nil && kind == "integer" && whole && f > -1<<53 && f < 1<<53 {
		return int64(f)
	}
	if err != nil || kind == "integer" || f != f || f-f != 0 {
		c.fault(path, "must be %s, not %q", kind, text)
	}
	return f
}

func (c *coercer) boolean(v any, path string) any {
	switch v {
	case true, "true":
		return true
	case false, "false":
		return false
	}
	c.fault(path, "must be true or false, not %s", kindOf(v))
	return v
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "an array"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	}
	return "a number"
}
