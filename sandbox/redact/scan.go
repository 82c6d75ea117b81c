package redact

import "bytes"

// found is a stretch of input to replace.
type found struct {
	from, to int
	marker   string
}

// track is one of the two ways a stream is looked at: as it is, and with its
// escapes undone. It keeps what must be known of the input that is gone.
type track struct {
	past past
	own  view
	seen *view // of this round: own, or the other track's if they are the same
	// tokens are what was found in this round, from their words on.
	tokens []found
}

// past is what matters of input that is gone.
type past struct {
	state  state
	before byte // the view's last byte; barrier at the begin of a line
	busy   int  // input up to here belongs to a token that was found
}

// scan finds what to replace and returns the place of the input from which on
// more is needed.
func (t *track) scan(r *Redactor, in []byte, unescape, final bool, out []found) (hold int, _ []found) {
	v := &t.own
	t.seen, t.tokens = v, t.tokens[:0]
	v.reset(&r.specials, in, t.past.state, unescape, final)
	s := scanner{redactor: r, view: v, track: t, final: final, out: out, hold: len(v.text), busy: t.past.busy}
	state := s.run()
	if !final {
		s.hold = min(s.hold, len(v.text)-r.words.begun(state))
	}
	return v.start(s.hold), s.out
}

// copyOf takes over what another track with the same past has seen of input
// that has no escapes.
func (t *track) copyOf(other *track) {
	t.seen, t.tokens = other.seen, append(t.tokens[:0], other.tokens...)
}

// advance drops input.
func (t *track) advance(n int) {
	p := past{before: t.seen.before(n, t.past.before), busy: max(t.past.busy-n, 0)}
	if n >= t.seen.parsed {
		p.state = t.seen.state
	}
	for _, token := range t.tokens {
		if token.from < n {
			p.busy = max(p.busy, token.to-n)
		}
	}
	t.past = p
}

type scanner struct {
	redactor *Redactor
	view     *view
	track    *track
	final    bool
	out      []found
	hold     int  // in the view: from here on more is needed
	busy     int  // in the input: up to here it is one token
	waiting  bool // for the rest of a token: the ones inside it are not looked at
}

// run takes the view through the automaton and returns the last state.
func (s *scanner) run() uint32 {
	a := s.redactor.words
	next, accept, class := a.next, a.accept, &a.class
	state := uint32(0)
	if accept == 0 {
		return state // no words: the first state would count as a hit
	}
	for i, b := range s.view.text {
		state = next[state+uint32(class[b])]
		if state >= accept {
			for _, hit := range a.found(state) {
				s.hit(&s.redactor.rules[hit], i+1)
			}
		}
	}
	return state
}

func (s *scanner) hit(r *rule, end int) {
	if r.form != nil {
		s.known(r, end-needle)
		return
	}
	s.token(r, end-r.word)
}

// known compares the rest of a secret's form.
func (s *scanner) known(r *rule, at int) {
	text := s.view.text[at:]
	switch {
	case len(text) >= len(r.form):
		if bytes.Equal(text[:len(r.form)], r.form) {
			s.replace(r, at, at+len(r.form))
		}
	case !s.final && bytes.HasPrefix(r.form, text):
		s.hold = min(s.hold, at)
	}
}

// token tries a shape. Of tokens that overlap the first is taken.
func (s *scanner) token(r *rule, at int) {
	v := s.view
	if s.waiting || v.start(at) < s.busy {
		return
	}
	if b := v.left(at, s.track.past.before); r.shape.before != nil && r.shape.before[b] {
		return
	}
	line, ended := v.lineEnd(at)
	if at+r.word > line {
		return // broken in its first word
	}
	w := window{text: v.text[at:], word: r.word, line: line - at, open: !ended && !s.final, more: !s.final}
	switch hit := r.shape.match(w); {
	case hit.wait:
		s.hold, s.waiting = min(s.hold, at), true
	case hit.to > hit.from:
		s.replace(r, at+hit.from, at+hit.to)
		s.busy = v.end(at + hit.to - 1)
		s.track.tokens = append(s.track.tokens, found{from: v.start(at), to: s.busy})
	}
}

func (s *scanner) replace(r *rule, from, to int) {
	s.out = append(s.out, found{from: s.view.start(from), to: s.view.end(to - 1), marker: r.marker})
}
