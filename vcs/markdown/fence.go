package markdown

import "strings"

// Fences follows fenced code blocks (CommonMark 4.5) through a text, line by
// line. The zero value stands at the text's beginning.
type Fences struct {
	open string // the run that opened the block, or nothing
}

// Inside reports whether the next line belongs to a fenced block; the lines
// that open and close one do.
func (f *Fences) Inside(line string) bool {
	line = strings.TrimRight(line, "\r\n")
	mark := fenceOf(line)
	if f.open == "" {
		f.open = mark
		return mark != ""
	}
	if mark != "" && mark[0] == f.open[0] && len(mark) >= len(f.open) && strings.Trim(line, " \t"+mark[:1]) == "" {
		f.open = ""
	}
	return true
}

// fenceOf is the run of a line that opens or closes a fenced code block, or
// nothing.
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
