package edit

import (
	"slices"
	"sort"
	"strings"

	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// view is a body with every CRLF read as a newline, and the record of which
// newlines were CRLFs, so that the body can be put together again.
type view struct {
	lf     string
	crlf   []bool // for each newline of lf
	starts []int  // offset of each line of lf
	split  []string
	work   *effort
}

func newView(body string, work *effort) *view {
	newlines := strings.Count(body, "\n")
	v := &view{work: work, starts: make([]int, 1, newlines+1), crlf: make([]bool, 0, newlines)}
	var b strings.Builder
	b.Grow(len(body))
	for i := 0; i < len(body); i++ {
		isCRLF := body[i] == '\r' && i+1 < len(body) && body[i+1] == '\n'
		if isCRLF {
			i++
		}
		b.WriteByte(body[i])
		if body[i] == '\n' {
			v.crlf = append(v.crlf, isCRLF)
			v.starts = append(v.starts, b.Len())
		}
	}
	v.lf = b.String()
	return v
}

// lines are the lines without their newlines; the piece after the last newline
// counts even when it is empty.
func (v *view) lines() []string {
	if v.split == nil {
		v.split = strings.Split(v.lf, "\n")
	}
	return v.split
}

// lineAt is the zero-based line that holds the offset.
func (v *view) lineAt(offset int) int {
	return sort.Search(len(v.starts), func(i int) bool { return v.starts[i] > offset }) - 1
}

// newlinesBefore is how many newlines stand before the offset.
func (v *view) newlinesBefore(offset int) int { return v.lineAt(offset) }

// replace puts the body together with the places changed. Places do not
// overlap and are in order.
func (v *view) replace(places []place) string {
	var b strings.Builder
	at := 0
	for _, p := range places {
		v.emit(&b, v.lf[at:p.from], v.ends(at, p.from))
		v.emit(&b, p.text, v.newEnds(p))
		at = p.to
	}
	v.emit(&b, v.lf[at:], v.ends(at, len(v.lf)))
	return b.String()
}

func (v *view) ends(from, to int) []bool {
	return v.crlf[v.newlinesBefore(from):v.newlinesBefore(to)]
}

func (v *view) emit(b *strings.Builder, text string, crlf []bool) {
	for _, isCRLF := range crlf {
		i := strings.IndexByte(text, '\n')
		b.WriteString(text[:i])
		if isCRLF {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
		text = text[i+1:]
	}
	b.WriteString(text)
}

// newEnds decides the line end of every newline of a replacement: a line that
// stays or is replaced keeps its own, a new one takes its neighbour's.
func (v *view) newEnds(p place) []bool {
	oldLines, newLines := strings.Split(v.lf[p.from:p.to], "\n"), strings.Split(p.text, "\n")
	oldEnds := v.ends(p.from, p.to)
	from := v.work.align(oldLines, newLines)
	ends := make([]bool, len(newLines)-1)
	last := 0 // the old line after the last one used
	for i := range ends {
		switch {
		case from[i] >= 0 && from[i] < len(oldEnds):
			ends[i] = oldEnds[from[i]]
			last = from[i] + 1
		case from[i] < 0 && last < nextAligned(from, i, len(oldEnds)):
			ends[i] = oldEnds[last]
			last++
		case i > 0:
			ends[i] = ends[i-1]
		default:
			ends[i] = v.neighbour(p)
		}
	}
	return ends
}

// nextAligned is the old line of the next new line after i that has one.
func nextAligned(from []int, i, end int) int {
	for _, f := range from[i:] {
		if f >= 0 {
			return min(f, end)
		}
	}
	return end
}

// neighbour is the line end before the place, else after it, else most of the
// file's, else LF.
func (v *view) neighbour(p place) bool {
	before, after := v.newlinesBefore(p.from), v.newlinesBefore(p.to)
	switch {
	case before > 0:
		return v.crlf[before-1]
	case after < len(v.crlf):
		return v.crlf[after]
	}
	crlf := 0
	for _, c := range v.crlf {
		if c {
			crlf++
		}
	}
	return crlf*2 > len(v.crlf)
}

// changes are the places in whole lines of the old body, merged where two
// share a line.
func (v *view) changes(places []place) []workspace.Change {
	out := v.replace(places)
	total := len(workspace.SplitLines(v.lf))
	var list []workspace.Change
	for _, p := range places {
		from, to := v.lineAt(p.from), v.lineAfter(p)
		grown := strings.Count(p.text, "\n") - strings.Count(v.lf[p.from:p.to], "\n")
		if n := len(list); n > 0 && from < list[n-1].From+list[n-1].Old {
			c := &list[n-1]
			added := max(to-(c.From+c.Old), 0)
			c.Old, c.New = c.Old+added, c.New+added+grown
			continue
		}
		list = append(list, workspace.Change{From: from, Old: to - from, New: max(to-from+grown, 0)})
	}
	return clip(list, total, len(workspace.SplitLines(normalise(out))))
}

// lineAfter is the first line that a place leaves alone: the one it ends
// before, unless what replaces it runs into that line.
func (v *view) lineAfter(p place) int {
	at := v.lineAt(p.to)
	startsLine := v.starts[at] == p.to && p.to > p.from
	endsLine := strings.HasSuffix(p.text, "\n") || p.text == "" && v.starts[v.lineAt(p.from)] == p.from
	if startsLine && endsLine {
		return at
	}
	return at + 1
}

// clip corrects the last change where a final newline came or went, so that
// the changes add up to the lines of both bodies.
func clip(list []workspace.Change, oldTotal, newTotal int) []workspace.Change {
	last := &list[len(list)-1]
	last.Old = min(last.Old, oldTotal-last.From)
	grown := 0
	for _, c := range list {
		grown += c.New - c.Old
	}
	last.New += newTotal - (oldTotal + grown)
	return slices.DeleteFunc(list, func(c workspace.Change) bool { return c.Old < 0 || c.New < 0 })
}
