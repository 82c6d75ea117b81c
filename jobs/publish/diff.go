package publish

import (
	"regexp"
	"strconv"
	"strings"
)

// cutMark begins the line with which vcs/git ends a diff that is too long.
const cutMark = "# cut: "

// hunkHead is the head of a hunk; a count that is left out is 1 (POSIX diff -u).
var hunkHead = regexp.MustCompile(`^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@`)

// position is where in a unified diff one is. What a line is depends on how
// many lines its hunk still has: an added "++ x" looks like a header.
type position struct {
	path     string
	old, new int // lines of the hunk still to come
}

// read takes a line, and gives it without its mark if it is an added one.
func (p *position) read(line string) (added string, ok bool) {
	if p.old > 0 || p.new > 0 {
		return p.inHunk(line)
	}
	if m := hunkHead.FindStringSubmatch(line); m != nil {
		p.old, p.new = count(m[1]), count(m[2])
		return "", false
	}
	if name, found := strings.CutPrefix(line, "+++ "); found {
		p.path = strings.TrimPrefix(strings.TrimSpace(name), "b/")
		return "", false
	}
	// Outside of a hunk nothing is added; a diff that is not understood is
	// looked at all the same.
	return strings.CutPrefix(line, "+")
}

func (p *position) inHunk(line string) (added string, ok bool) {
	switch {
	case strings.HasPrefix(line, "+"):
		p.new--
		return line[1:], true
	case strings.HasPrefix(line, "-"):
		p.old--
	case strings.HasPrefix(line, `\`): // no newline at the end of the file
	default:
		p.old--
		p.new--
	}
	return "", false
}

func count(s string) int {
	if s == "" {
		return 1
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0 // more digits than any file has lines: each line is looked at
	}
	return n
}
