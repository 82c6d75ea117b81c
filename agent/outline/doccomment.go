package outline

import "strings"

// DocStart is the first line, counted from 1, of the comments, annotations and
// decorators that stand directly above line from in src; from itself when
// there are none. It looks at most 200 lines up.
func DocStart(src []byte, from int) int {
	lines := strings.Split(string(src), "\n")
	if from < 1 || from > len(lines) {
		return from
	}
	first := from
	inside := false // a block comment, met from below
	for i := from - 2; i >= 0 && from-i < maxDoc; i-- {
		line := strings.TrimSpace(lines[i])
		switch {
		case inside:
			inside = !strings.HasPrefix(line, cBlock)
		case strings.HasSuffix(line, cBlockEnd) && strings.LastIndex(line, cBlock) <= 0:
			inside = !strings.Contains(line, cBlock)
		case !isOrnament(line):
			return first
		}
		if !inside {
			first = i + 1
		}
	}
	return first
}

const maxDoc = 200 // lines above a declaration

// isOrnament says whether a line is a comment or an annotation.
func isOrnament(line string) bool {
	for _, p := range []string{"//", "#[", "@", "--", "[", "# ", "#!", "%"} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return line == "#" || strings.HasPrefix(line, "template") && strings.HasSuffix(line, ">")
}
