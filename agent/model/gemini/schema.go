package gemini

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// maxDepth and maxNodes bound schemas that refer to themselves.
const (
	maxDepth = 16
	maxNodes = 2_000
)

// Schema turns a JSON Schema into the subset that the API takes
// (https://ai.google.dev/api/caching#Schema): references are put in place,
// oneOf becomes anyOf, a const an enum, null among the types nullable, and what
// the API does not know is left out. Nothing is returned for an object without
// properties, which the API refuses. The result says less than the original,
// never something else; the runtime checks arguments against the original.
func Schema(raw json.RawMessage) json.RawMessage {
	var root map[string]json.RawMessage
	if json.Unmarshal(raw, &root) != nil {
		return nil
	}
	c := &converter{root: root}
	out := c.convert(raw, 0)
	if out["type"] != "OBJECT" || out["properties"] == nil {
		return nil
	}
	data, err := json.Marshal(out)
	if err != nil { // it was made of JSON
		return nil
	}
	return data
}

type object = map[string]any

type converter struct {
	root  map[string]json.RawMessage
	nodes int // converted so far
}

// kept returns the keywords that the API reads as JSON Schema does.
func kept() []string {
	return []string{"title", "description", "minItems", "maxItems", "minProperties", "maxProperties",
		"minLength", "maxLength", "pattern", "minimum", "maximum", "default"}
}

func (c *converter) convert(raw json.RawMessage, depth int) object {
	var in map[string]json.RawMessage
	if c.nodes++; depth > maxDepth || c.nodes > maxNodes || json.Unmarshal(raw, &in) != nil {
		return object{"type": "OBJECT"}
	}
	if ref, ok := in["$ref"]; ok {
		return c.refer(in, ref, depth)
	}
	out := object{}
	for _, k := range kept() {
		if v, ok := in[k]; ok {
			out[k] = v
		}
	}
	c.setType(out, in)
	setEnum(out, in)
	setFormat(out, in)
	if items, ok := in["items"]; ok {
		out["items"] = c.convert(items, depth+1)
	} else if out["type"] == "ARRAY" {
		out["items"] = object{"type": "STRING"} // the API wants one
	}
	c.setProperties(out, in, depth)
	c.setUnion(out, in, depth)
	return out
}

// refer puts a reference into place; what stands beside it wins.
func (c *converter) refer(in map[string]json.RawMessage, ref json.RawMessage, depth int) object {
	var path string
	if json.Unmarshal(ref, &path) != nil || !strings.HasPrefix(path, "#/") {
		return object{"type": "OBJECT"}
	}
	level := c.root
	var target json.RawMessage
	for step := range strings.SplitSeq(path[2:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		if target = level[step]; target == nil {
			return object{"type": "OBJECT"}
		}
		level = nil
		// A target that is no object ends the path.
		_ = json.Unmarshal(target, &level)
	}
	out := c.convert(target, depth+1)
	if d, ok := in["description"]; ok {
		out["description"] = d
	}
	return out
}

func (c *converter) setType(out object, in map[string]json.RawMessage) {
	var one string
	var many []string
	if json.Unmarshal(in["type"], &one) != nil {
		// A type that is neither is none.
		_ = json.Unmarshal(in["type"], &many)
	} else {
		many = []string{one}
	}
	if slices.Contains(many, "null") {
		out["nullable"] = true
		many = slices.DeleteFunc(many, func(t string) bool { return t == "null" })
	}
	switch {
	case len(many) == 1:
		out["type"] = strings.ToUpper(many[0])
	case len(many) > 1:
		var union []object
		for _, t := range many {
			union = append(union, object{"type": strings.ToUpper(t)})
		}
		out["anyOf"] = union
	case in["properties"] != nil:
		out["type"] = "OBJECT"
	case in["items"] != nil:
		out["type"] = "ARRAY"
	case in["enum"] != nil || in["const"] != nil:
		out["type"] = "STRING"
	}
}

// setEnum keeps the values of a string; the API has no others, so those of
// numbers are told in words.
func setEnum(out object, in map[string]json.RawMessage) {
	var values []any
	if json.Unmarshal(in["enum"], &values) != nil {
		var one any
		if len(in["const"]) == 0 || json.Unmarshal(in["const"], &one) != nil {
			return
		}
		values = []any{one}
	}
	var texts []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			texts = append(texts, s)
		}
	}
	if out["type"] == "STRING" && len(texts) > 0 {
		out["enum"] = texts
		return
	}
	var said string
	// An absent description is an empty one.
	_ = json.Unmarshal(in["description"], &said)
	allowed, err := json.Marshal(values)
	if err == nil {
		out["description"] = strings.TrimSpace(said + " One of " + string(allowed) + ".")
	}
}

// setFormat keeps the formats that the API knows for the type.
func setFormat(out object, in map[string]json.RawMessage) {
	var format string
	if json.Unmarshal(in["format"], &format) != nil {
		return
	}
	known := map[any][]string{"STRING": {"date-time", "enum"}, "INTEGER": {"int32", "int64"}, "NUMBER": {"float", "double"}}
	if slices.Contains(known[out["type"]], format) {
		out["format"] = format
	}
}

func (c *converter) setProperties(out object, in map[string]json.RawMessage, depth int) {
	var props map[string]json.RawMessage
	if json.Unmarshal(in["properties"], &props) != nil || len(props) == 0 {
		return
	}
	converted := make(object, len(props))
	for _, name := range keys(in["properties"]) {
		p := props[name]
		converted[name] = c.convert(p, depth+1)
	}
	out["properties"] = converted
	out["propertyOrdering"] = keys(in["properties"])
	var required []string
	if json.Unmarshal(in["required"], &required) != nil {
		return
	}
	required = slices.DeleteFunc(required, func(n string) bool { return props[n] == nil })
	if len(required) > 0 {
		out["required"] = required
	}
}

// setUnion maps anyOf and oneOf; null among them is nullable, and a union of
// one is that one. allOf is merged as far as its parts are objects.
func (c *converter) setUnion(out object, in map[string]json.RawMessage, depth int) {
	var parts []json.RawMessage
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		var list []json.RawMessage
		if json.Unmarshal(in[k], &list) != nil || len(list) == 0 {
			continue
		}
		if k == "allOf" {
			for _, p := range list {
				merge(out, c.convert(p, depth+1))
			}
			continue
		}
		parts = append(parts, list...)
	}
	var union []object
	for _, p := range parts {
		o := c.convert(p, depth+1)
		if o["nullable"] == true && o["type"] == nil && o["anyOf"] == nil {
			out["nullable"] = true
			continue
		}
		union = append(union, o)
	}
	switch {
	case len(union) == 1:
		merge(out, union[0])
	case len(union) > 1:
		out["anyOf"] = union
	}
}

// merge adds what is not set; properties are joined.
func merge(out, in object) {
	for k, v := range in {
		have, ok := out[k]
		switch {
		case !ok:
			out[k] = v
		case k == "properties":
			into, isObject := have.(object)
			from, alsoObject := v.(object)
			if isObject && alsoObject {
				merge(into, from)
			}
		case k == "required" || k == "propertyOrdering":
			into, isList := have.([]string)
			from, alsoList := v.([]string)
			if isList && alsoList {
				out[k] = append(into, from...)
			}
		}
	}
}

// keys are the names of an object in the order written.
func keys(raw json.RawMessage) []string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	var names []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return names
		}
		var value json.RawMessage
		if s, ok := name.(string); ok && dec.Decode(&value) == nil && !slices.Contains(names, s) {
			names = append(names, s)
			continue
		}
		return names
	}
	return names
}
