package edit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

const (
	contextLines  = 3
	maxShownLine  = 300 // bytes of a line in a message
	maxShownLines = 60  // lines of a region in a message
	longEnough    = 10  // bytes from which finding the new text in the file is no accident
)

// noMatch describes the nearest place and, where it is known, the cause.
func noMatch(v *view, req Request) *RefusalError {
	r := refusef(tool.CodeNoMatch, "old_string is not in the file")
	lines := v.lines()
	asked := strings.Split(strings.TrimSuffix(req.Old, "\n"), "\n")
	at, ok := nearest(lines, asked)
	cause := copiedMarks(lines, asked)
	if i := strings.Index(v.lf, req.New); cause == "" && len(req.New) > longEnough && i >= 0 {
		cause = alreadyThere(v.lineAt(i))
	}
	if cause == "" && ok {
		cause = otherSpaces(lines, asked, at)
	}
	if cause != "" {
		r.Message += ": " + cause
	}
	if ok {
		r.Detail = describe(lines, asked, at)
	}
	return r
}

func alreadyThere(line int) string {
	return fmt.Sprintf("the new text is already there, at line %d", line+1)
}

// copiedMarks tells lines that were copied as they are shown, with what is not
// in the file.
func copiedMarks(lines, asked []string) string {
	if cause := numberedLines(asked); cause != "" {
		return cause
	}
	marked := func(line string) bool { return strings.Contains(line, workspace.HiddenMark) }
	if !slices.ContainsFunc(asked, marked) || slices.ContainsFunc(lines, marked) {
		return ""
	}
	return "it has " + workspace.HiddenMark + "…⟩, which only stands for an invisible character of the file: send the character itself, such as \\u202e in JSON"
}

// numberedLines tells lines that were copied with read_file's numbers.
func numberedLines(asked []string) string {
	numbered := regexp.MustCompile(`^[ >]?\s*\d+\s*[│|\t]`)
	for _, l := range asked {
		if !numbered.MatchString(l) && !isBlank(l) {
			return ""
		}
	}
	if isBlank(strings.Join(asked, "")) {
		return ""
	}
	return "it starts with the line numbers of read_file, which are not part of the file"
}

// otherSpaces tells indentation of the wrong kind.
func otherSpaces(lines, asked []string, r region) string {
	if r.file < 0 || r.file >= len(lines) || strings.TrimSpace(lines[r.file]) != strings.TrimSpace(asked[r.sent]) {
		return ""
	}
	file, sent := indentOf(lines[r.file]), indentOf(asked[r.sent])
	switch {
	case strings.Contains(file, "\t") && !strings.Contains(sent, "\t"):
		return "the file has tabs where you sent spaces"
	case strings.Contains(sent, "\t") && !strings.Contains(file, "\t"):
		return "the file has spaces where you sent tabs"
	case file != sent:
		return "the indentation is another one, and not by the same amount on every line"
	}
	return ""
}

// describe shows the file there and the first line that differs, both ways.
func describe(lines, asked []string, r region) string {
	var b strings.Builder
	if r.file >= 0 {
		have := "(the file ends here)"
		if r.file < len(lines) {
			have = shorten(visible(lines[r.file]))
		}
		fmt.Fprintf(&b, "The nearest place is lines %d-%d. First difference, at line %d:\n  file: %s\n  sent: %s\n",
			r.from+1, r.to, r.file+1, have, shorten(visible(asked[r.sent])))
		if r.file < len(lines) && strings.TrimSpace(lines[r.file]) == strings.TrimSpace(asked[r.sent]) {
			b.WriteString("Only spaces or tabs differ in that line (→ is a tab, · a space at the end).\n")
		}
	}
	b.WriteString("The file there:\n")
	from, to := max(r.from-contextLines, 0), min(r.to+contextLines, len(lines))
	for i := from; i < min(to, from+maxShownLines); i++ {
		fmt.Fprintf(&b, "%5d│%s\n", i+1, shorten(workspace.ShowLine(lines[i])))
	}
	return b.String()
}

func shorten(line string) string {
	if len(line) <= maxShownLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxShownLine], "") + "…"
}

// ambiguous lists the first places of an edit.
func ambiguous(v *view, path string, places []place, format string, args ...any) *RefusalError {
	var starts []int
	for _, p := range places {
		starts = append(starts, v.lineAt(p.from))
	}
	r := refusef(tool.CodeAmbiguous, format, args...)
	r.Detail = listPlaces(path, v.lf, v.lines(), starts)
	r.Hints = []string{"add lines around it to old_string until it occurs once, or set replace_all"}
	return r
}

// listPlaces shows up to five places with what encloses them and one line
// around.
func listPlaces(path, body string, lines []string, starts []int) string {
	const most = 5
	var b strings.Builder
	name := namer(path, body, lines)
	for i, at := range starts {
		if i == most {
			fmt.Fprintf(&b, "… and %d more\n", len(starts)-most)
			break
		}
		fmt.Fprintf(&b, "line %d, %s\n", at+1, name(at))
		for n := max(at-1, 0); n < min(at+2, len(lines)); n++ {
			fmt.Fprintf(&b, "%5d│%s\n", n+1, shorten(workspace.ShowLine(lines[n])))
		}
	}
	return b.String()
}
