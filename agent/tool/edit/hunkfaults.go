package edit

import (
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
)

// code is what a hunk that fits nowhere is called: a unified diff that no
// longer fits conflicts with the file, as git says.
func (h *hunker) code() tool.Code {
	if h.unified {
		return tool.CodeConflict
	}
	return tool.CodeNoMatch
}

func (h *hunker) texts() []string {
	texts := make([]string, len(h.lines))
	for i, l := range h.lines {
		texts[i] = l.text
	}
	return texts
}

// missing describes a hunk that no step finds.
func (h *hunker) missing(hunk Hunk, lo int) *RefusalError {
	r := refusef(h.code(), "its old lines are not in the file")
	lines := h.texts()
	var asked []string
	for _, l := range hunk.side('+') {
		asked = append(asked, strings.TrimSuffix(l.Text, "\r"))
	}
	at, ok := nearest(lines, asked)
	if cause := h.causeOf(hunk, lo, lines, asked, at, ok); cause != "" {
		r.Message += ": " + cause
	}
	if ok {
		r.Detail = describe(lines, asked, at)
	}
	return r
}

func (h *hunker) causeOf(hunk Hunk, lo int, lines, asked []string, at region, near bool) string {
	anywhere := hunk
	anywhere.EndOfFile = false
	if places := h.places(1, anywhere, hunk.side('+'), 0); len(places) > 0 {
		n := places[0].at
		switch {
		case n >= lo:
			return fmt.Sprintf("they stand at line %d, which is not the end of the file", n+1)
		case len(hunk.Headers) > 0 && n >= h.cursor:
			return fmt.Sprintf("they stand at line %d, before the line that its @@ names", n+1)
		}
		return fmt.Sprintf("they stand at line %d, before or within the hunk above it; the hunks of a file must be in order and may not share lines", n+1)
	}
	if cause := copiedMarks(lines, asked); cause != "" {
		return cause
	}
	var after []string
	for _, l := range hunk.side('-') {
		after = append(after, h.steps[1].asked(l.Text))
	}
	if len(strings.Join(after, "")) > longEnough && h.seen[1] != nil {
		if found := h.seen[1].find(after, 0); len(found) > 0 {
			return alreadyThere(found[0])
		}
	}
	if near {
		return otherSpaces(lines, asked, at)
	}
	return ""
}

// several is a hunk that fits more than once.
func (h *hunker) several(hunk Hunk, places []site) *RefusalError {
	under := ""
	if len(hunk.Headers) > 0 {
		under = " after its @@ line"
	}
	r := refusef(tool.CodeAmbiguous, "its old lines stand at %d places%s", len(places), under)
	var starts []int
	for _, p := range places {
		starts = append(starts, p.at)
	}
	r.Detail = listPlaces(h.path, joinFile(h.lines), h.texts(), starts)
	r.Hints = []string{"add lines around the change as context, or an @@ line with the line above that tells them apart"}
	return r
}

// noHeader is an @@ line that the file does not have.
func (h *hunker) noHeader(header string) *RefusalError {
	r := refusef(h.code(), "the line of its @@, %q, is not in the file", shorten(header))
	lines := h.texts()
	for i, l := range lines[:h.cursor] {
		if strings.TrimSpace(l) == strings.TrimSpace(header) {
			r.Message += fmt.Sprintf(" after the hunk above it; it stands at line %d", i+1)
			return r
		}
	}
	if at, ok := nearestLine(lines, header); ok {
		r.Detail = describe(lines, []string{header}, region{from: at, to: at + 1, file: at})
	}
	return r
}
