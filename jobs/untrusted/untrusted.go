// Package untrusted is the one gate that text from outside passes before a
// model sees it (rules A6 and 1.14 of the runtime's design): what a person
// reading the rendered page would not see is made visible or taken out, so
// that nobody can speak to the model behind the maintainers' backs.
//
// It is pure. Callers: jobs/runner, for issue and comment bodies, review
// remarks and logs.
package untrusted

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// htmlComment is one, or one that is never closed: browsers hide the rest.
var htmlComment = regexp.MustCompile(`(?s)<!--(.*?)(?:-->|$)`)

// Visible returns text as it may be shown to a model: valid UTF-8, hidden
// comments marked as such, invisible characters gone, and a note saying how
// many there were.
func Visible(text string) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	var b strings.Builder
	b.Grow(len(text))
	dropped := 0
	for _, r := range text {
		if invisible(r) {
			dropped++
			continue
		}
		b.WriteRune(r)
	}
	out := htmlComment.ReplaceAllString(b.String(), "[hidden HTML comment: $1]")
	out = strings.ReplaceAll(out, "<!--", "<! --") // one inside another
	if dropped > 0 {
		out += fmt.Sprintf("\n[%d invisible characters were removed from this text]", dropped)
	}
	return out
}

// invisible reports characters that are not drawn, or that change how others
// are: controls, zero-width and bidirectional formatting, the tags block,
// variation selectors beyond the emoji's.
func invisible(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r == 0xFE0F: // asks for an emoji's picture; harmless and common
		return false
	case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r):
		return true
	case r >= 0xFE00 && r <= 0xFE0E, r >= 0xE0100 && r <= 0xE01EF:
		return true
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0, r == 0x2800: // fillers drawn as nothing
		return true
	}
	return false
}
