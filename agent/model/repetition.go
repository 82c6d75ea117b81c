package model

// The rule of RUNTIME 1.6 for text that repeats itself within one reply: the
// same 50 characters 10 times, on the average at most 250 characters apart
// (gemini-cli's figures, core/src/services/loopDetectionService.ts).
const (
	repeatChunk    = 50
	repeatTimes    = 10
	repeatDistance = 250
	// repeatWindow is how far back a repeat can matter.
	repeatWindow = repeatTimes * repeatDistance
)

// Repetition watches the text of one reply for a model that goes round in
// circles. Text inside fenced code blocks is not looked at: tables of data and
// generated code repeat for good reasons. Repeats that overlap count once, so
// that a ruled line is no circle. The zero value is ready; it is not safe for
// concurrent use. It takes about 260 KB from the fiftieth character on,
// whatever is fed.
type Repetition struct {
	ring  [repeatChunk]rune
	count int    // characters seen outside code
	hash  uint64 // of the characters in ring
	top   uint64 // the weight of the character that leaves the ring
	// The chunks of the last one or two windows: the older table is dropped
	// when the newer one is full.
	newer, older *chunkTable
	fence        fence
	found        bool
}

// hashBase is an odd multiplier (the golden ratio's bits) of the rolling hash.
const hashBase = 0x9e3779b97f4a7c15

// Feed takes the next piece of the reply and says whether it has repeated
// itself by now; once it has, it stays so.
func (r *Repetition) Feed(text string) bool {
	for _, c := range text {
		if r.found {
			return true
		}
		if inside := r.fence.inside(c); inside {
			r.reset()
			continue
		}
		r.add(c)
	}
	return r.found
}

// reset forgets: what is on the two sides of a code block is not one text.
func (r *Repetition) reset() {
	if r.count == 0 {
		return
	}
	r.count, r.hash, r.ring = 0, 0, [repeatChunk]rune{}
	if r.newer != nil {
		clear(r.newer[:])
		clear(r.older[:])
	}
}

func (r *Repetition) add(c rune) {
	if r.top == 0 {
		r.top = topPower()
	}
	out := r.ring[r.count%repeatChunk]
	r.ring[r.count%repeatChunk] = c
	r.hash = r.hash*hashBase + uint64(c) - uint64(out)*r.top //nolint:gosec // the characters of a string are not negative
	r.count++
	if r.count < repeatChunk {
		return
	}
	r.note(r.count - repeatChunk)
}

// topPower is hashBase to the power of repeatChunk.
func topPower() uint64 {
	p := uint64(1)
	for range repeatChunk {
		p *= hashBase
	}
	return p
}

// note counts the chunk that begins at start.
func (r *Repetition) note(start int) {
	switch {
	case r.newer == nil:
		r.newer, r.older = new(chunkTable), new(chunkTable)
	case start%repeatWindow == 0:
		r.newer, r.older = r.older, r.newer
		clear(r.newer[:])
	}
	k := r.newer.find(r.hash)
	if k.times == 0 {
		*k = *r.older.find(r.hash)
	}
	switch {
	case k.times == 0 || start-k.last > repeatWindow || k.times >= repeatTimes:
		*k = repeats{hash: r.hash, first: start, last: start, times: 1}
	case start < k.last+repeatChunk: // overlaps
		return
	default:
		k.last = start
		k.times++
	}
	r.found = k.times == repeatTimes && k.last-k.first <= (repeatTimes-1)*repeatDistance
}

// repeats is where a chunk began first and last, and how often it did.
type repeats struct {
	hash               uint64
	first, last, times int
}

// tableBits makes a table of 1.6 times the chunks of one window.
const tableBits = 12

// chunkTable finds the chunks of one window by open addressing; it is never
// full, since a window has fewer chunks than it has places.
type chunkTable [1 << tableBits]repeats

// find is the place of the hash: its chunk, or an empty one.
func (t *chunkTable) find(hash uint64) *repeats {
	i := hash >> (64 - tableBits)
	for t[i].times != 0 && t[i].hash != hash {
		i = (i + 1) % uint64(len(t))
	}
	return &t[i]
}

// fence follows the fenced code blocks of a text (CommonMark 4.5): three or
// more backticks or tildes at the start of a line, up to three spaces in.
type fence struct {
	open   rune // the fence's character inside a block, else zero
	length int  // how long the opening one was
	spaces int
	mark   rune
	run    int
	other  bool // the line has something else, or something after its fence
}

// inside says whether c belongs to a code block.
func (f *fence) inside(c rune) bool {
	was := f.open != 0
	if c == '\n' {
		f.endLine()
		return was
	}
	switch {
	case !f.other && f.run == 0 && c == ' ' && f.spaces < 3:
		f.spaces++
	case !f.other && (c == '`' || c == '~') && (f.run == 0 || c == f.mark):
		f.mark = c
		f.run++
	case f.run >= 3 && f.open == 0: // the info string
	case f.run >= 3 && c == ' ':
	default:
		f.other = true
		if f.open == 0 {
			f.run = 0
		}
	}
	return was
}

func (f *fence) endLine() {
	switch {
	case f.open == 0 && f.run >= 3:
		f.open, f.length = f.mark, f.run
	case f.open != 0 && !f.other && f.mark == f.open && f.run >= f.length:
		f.open = 0
	}
	f.spaces, f.mark, f.run, f.other = 0, 0, 0, false
}
