package edit

import (
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// apply makes a hunk's change at its site: context keeps the file's bytes, a
// removed line goes, a new one gets its text and the line end of the line that
// it replaces or follows.
func (h *hunker) apply(s site) {
	h.out = append(h.out, h.lines[h.cursor:s.at]...)
	h.cursor = s.at
	if s.step.name != StepExact && !slices.Contains(h.used, s.step.name) {
		h.used = append(h.used, s.step.name)
	}
	var freed []bool // the line ends of removed lines that no new line took
	wasOpen, added, ended := len(h.lines) > 0 && h.lines[len(h.lines)-1].open, false, false
	for _, l := range s.lines {
		switch l.Op {
		case ' ':
			freed = nil
			h.out = append(h.out, h.lines[h.cursor])
			h.cursor++
			added, ended = false, ended || l.NoEnd
		case '-':
			freed = append(freed, h.lines[h.cursor].crlf)
			h.note(h.cursor, 1, 0)
			h.cursor++
			ended = ended || l.NoEnd
		case '+':
			h.note(h.cursor, 0, 1)
			h.out = append(h.out, h.newLine(l, s, &freed))
			added = true
		}
	}
	h.finalNewline(s, wasOpen, added, ended)
}

// newLine is a line that the patch adds.
func (h *hunker) newLine(l HunkLine, s site, freed *[]bool) fileLine {
	if s.step.bytes {
		text, crlf := strings.CutSuffix(l.Text, "\r")
		if l.NoEnd {
			text, crlf = l.Text, false
		}
		return fileLine{text: text, crlf: crlf, open: l.NoEnd}
	}
	line := fileLine{text: strings.TrimSuffix(l.Text, "\r"), open: l.NoEnd}
	if s.step.shift {
		line.text = s.shift.apply(line.text)
	}
	switch {
	case l.NoEnd:
	case len(*freed) > 0:
		line.crlf = (*freed)[0]
		*freed = (*freed)[1:]
	default:
		line.crlf = h.neighbourEnd()
	}
	return line
}

// neighbourEnd is the line end before the place that is being written, else
// after it, else most of the file's.
func (h *hunker) neighbourEnd() bool {
	if n := len(h.out); n > 0 && !h.out[n-1].open {
		return h.out[n-1].crlf
	}
	if h.cursor < len(h.lines) && !h.lines[h.cursor].open {
		return h.lines[h.cursor].crlf
	}
	return mostlyCRLF(h.lines)
}

// finalNewline decides the end of the file when the hunk reached it. A patch
// that says how the file ended (ended) also says how it ends now; otherwise a
// file that ended without a newline still does, since the patch could not know.
func (h *hunker) finalNewline(s site, wasOpen, added, ended bool) {
	if h.cursor != len(h.lines) || len(h.out) == 0 || !added || !wasOpen || ended {
		return
	}
	if says := slices.ContainsFunc(s.lines, func(l HunkLine) bool { return l.NoEnd }); says {
		return
	}
	if last := &h.out[len(h.out)-1]; last.text != "" { // an empty line without its end would be none
		last.open, last.crlf = true, false
	}
}

// close gives every line but the last its newline.
func (h *hunker) close() {
	for i := range len(h.out) - 1 {
		if l := &h.out[i]; l.open {
			l.open = false
			l.crlf = i > 0 && h.out[i-1].crlf || i == 0 && mostlyCRLF(h.out)
		}
	}
}

// note records a changed line of the old body; neighbouring ones are one change.
func (h *hunker) note(at, gone, come int) {
	if n := len(h.changes); n > 0 {
		if c := &h.changes[n-1]; c.From+c.Old == at {
			c.Old, c.New = c.Old+gone, c.New+come
			return
		}
	}
	h.changes = append(h.changes, workspace.Change{From: at, Old: gone, New: come})
}
