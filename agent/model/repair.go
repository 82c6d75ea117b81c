package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Arguments is what a server sent as the arguments of a call, as a JSON object
// where that is possible without guessing: an object written as a JSON string
// is unwrapped (whole or not), unescaped control characters inside strings are escaped, and
// commas before a closing bracket are dropped. Brackets and strings are never
// closed: what is missing is not known. Nothing at all is the empty object.
// What cannot be read so comes back as it was.
func Arguments(raw []byte) json.RawMessage {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || string(trimmed) == "null" {
		return json.RawMessage("{}")
	}
	if trimmed[0] == '"' {
		var inner string
		if json.Unmarshal(trimmed, &inner) == nil && strings.HasPrefix(strings.TrimLeft(inner, " \t\r\n\""), "{") {
			return Arguments([]byte(inner))
		}
	}
	if json.Valid(raw) {
		return raw
	}
	if fixed := repair(raw); json.Valid(fixed) {
		return fixed
	}
	return raw
}

// Truncated says whether data is the beginning of a JSON value that never
// ends: a bracket or a string is open.
func Truncated(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && bytes.IndexByte([]byte(`{["`), data[0]) >= 0 && !json.Valid(data) && openBrackets(data)
}

// openBrackets says whether more brackets open than close, outside strings.
func openBrackets(data []byte) bool {
	depth, s := 0, scanner{}
	for _, c := range data {
		if s.inside(c) {
			continue
		}
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
	}
	return depth > 0 || s.open
}

// scanner follows the strings of a JSON text.
type scanner struct{ open, escaped bool }

// inside says whether c belongs to a string, its quotes included.
func (s *scanner) inside(c byte) bool {
	switch {
	case s.escaped:
		s.escaped = false
		return true
	case s.open && c == '\\':
		s.escaped = true
		return true
	case c == '"':
		s.open = !s.open
		return true
	}
	return s.open
}

// repair escapes control characters inside strings and drops commas before a
// closing bracket; it changes nothing else.
func repair(raw []byte) []byte {
	out := make([]byte, 0, len(raw)+16)
	var s scanner
	for i, c := range raw {
		inside := s.inside(c)
		switch {
		case inside && c < 0x20:
			out = append(out, escape(c)...)
		case !inside && c == ',' && closes(raw[i+1:]):
		default:
			out = append(out, c)
		}
	}
	return out
}

func escape(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	return fmt.Sprintf(`\u%04x`, c)
}

// closes says whether a closing bracket comes next.
func closes(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && (rest[0] == '}' || rest[0] == ']')
}
