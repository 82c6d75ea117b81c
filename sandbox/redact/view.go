package redact

import "sort"

// maxNoise is how many bytes of noise in a row are looked past; more end
// whatever was there. It bounds what has to be held back.
const maxNoise = 128

// barrier stands in a view where noise was too long. It is noise itself, so no
// form of a secret has it.
const barrier = 0

// view is a stretch of input without its noise and the way back from it to the
// input. If asked for, escapes are undone and control sequences are noise;
// else they are text, but for the character ESC: what looks like the begin of
// one may be put before a secret to take a part of it away.
type view struct {
	text    []byte
	pieces  []piece
	lines   []int // where in text a line begins, ascending
	parsed  int   // bytes of input that were read; the rest is the begin of a unit
	escapes bool  // escapes were left as they are
	state   state
}

// piece says that text from at comes from the input at from. All bytes of a
// wide piece, which are none for noise, come from the same unit.
type piece struct {
	at, from int
	wide     int // bytes of the unit; 0: one for one
}

// state is what parsing goes on from.
type state struct {
	indent bool // only blanks since the line began
	noise  int  // bytes of noise in a row
}

// reset parses the input anew. The slices are used again.
func (v *view) reset(table *[256]bool, in []byte, st state, unescape, final bool) {
	*v = view{text: v.text[:0], pieces: v.pieces[:0], lines: v.lines[:0], state: st}
	for v.parsed < len(in) {
		if v.state.indent && v.blanks(in) {
			continue
		}
		if n := plain(table, in[v.parsed:]); n > 0 {
			v.add(in[v.parsed:v.parsed+n], 0)
			v.parsed += n
			continue
		}
		if !v.special(in[v.parsed:], unescape, final) {
			return
		}
	}
}

// plain counts the bytes that stand for themselves.
func plain(table *[256]bool, in []byte) int {
	for i, b := range in {
		if table[b] {
			return i
		}
	}
	return len(in)
}

// blanks reads indentation.
func (v *view) blanks(in []byte) bool {
	n := 0
	for v.parsed+n < len(in) && (in[v.parsed+n] == ' ' || in[v.parsed+n] == '\t') {
		n++
	}
	v.skip(n)
	return n > 0
}

// special reads one unit of noise or one escape; false if it is not all there.
func (v *view) special(in []byte, unescape, final bool) bool {
	var u unit
	switch sequence := in[0] == '%' || in[0] == '\\' || in[0] == escape; {
	case !sequence:
		u = noiseAt(in, final)
	case unescape:
		u = escapeAt(in, final)
	default:
		v.escapes = true
		u = unit{size: 1, noise: in[0] == escape}
	}
	switch {
	case u.size == 0:
		return false
	case u.noise:
		if u.size > 1 {
			v.pieces = append(v.pieces, piece{at: len(v.text), from: v.parsed, wide: u.size})
		}
		v.skip(u.size)
		v.newline(u.newline)
		return true
	case u.decoded:
		v.add(u.text[:u.length], u.size)
	default:
		v.add(in[:u.size], 0)
	}
	v.parsed += u.size
	return true
}

func (v *view) newline(is bool) {
	v.state.indent = is
	if is && (len(v.lines) == 0 || v.lines[len(v.lines)-1] != len(v.text)) {
		v.lines = append(v.lines, len(v.text))
	}
}

// skip passes noise, and puts up the barrier where it becomes too much.
func (v *view) skip(n int) {
	if before := v.state.noise; before <= maxNoise && before+n > maxNoise {
		v.pieces = append(v.pieces, piece{at: len(v.text), from: v.parsed})
		v.text = append(v.text, barrier)
	}
	v.state.noise += n
	v.parsed += n
}

func (v *view) add(text []byte, wide int) {
	v.pieces = append(v.pieces, piece{at: len(v.text), from: v.parsed, wide: wide})
	v.text = append(v.text, text...)
	v.state = state{}
}

func (v *view) piece(at int) piece {
	i := sort.Search(len(v.pieces), func(i int) bool { return v.pieces[i].at > at })
	return v.pieces[i-1]
}

// start is where in the input a byte of the view begins; the end of what was
// parsed for the end of the view.
func (v *view) start(at int) int {
	if at >= len(v.text) {
		return v.parsed
	}
	p := v.piece(at)
	if p.wide > 0 {
		return p.from
	}
	return p.from + at - p.at
}

// end is where in the input a byte of the view ends.
func (v *view) end(at int) int {
	p := v.piece(at)
	if p.wide > 0 {
		return p.from + p.wide
	}
	return p.from + at - p.at + 1
}

// unitStart is the begin of the unit that a place of the input is in.
func (v *view) unitStart(raw int) int {
	i := sort.Search(len(v.pieces), func(i int) bool { return v.pieces[i].from > raw })
	if i > 0 {
		if p := v.pieces[i-1]; p.wide > 0 && raw < p.from+p.wide {
			return p.from
		}
	}
	return raw
}

// before is the last byte of the view ahead of a place of the input; none at
// the begin of a line, and given where the view has none.
func (v *view) before(raw int, given byte) byte {
	i := sort.Search(len(v.pieces), func(i int) bool { return v.pieces[i].from >= raw })
	if i == 0 {
		return v.left(0, given)
	}
	p := v.pieces[i-1]
	next := len(v.text)
	if i < len(v.pieces) {
		next = v.pieces[i].at
	}
	if p.wide == 0 {
		next = min(next, p.at+raw-p.from)
	}
	return v.left(next, given)
}

// left is the byte of the view ahead of one, see before.
func (v *view) left(at int, given byte) byte {
	if i := sort.SearchInts(v.lines, at); i < len(v.lines) && v.lines[i] == at {
		return barrier
	}
	if at == 0 {
		return given
	}
	return v.text[at-1]
}

// lineEnd is where the line of a byte of the view ends, and whether it does.
func (v *view) lineEnd(at int) (int, bool) {
	if i := sort.SearchInts(v.lines, at+1); i < len(v.lines) {
		return v.lines[i], true
	}
	return len(v.text), false
}

// bare is a text without its noise.
func bare(text []byte) []byte { return parsedAll(text, false) }

// unescaped is a text without its noise and with its escapes undone.
func unescaped(text []byte) []byte { return parsedAll(text, true) }

func parsedAll(text []byte, unescape bool) []byte {
	table := specials()
	var v view
	v.reset(&table, text, state{}, unescape, true)
	return v.text
}
