package jsonstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Encode writes a value as JSON on one line, without escaping the characters
// of HTML: code is full of them, and each would take six bytes.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Body is a request of a few parameters, as an SDK makes them, and one long
// list, the transcript, under its name and last: what two requests of a run
// have in common is then at their beginning. The SDKs' own encoders write every
// value of a transcript anew at each level of nesting, which costs more than
// all else that a step does. An entry of extra replaces a parameter.
func Body(params any, extra map[string]any, name string, list any) ([]byte, error) {
	head, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("writing the parameters: %w", err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(head, &fields); err != nil {
		return nil, fmt.Errorf("reading the parameters: %w", err)
	}
	for k, v := range extra {
		if fields[k], err = Encode(v); err != nil {
			return nil, fmt.Errorf("writing %s: %w", k, err)
		}
	}
	delete(fields, name)
	long, err := Encode(list)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	out := make([]byte, 0, len(head)+len(long)+len(name)+64)
	out = append(out, '{')
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		out = append(fmt.Appendf(out, "%q:", k), fields[k]...)
		out = append(out, ',')
	}
	out = append(fmt.Appendf(out, "%q:", name), long...)
	return append(out, '}'), nil
}
