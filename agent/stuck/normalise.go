package stuck

import "strings"

// normalise takes out of a result what differs between two runs of the same
// thing: times of day, dates, durations, percentages and other progress
// figures, addresses, temporary paths. It is one pass, because results have
// tens of kilobytes and every call is looked at.
func normalise(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := volatile(s, i); n > 0 {
			b.WriteByte('~')
			i += n
			continue
		}
		n := word(s, i)
		b.WriteString(s[i : i+n])
		i += n
	}
	return b.String()
}

// volatile is the length of what may differ at i, or 0.
func volatile(s string, i int) int {
	switch {
	case strings.HasPrefix(s[i:], "/tmp/"):
		return len("/tmp/") + span(s[i+len("/tmp/"):], func(c byte) bool { return !strings.ContainsRune(" \t\n:'\"`)", rune(c)) })
	case strings.HasPrefix(s[i:], "0x"):
		if n := span(s[i+2:], isHex); n > 0 {
			return 2 + n
		}
	case isDigit(s[i]):
		return figure(s[i:])
	}
	return 0
}

// word is the length of what is copied at i: a whole word, so that a digit in
// a name is never looked at by itself.
func word(s string, i int) int {
	if n := span(s[i:], isWord); n > 0 {
		return n
	}
	return 1
}

// figure is the length of a number that measures or dates something: with a
// unit behind it, or made of several parts. A plain number counts for what it
// is ("3 tests failed").
func figure(s string) int {
	n := span(s, func(c byte) bool { return isDigit(c) || strings.IndexByte(".:/-", c) >= 0 })
	for n > 0 && !isDigit(s[n-1]) {
		n--
	}
	number := s[:n]
	if parts(number, ':') == 2 || parts(number, ':') == 3 || parts(number, '-') == 3 || parts(number, '/') == 2 {
		return n + span(s[n:], func(c byte) bool { return c == 'Z' || c == 'T' })
	}
	n = span(s, func(c byte) bool { return isDigit(c) || c == '.' })
	rest := s[n:]
	if len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	for _, unit := range [...]string{"%", "ns", "µs", "us", "ms", "seconds", "secs", "sec", "s", "minutes", "mins", "min", "m", "h"} {
		if after, ok := strings.CutPrefix(rest, unit); ok && (after == "" || unit == "%" || !isWord(after[0])) {
			return len(s) - len(after)
		}
	}
	return 0
}

func parts(number string, sep byte) int { return strings.Count(number, string(sep)) + 1 }

func span(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func isWord(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
