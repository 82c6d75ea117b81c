package markdown

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDetails bounds the closing tags added after a cut.
const maxDetails = 16

// units is the length of s in UTF-16 code units, which is never less than in
// characters: forges differ in what they count.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// Cut shortens a body to limit UTF-16 code units, at a paragraph if there is
// one in the last half, with fences and details closed and the notice as a
// paragraph of its own at the end. A body within the limit stays as it is, but
// for invalid UTF-8.
func Cut(body string, limit int, notice string) string {
	body = strings.ToValidUTF8(body, "\uFFFD")
	if units(body) <= limit {
		return body
	}
	end := "\n\n" + notice
	room := limit - units(end)
	for {
		kept := atParagraph(prefix(body, room))
		tail := closing(kept)
		over := units(kept) + units(tail) + units(end) - limit
		if over <= 0 {
			return kept + tail + end
		}
		room -= over
		if room <= 0 {
			return prefix(notice, max(limit, 0))
		}
	}
}

// CutTitle makes one line of at most limit characters.
func CutTitle(s string, limit int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if utf8.RuneCountInString(s) <= limit && units(s) <= limit {
		return s
	}
	return strings.TrimRight(prefix(s, limit-1), " ") + "…"
}

// prefix is the longest beginning of s of at most n units.
func prefix(s string, n int) string {
	for i, r := range s {
		if n -= max(utf16.RuneLen(r), 1); n < 0 {
			return s[:i]
		}
	}
	return s
}

// atParagraph goes back to the last empty line, else to the last line's end,
// unless that loses more than half.
func atParagraph(s string) string {
	for _, sep := range []string{"\n\n", "\n"} {
		if i := strings.LastIndex(s, sep); i > len(s)/2 {
			return strings.TrimRight(s[:i], " \t\r\n")
		}
	}
	return s
}

// closing is what ends an open fence and open details of s.
func closing(s string) string {
	var b strings.Builder
	fence, details := scanOpen(s)
	if fence != "" {
		b.WriteString("\n" + fence)
	}
	for range min(details, maxDetails) {
		b.WriteString("\n</details>")
	}
	return b.String()
}

// scanOpen finds the fence that is open at the end of s, and how many details
// elements are.
func scanOpen(s string) (fence string, details int) {
	var f Fences
	for line := range strings.Lines(s) {
		if !f.Inside(line) {
			details = max(details+strings.Count(line, "<details")-strings.Count(line, "</details"), 0)
		}
	}
	return f.open, details
}
