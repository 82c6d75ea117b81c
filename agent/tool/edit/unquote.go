package edit

import "strings"

// unquote reads a path in git's C-style quotes (core.quotePath) from the start
// of s and returns what follows it. ok is false when s does not begin with a
// well-formed quoted string.
func unquote(s string) (name, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", s, false
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), s[i+1:], true
		case '\\':
			c, used := escape(s[i+1:])
			if used == 0 {
				return "", s, false
			}
			b.WriteByte(c)
			i += used
		default:
			b.WriteByte(s[i])
		}
	}
	return "", s, false
}

// escape reads what follows a backslash: a letter or three octal digits.
func escape(s string) (c byte, used int) {
	if s == "" {
		return 0, 0
	}
	const letters, values = `abfnrtv"\`, "\a\b\f\n\r\t\v\"\\"
	if i := strings.IndexByte(letters, s[0]); i >= 0 {
		return values[i], 1
	}
	if len(s) < 3 || s[0] > '3' {
		return 0, 0
	}
	n := 0
	for _, d := range []byte(s[:3]) {
		if d < '0' || d > '7' {
			return 0, 0
		}
		n = n<<3 | int(d-'0')
	}
	return byte(n), 3
}
