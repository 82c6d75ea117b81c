package tool

import "encoding/json"

// repair returns raw as valid JSON when only two harmless things are wrong
// with it: unescaped control characters inside strings and trailing commas.
// It never closes a string or a bracket: open ends mean that the call was cut.
func repair(raw []byte) ([]byte, bool) {
	if json.Valid(raw) {
		return raw, true
	}
	out := make([]byte, 0, len(raw)+16)
	inString, escaped := false, false
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case inString && escaped:
			escaped = false
			out = append(out, c)
		case inString && c == '\\':
			escaped = true
			out = append(out, c)
		case inString && c < 0x20:
			out = append(out, escapeControl(c)...)
		case c == '"':
			inString = !inString
			out = append(out, c)
		case !inString && c == ',' && closesNext(raw[i+1:]):
			// drop it
		default:
			out = append(out, c)
		}
	}
	return out, json.Valid(out)
}

// closesNext says whether the next thing in rest is a closing bracket.
func closesNext(rest []byte) bool {
	for _, c := range rest {
		switch c {
		case ' ', '\t', '\r', '\n':
		case '}', ']':
			return true
		default:
			return false
		}
	}
	return false
}

func escapeControl(c byte) string {
	switch c {
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	const hex = "0123456789abcdef"
	return `\u00` + string(hex[c>>4]) + string(hex[c&15])
}
