package cli

import (
	"strings"
	"unicode"
)

// tame is text that does nothing to a terminal: what models, commands and
// people have written holds escape sequences, and characters that turn the
// order of others around. Each becomes a mark; lines and tabs stay.
func tame(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == '\u2028', r == '\u2029':
			return '�'
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

// indent sets a text off.
func indent(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}

// shortened is the first lines of a text, and how many are left out.
func shortened(s string, lines, columns int) string {
	s = strings.TrimRight(s, "\n")
	all := strings.Split(s, "\n")
	left := max(len(all)-lines, 0)
	all = all[:len(all)-left]
	for i, l := range all {
		if r := []rune(l); len(r) > columns {
			all[i] = string(r[:columns-1]) + "…"
		}
	}
	out := strings.Join(all, "\n")
	if left > 0 {
		out += "\n" + plural(left, "more line")
	}
	return out
}
