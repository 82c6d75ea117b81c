package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Cut shortens text to about limit bytes by leaving out its middle: headShare
// (0 to 1) of what stays is from the start. Cuts fall on line ends where one
// is near, else between runes. The notice says how much is missing. Text
// within the limit is returned as it is.
func Cut(text string, limit int, headShare float64) (string, bool) {
	if len(text) <= limit {
		return text, false
	}
	const notice = 64 // room for the notice itself
	room := max(limit-notice, 0)
	head := headOf(text, int(float64(room)*headShare))
	tail := tailOf(text[len(head):], room-len(head))
	gone := text[len(head) : len(text)-len(tail)]
	return fmt.Sprintf("%s\n[… %d bytes, %d lines left out …]\n%s", strings.TrimSuffix(head, "\n"),
		len(gone), strings.Count(gone, "\n")+1, tail), true
}

// headOf is the start of s of at most n bytes.
func headOf(s string, n int) string {
	if n >= len(s) {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	if nl := strings.LastIndexByte(s[:n], '\n'); nl >= n/2 {
		return s[:nl+1]
	}
	return s[:n]
}

// tailOf is the end of s of at most n bytes.
func tailOf(s string, n int) string {
	if n >= len(s) {
		return s
	}
	start := len(s) - max(n, 0)
	for start < len(s) && !utf8.RuneStart(s[start]) {
		start++
	}
	if nl := strings.IndexByte(s[start:], '\n'); nl >= 0 && nl < n/2 {
		return s[start+nl+1:]
	}
	return s[start:]
}
