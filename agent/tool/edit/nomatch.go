package edit

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
)

const (
	maxVotes     = 50  // places of one line that are looked at
	maxAsked     = 400 // lines of old_string that are looked at
	contextLines = 3
	maxShownLine = 300 // bytes of a line in a message
)

// noMatch describes the nearest place and, where it is known, the cause.
func noMatch(v *view, req Request) *RefusalError {
	r := &RefusalError{Code: tool.CodeNoMatch, Message: "old_string is not in the file"}
	lines := v.lines()
	asked := strings.Split(strings.TrimSuffix(req.Old, "\n"), "\n")
	if cause := causeOf(v, req, asked); cause != "" {
		r.Message += ": " + cause
	}
	at, ok := nearest(lines, asked)
	if !ok {
		return r
	}
	r.Detail = describe(lines, asked, at)
	return r
}

// causeOf names a cause that can be told from the texts alone.
func causeOf(v *view, req Request, asked []string) string {
	numbered := regexp.MustCompile(`^[ >]?\s*\d+\s*[│|\t]`)
	all := true
	for _, l := range asked {
		all = all && (numbered.MatchString(l) || isBlank(l))
	}
	if all && !isBlank(strings.Join(asked, "")) {
		return "it starts with the line numbers of read_file, which are not part of the file"
	}
	if i := strings.Index(v.lf, req.New); len(req.New) > 10 && i >= 0 {
		return fmt.Sprintf("the new text is already there, at line %d", v.lineAt(i)+1)
	}
	return ""
}

// nearest finds where at least half of the asked lines stand, by letting every
// asked line vote for the start that its places in the file imply.
func nearest(lines, asked []string) (int, bool) {
	asked = asked[:min(len(asked), maxAsked)]
	if len(asked) == 1 {
		return nearestLine(lines, asked[0])
	}
	places := make(map[string][]int)
	for i, l := range lines {
		if l = strings.TrimSpace(l); l != "" && len(places[l]) < maxVotes {
			places[l] = append(places[l], i)
		}
	}
	votes := make(map[int]int)
	content, best, most := 0, 0, 0
	for j, l := range asked {
		l = strings.TrimSpace(l)
		if l == "" {
			continue
		}
		content++
		for _, i := range places[l] {
			votes[i-j]++
			if n := votes[i-j]; n > most || n == most && i-j < best {
				best, most = i-j, n
			}
		}
	}
	return max(best, 0), most > 0 && most*2 >= content
}

// nearestLine finds the line that shares at least half of the asked line as
// its start and end.
func nearestLine(lines []string, asked string) (int, bool) {
	asked = strings.TrimSpace(asked)
	best, most := 0, 0
	for i, l := range lines {
		l = strings.TrimSpace(l)
		if n := shared(l, asked); n > most {
			best, most = i, n
		}
	}
	return best, most > 3 && most*2 >= len(asked)
}

// shared is how many bytes a and b have in common at their ends.
func shared(a, b string) int {
	n := min(len(a), len(b))
	head := 0
	for head < n && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head + tail
}

// describe shows the file there and the first line that differs, both ways.
func describe(lines, asked []string, at int) string {
	var b strings.Builder
	from, to := max(at-contextLines, 0), min(at+len(asked)+contextLines, len(lines))
	first := -1
	for j := range asked {
		if at+j >= len(lines) || lines[at+j] != asked[j] {
			first = j
			break
		}
	}
	if first >= 0 {
		have := "(the file ends here)"
		if at+first < len(lines) {
			have = shorten(visible(lines[at+first]))
		}
		fmt.Fprintf(&b, "The nearest place is lines %d-%d. First difference, at line %d:\n  file: %s\n  sent: %s\n",
			at+1, min(at+len(asked), len(lines)), at+first+1, have, shorten(visible(asked[first])))
		if at+first < len(lines) && strings.TrimSpace(lines[at+first]) == strings.TrimSpace(asked[first]) {
			b.WriteString("Only spaces or tabs differ in that line (→ is a tab, · a space at the end).\n")
		}
	}
	b.WriteString("The file there:\n")
	const most = 60
	for i := from; i < min(to, from+most); i++ {
		fmt.Fprintf(&b, "%5d│%s\n", i+1, shorten(lines[i]))
	}
	return b.String()
}

func shorten(line string) string {
	if len(line) <= maxShownLine {
		return line
	}
	return strings.ToValidUTF8(line[:maxShownLine], "") + "…"
}

// ambiguous lists the first places.
func ambiguous(v *view, places []place, format string, args ...any) *RefusalError {
	const most = 5
	lines := v.lines()
	var b strings.Builder
	for i, p := range places {
		if i == most {
			fmt.Fprintf(&b, "… and %d more\n", len(places)-most)
			break
		}
		at := v.lineAt(p.from)
		fmt.Fprintf(&b, "line %d, below %s\n", at+1, enclosing(lines, at))
		for n := max(at-1, 0); n < min(at+2, len(lines)); n++ {
			fmt.Fprintf(&b, "%5d│%s\n", n+1, shorten(lines[n]))
		}
	}
	return &RefusalError{Code: tool.CodeAmbiguous, Message: fmt.Sprintf(format, args...), Detail: b.String(),
		Hints: []string{"add lines around it to old_string until it occurs once, or set replace_all"}}
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
