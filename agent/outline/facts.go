package outline

import (
	"bytes"
	"slices"
	"strings"
)

// facts is what the index keeps of one content.
type facts struct {
	symbols []Symbol
	refs    counts[uint64] // names in the code, by hashName
	terms   counts[uint32] // words of everything, by hashTerm
	words   int            // how many terms, repeats included
	bytes   int            // about what it takes in memory
}

// counts is how often each of a set of hashes occurs; ids are sorted.
type counts[H uint32 | uint64] struct {
	ids []H
	n   []uint16
}

// of is how often the hash occurs.
func (c counts[H]) of(id H) int {
	if i, ok := slices.BinarySearch(c.ids, id); ok {
		return int(c.n[i])
	}
	return 0
}

// maxDistinct bounds the names and words that are kept of one file.
const maxDistinct = 20_000

// scratch is the maps that one worker counts with.
type scratch struct {
	refs  map[uint64]uint16
	terms map[uint32]uint16
	words int
}

func newScratch() *scratch {
	return &scratch{refs: make(map[uint64]uint16), terms: make(map[uint32]uint16)}
}

// facts reads one content; name gives its language.
func (s *scratch) facts(name string, src []byte) *facts {
	out := &facts{}
	if f := open(name, src); f != nil {
		out.symbols = f.symbols()
		if f.lang.lex.scansNames() {
			s.names(f.code)
		}
	}
	if bytes.IndexByte(src[:min(len(src), 8000)], 0) < 0 {
		s.text(src)
	}
	out.refs, out.terms, out.words = drain(s.refs), drain(s.terms), s.words
	s.words = 0
	out.bytes = 200 + 12*len(out.refs.ids) + 8*len(out.terms.ids)
	for _, y := range out.symbols {
		out.bytes += 100 + len(y.Name) + len(y.Parent) + len(y.Signature)
	}
	return out
}

// scansNames says whether the language has code to find names in.
func (l *lexis) scansNames() bool { return l.line != nil || l.extra != nil || l.quotes != "" }

func drain[H uint32 | uint64](m map[H]uint16) counts[H] {
	c := counts[H]{ids: make([]H, 0, len(m)), n: make([]uint16, len(m))}
	for id := range m {
		c.ids = append(c.ids, id)
	}
	slices.Sort(c.ids)
	for i, id := range c.ids {
		c.n[i] = m[id]
	}
	clear(m)
	return c
}

func bump[H uint32 | uint64](m map[H]uint16, id H) {
	n, ok := m[id]
	if !ok && len(m) >= maxDistinct {
		return
	}
	if n < 0xffff {
		m[id] = n + 1
	}
}

// names counts the names of code.
func (s *scratch) names(code []byte) {
	for i := 0; i < len(code); {
		if !isWord(code[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(code) && isWord(code[j]) {
			j++
		}
		if j-i > 1 && j-i <= maxName && !isDigit(code[i]) {
			bump(s.refs, hashName(code[i:j]))
		}
		i = j
	}
}

// text counts the words of everything.
func (s *scratch) text(src []byte) {
	eachTerm(src, func(term []byte) {
		s.words++
		bump(s.terms, hashTerm(term))
	})
}

// FNV-1a, 64 and 32 bits wide (RFC 9923, section 5).
const (
	offset64 = 14695981039346656037
	prime64  = 1099511628211
	offset32 = 2166136261
	prime32  = 16777619
)

func hashName[S string | []byte](s S) uint64 {
	h := uint64(offset64)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime64
	}
	return h
}

func hashTerm(s []byte) uint32 {
	h := uint32(offset32)
	for _, c := range s {
		h = (h ^ uint32(c)) * prime32
	}
	return h
}

// eachTerm calls emit with the words of a text in lower case and stemmed: the
// parts of compound names, and compound names as a whole. The slice is reused.
func eachTerm(src []byte, emit func([]byte)) {
	var part, whole [64]byte
	for i := 0; i < len(src); {
		if !isWord(src[i]) {
			i++
			continue
		}
		j := i + 1
		for j < len(src) && isWord(src[j]) {
			j++
		}
		if j-i <= len(whole) {
			word(src[i:j], part[:0], whole[:0], emit)
		}
		i = j
	}
}

// word emits the parts of one name.
func word(name, part, whole []byte, emit func([]byte)) {
	parts := 0
	flush := func() {
		if len(part) > 1 && !isDigit(part[0]) {
			parts++
			emit(stem(part))
		}
		part = part[:0]
	}
	for i, c := range name {
		upper := c >= 'A' && c <= 'Z'
		if c == '_' || c == '$' || upper && i > 0 && (isLower(name[i-1]) || i+1 < len(name) && isLower(name[i+1])) {
			flush()
		}
		if c == '_' || c == '$' {
			continue
		}
		if upper {
			c |= 0x20
		}
		part, whole = append(part, c), append(whole, c)
	}
	flush()
	if parts > 1 {
		emit(whole)
	}
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

// stem cuts the commonest English endings, in place.
func stem(w []byte) []byte {
	s := string(w)
	switch n := len(w); {
	case n > 5 && strings.HasSuffix(s, "ing"):
		w = w[:n-3]
	case n > 4 && strings.HasSuffix(s, "ed"):
		w = w[:n-2]
	case n > 4 && strings.HasSuffix(s, "ies"):
		w = append(w[:n-3], 'y')
	case n > 3 && w[n-1] == 's' && w[n-2] != 's' && w[n-2] != 'u':
		w = w[:n-1]
	}
	if n := len(w); n > 3 && (w[n-1] == 'e' || w[n-1] == w[n-2]) {
		w = w[:n-1]
	}
	return w
}
