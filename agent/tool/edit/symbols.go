package edit

import (
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/outline"
)

// namer says where the lines (counted from 0) of a file belong: in a symbol of
// its outline, or, where there is none, below the line that looks like a head.
func namer(path, body string, lines []string) func(line int) string {
	symbols := outline.Of(path, []byte(body))
	return func(line int) string {
		if s, found := outline.Enclosing(symbols, line+1); found {
			return fmt.Sprintf("in %s %s (lines %d-%d)", s.Kind, s.Name, s.From, s.To)
		}
		return "below " + enclosing(lines, line)
	}
}

// enclosing is the nearest line above with less indentation: in most languages
// the head of what holds the line.
func enclosing(lines []string, at int) string {
	own := len(indentOf(lines[at]))
	for i := at - 1; i >= 0; i-- {
		if l := lines[i]; !isBlank(l) && len(indentOf(l)) < max(own, 1) && (own > 0 || len(indentOf(l)) == 0) {
			return fmt.Sprintf("%q", shorten(strings.TrimSpace(l)))
		}
	}
	return "the start of the file"
}
