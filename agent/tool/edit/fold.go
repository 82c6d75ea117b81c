package edit

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// fold writes typographic quotes, dashes and spaces as their ASCII forms.
// Nothing else is equated: compatibility forms (NFKC) would make different
// identifiers equal.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return strings.Map(foldRune, s)
		}
	}
	return s
}

func foldRune(r rune) rune {
	switch {
	case r >= 0x2018 && r <= 0x201b || r == 0x2032:
		return '\''
	case r >= 0x201c && r <= 0x201f || r == 0x2033:
		return '"'
	case r >= 0x2010 && r <= 0x2015 || r == 0x2212:
		return '-'
	case r == 0xa0 || r >= 0x2000 && r <= 0x200a || r == 0x202f || r == 0x205f || r == 0x3000:
		return ' '
	}
	return r
}

// visible writes a line so that what cannot be seen can be.
func visible(line string) string {
	end := len(trimEnd(line))
	var b strings.Builder
	for i, r := range line {
		switch {
		case r == '\t':
			b.WriteString("→")
		case r == ' ' && i >= end:
			b.WriteString("·")
		case r == '\r':
			b.WriteString("␍")
		case r < 0x20 || r == 0x7f || r >= 0x80 && (foldRune(r) != r || r >= 0x200b && r <= 0x200f || r == 0xfeff || workspace.Hidden(r)):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unwritable refuses characters in a new text that the old one does not have
// and that nobody means to write.
func unwritable(old, text string) *RefusalError {
	if strings.Contains(text, "\x00") && !strings.Contains(old, "\x00") {
		r := refusef(tool.CodeInvalidArgs, "the new text has a NUL, which would make the file a binary one; nothing was written")
		r.Hints = []string{"write its escape in the language of the file, such as \\x00"}
		return r
	}
	return lostCharacter(old, text)
}

// lostCharacter says that a text has the replacement character, which stands
// for bytes that somebody could not read, where the old text has none: writing
// it would lose what was meant.
func lostCharacter(old, text string) *RefusalError {
	const replacement = "\ufffd"
	if !strings.Contains(text, replacement) || strings.Contains(old, replacement) {
		return nil
	}
	r := refusef(tool.CodeNotUTF8, "the new text has U+FFFD, the sign for a character that was lost on the way; nothing was written")
	r.Hints = []string{"write the character that is meant, or its escape in the language of the file"}
	return r
}

// placeholder finds a line of text that stands for code left out and does not
// stand in old. Only whole lines count: the words in a string or behind code
// are content.
func placeholder(old, text string) (string, bool) {
	pattern := regexp.MustCompile(`(?i)^(\.\.\.|…)?\s*\(?\s*(the\s+)?(rest|remainder|remaining|existing|unchanged|other|previous|same|omitted)\b[^"'=;{}]{0,80}?(\.\.\.|…)\s*\)?$` +
		`|(?i)^(\.\.\.|…)\s*(the\s+)?(rest|remainder|remaining|existing|unchanged|omitted)\b[^"'=;{}]{0,80}$` +
		`|(?i)^(rest of|remaining) (the )?(code|file|function|methods?|class|implementation)( here)?( (is )?(unchanged|as before|stays the same|remains the same))?\.?$`)
	known := make(map[string]bool)
	for line := range strings.SplitSeq(old, "\n") {
		known[stripComment(line)] = true
	}
	for line := range strings.SplitSeq(text, "\n") {
		if s := stripComment(line); pattern.MatchString(s) && !known[s] {
			return line, true
		}
	}
	return "", false
}

// stripComment removes comment marks at both ends of a line.
func stripComment(line string) string {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"//", "/*", "<!--", "{/*", "#", "--", ";;", "%"} {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			line = rest
			break
		}
	}
	for _, mark := range []string{"*/}", "*/", "-->"} {
		line = strings.TrimSuffix(strings.TrimSpace(line), mark)
	}
	return strings.TrimSpace(line)
}
