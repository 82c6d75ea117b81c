package edit

import (
	"strings"
)

// find runs the chain: the first step that finds any place decides, also when
// it finds too many.
func find(v *view, req Request) (Step, []place) {
	if places := exact(v, req.Old, req.New, req.All || req.Expected > 0); len(places) > 0 || req.Bytes {
		return StepExact, places
	}
	b := newBlock(req)
	chain := []struct {
		step  Step
		match func(*view, block) []place
	}{
		{StepTrailing, matchTrailing},
		{StepIndent, matchIndent},
		{StepTypographic, matchTypographic},
		{StepBlankEnds, matchBlankEnds},
	}
	for _, c := range chain {
		if v.work.spent() {
			return c.step, nil
		}
		if places := c.match(v, b); len(places) > 0 {
			if req.All || req.Expected > 0 {
				places = disjoint(places)
			}
			return c.step, places
		}
	}
	return StepEscapes, escaped(v, req)
}

// exact finds old byte for byte. Overlapping places count when one is wanted:
// they make it ambiguous.
func exact(v *view, old, text string, all bool) []place {
	var places []place
	want := newNeedle(old)
	for at := 0; ; {
		i := want.in(v.lf[at:])
		if i < 0 || v.work.spent() {
			return places
		}
		at += i
		places = append(places, place{from: at, to: at + len(old), text: text})
		if all {
			at += len(old)
		} else if at++; len(places) > maxPlaces {
			return places
		}
	}
}

// maxPlaces is how many places are looked at when only one may be found.
const maxPlaces = 100

func disjoint(places []place) []place {
	out := places[:1]
	for _, p := range places[1:] {
		if p.from >= out[len(out)-1].to {
			out = append(out, p)
		}
	}
	return out
}

// block is a request as whole lines.
type block struct {
	old, new   []string
	terminated bool // old ends in a newline: the last line's newline belongs to it
	newEnds    bool // so does new
	empty      bool // new is nothing at all
	all        bool
}

// pairs says which old line each new line is.
func (b block) pairs(work *effort) []int { return work.align(b.old, b.new) }

func newBlock(req Request) block {
	b := block{
		terminated: strings.HasSuffix(req.Old, "\n"),
		newEnds:    strings.HasSuffix(req.New, "\n"),
		empty:      req.New == "",
		all:        req.All || req.Expected > 0,
	}
	b.old = strings.Split(strings.TrimSuffix(req.Old, "\n"), "\n")
	b.new = strings.Split(strings.TrimSuffix(req.New, "\n"), "\n")
	return b
}

// blank says that there is nothing to hold on to.
func (b block) blank() bool { return strings.TrimSpace(strings.Join(b.old, "")) == "" }

// candidates finds where the lines of b stand in v when both are seen through
// canon. It is linear: one substring search over the joined lines.
func candidates(v *view, b block, canon func(string) string) []int {
	if b.blank() {
		return nil
	}
	lines := v.lines()
	starts := make([]int, len(lines))
	var text strings.Builder
	text.WriteByte('\n')
	for i, l := range lines {
		starts[i] = text.Len() - 1
		text.WriteString(canon(l))
		text.WriteByte('\n')
	}
	var want strings.Builder
	want.WriteByte('\n')
	for _, l := range b.old {
		want.WriteString(canon(l))
		want.WriteByte('\n')
	}
	return search(text.String(), want.String(), starts, b.all)
}

// search returns the line numbers at which want begins in text: all that do
// not overlap, or the first ones, overlapping too, when one is wanted.
func search(text, want string, starts []int, all bool) []int {
	var found []int
	line := 0
	pattern := newNeedle(want)
	for at := 0; ; at++ {
		i := pattern.in(text[at:])
		if i < 0 || (!all && len(found) > maxPlaces) {
			return found
		}
		at += i
		for starts[line] < at {
			line++
		}
		found = append(found, line)
		if all {
			at += len(want) - 2 // the next place may begin with this one's last newline
		}
	}
}

// placeAt is the place of b at a line; transform makes the new lines fit in.
func placeAt(v *view, b block, line int, transform func(string) string) place {
	lines := strings.Split(v.lf[v.starts[line]:endOfLine(v, line+len(b.old)-1)], "\n")
	from := b.pairs(v.work)
	merged := make([]string, len(b.new))
	for i, l := range b.new {
		if from[i] >= 0 {
			merged[i] = lines[from[i]] // a line that stays keeps its bytes
		} else {
			merged[i] = transform(l)
		}
	}
	p := place{from: v.starts[line], to: endOfLine(v, line+len(b.old)-1), text: strings.Join(merged, "\n")}
	hasNewline := p.to < len(v.lf)
	switch {
	case b.terminated && hasNewline:
		p.to++
		if !b.empty {
			p.text += "\n"
		}
	case b.newEnds:
		p.text += "\n"
	}
	if b.empty {
		p.text = ""
	}
	return p
}

// endOfLine is the offset of a line's newline, or the end of the body.
func endOfLine(v *view, line int) int {
	if line+1 < len(v.starts) {
		return v.starts[line+1] - 1
	}
	return len(v.lf)
}

func same(s string) string { return s }

func trimEnd(s string) string { return strings.TrimRight(s, " \t") }

func matchTrailing(v *view, b block) []place {
	var places []place
	for _, line := range candidates(v, b, trimEnd) {
		if v.work.spent() {
			return nil
		}
		places = append(places, placeAt(v, b, line, same))
	}
	return places
}

func matchTypographic(v *view, b block) []place {
	var places []place
	canon := func(s string) string { return trimEnd(fold(s)) }
	for _, line := range candidates(v, b, canon) {
		if v.work.spent() {
			return nil
		}
		places = append(places, placeAt(v, b, line, same))
	}
	return places
}

// matchBlankEnds tries old_string without a blank line at its start, its end,
// or both; a blank line that new_string has at the same end goes with it.
func matchBlankEnds(v *view, b block) []place {
	if b.blank() {
		return nil // so that cutting at both ends leaves a line
	}
	first, last := isBlank(b.old[0]), isBlank(b.old[len(b.old)-1])
	for _, cut := range [][2]bool{{true, false}, {false, true}, {true, true}} {
		if (cut[0] && !first) || (cut[1] && !last) {
			continue
		}
		if places := matchTrailing(v, b.without(cut[0], cut[1])); len(places) > 0 {
			return places
		}
	}
	return nil
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

// without drops the first or the last line of old, and of new where blank.
func (b block) without(first, last bool) block {
	if first {
		b.old = b.old[1:]
		if len(b.new) > 1 && isBlank(b.new[0]) {
			b.new = b.new[1:]
		}
	}
	if last {
		b.old = b.old[:len(b.old)-1]
		if n := len(b.new); n > 1 && isBlank(b.new[n-1]) {
			b.new = b.new[:n-1]
		}
	}
	return b
}

// escaped resolves escapes that should not have been sent; the result must
// stand in the file exactly once.
func escaped(v *view, req Request) []place {
	old, changed := unescape(req.Old)
	if !changed {
		return nil
	}
	text, _ := unescape(req.New)
	if places := exact(v, old, text, false); len(places) == 1 && old != text {
		return places
	}
	return nil
}

func unescape(s string) (string, bool) {
	out := strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`).Replace(s)
	return normalise(out), out != s
}
