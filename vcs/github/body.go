package github

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/greenwright/greenwright/vcs"
)

const (
	// maxBody is GitHub's limit for a body in characters, counted here as
	// UTF-16 units, which is never less (rule O7).
	maxBody = 65536
	// maxTitle is GitHub's limit for a title in characters.
	maxTitle = 256
	// maxMarker keeps the marker's line short.
	maxMarker = 200

	cutNotice = "*This text was cut to GitHub's limit; the console has the whole.*"
	// maxDetails bounds the closing tags added after a cut.
	maxDetails = 16
)

// markerLine is the first line of a comment of ours: at the top no fence and
// no open HTML comment of the body can swallow it, and no quotation forges it.
func markerLine(marker string) (string, error) {
	if marker == "" || len(marker) > maxMarker {
		return "", fmt.Errorf("%w: comment marker %q", vcs.ErrInvalid, marker)
	}
	for _, c := range []byte(marker) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && strings.IndexByte("-_:.", c) < 0 {
			return "", fmt.Errorf("%w: comment marker %q", vcs.ErrInvalid, marker)
		}
	}
	return "<!-- greenwright:" + marker + " -->\n", nil
}

// compose is a sticky comment's whole text.
func compose(c vcs.StickyComment) (string, error) {
	line, err := markerLine(c.Marker)
	if err != nil {
		return "", err
	}
	return line + cutBody(c.Body, maxBody-len(line)), nil
}

// units is the length of s in UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// cutBody cuts Markdown to limit, at a paragraph if there is one in the last
// half, with fences and details closed and a notice at the end.
func cutBody(body string, limit int) string {
	body = strings.ToValidUTF8(body, "\uFFFD")
	if units(body) <= limit {
		return body
	}
	room := limit - units("\n\n"+cutNotice)
	for {
		kept := atParagraph(prefix(body, room))
		tail := closing(kept)
		over := units(kept) + units(tail) + units("\n\n"+cutNotice) - limit
		if over <= 0 {
			return kept + tail + "\n\n" + cutNotice
		}
		room -= over
		if room <= 0 {
			return prefix(cutNotice, max(limit, 0))
		}
	}
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
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\r\n")
		mark := fenceOf(line)
		switch {
		case fence == "" && mark != "":
			fence = mark
		case fence != "" && mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) && strings.Trim(line, " \t"+mark[:1]) == "":
			fence = ""
		case fence == "":
			details = max(details+strings.Count(line, "<details")-strings.Count(line, "</details"), 0)
		}
	}
	return fence, details
}

// fenceOf is the run of a line that opens or closes a fenced code block
// (CommonMark 4.5), or nothing.
func fenceOf(line string) string {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 || text == "" || text[0] != '`' && text[0] != '~' {
		return ""
	}
	n := len(text) - len(strings.TrimLeft(text, text[:1]))
	if n < 3 || text[0] == '`' && strings.Contains(text[n:], "`") {
		return ""
	}
	return text[:n]
}

// cutTitle makes one line of at most maxTitle characters.
func cutTitle(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if utf8.RuneCountInString(s) <= maxTitle && units(s) <= maxTitle {
		return s
	}
	return strings.TrimRight(prefix(s, maxTitle-1), " ") + "…"
}
