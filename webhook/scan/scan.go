// Package scan reads the few members of a large JSON text that somebody wants
// without decoding the rest.
//
// A webhook's payload is 5 to 60 kB of which one or two are needed. A
// [Decoder] cuts out the members that a struct names and lets encoding/json
// decode what remains; a [Scanner] walks a text by hand.
//
// Invariants: no recursion over what is skipped, so nesting costs no stack; a
// member that a struct names and a text has twice is an error, because readers
// would disagree about which of the two counts; a truncated or unbalanced text
// is an error; nothing of the text given is kept.
package scan

import (
	"bytes"
	"errors"
)

// ErrSyntax is the one fault of a text that is no JSON object; the caller adds
// context.
var ErrSyntax = errors.New("not a JSON object")

// Scanner walks JSON without decoding it. It is lenient about what it skips
// (encoding/json sees what is kept) and strict about balance: a truncated or
// unbalanced text is an error.
type Scanner struct {
	b []byte
	i int
}

// New returns a scanner at the beginning of b.
func New(b []byte) *Scanner { return &Scanner{b: b} }

func (s *Scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

// accept consumes c after white space.
func (s *Scanner) accept(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// Next is the next byte after white space, 0 at the end.
func (s *Scanner) Next() byte {
	s.space()
	if s.i == len(s.b) {
		return 0
	}
	return s.b[s.i]
}

// text consumes a string and returns it with its quotes, escapes untouched.
func (s *Scanner) text() ([]byte, error) {
	if s.Next() != '"' {
		return nil, ErrSyntax
	}
	start := s.i
	s.i++
	for {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			return nil, ErrSyntax
		}
		s.i += n + 1
		if !escaped(s.b[start+1 : s.i-1]) {
			return s.b[start:s.i], nil
		}
	}
}

// escaped reports whether what follows b is escaped: an odd run of backslashes.
func escaped(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// Value consumes any value and returns its bytes.
func (s *Scanner) Value() ([]byte, error) {
	s.space()
	start := s.i
	var err error
	switch s.Next() {
	case '"':
		_, err = s.text()
	case '{', '[':
		err = s.nested()
	default:
		err = s.scalar()
	}
	return s.b[start:s.i], err
}

// nested skips an object or array without recursion.
func (s *Scanner) nested() error {
	depth := 0
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			if _, err := s.text(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.i++
		if depth == 0 {
			return nil
		}
	}
	return ErrSyntax
}

func (s *Scanner) scalar() error {
	start := s.i
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r', ':', '"', '{', '[':
			if s.i == start {
				return ErrSyntax
			}
			return nil
		}
		s.i++
	}
	if s.i == start {
		return ErrSyntax
	}
	return nil
}

// Object calls f at the value of each member of an object; f consumes it. Keys
// are as written, without quotes.
func (s *Scanner) Object(f func(key []byte) error) error {
	if !s.accept('{') {
		return ErrSyntax
	}
	if s.accept('}') {
		return nil
	}
	for {
		key, err := s.text()
		if err != nil {
			return err
		}
		if !s.accept(':') {
			return ErrSyntax
		}
		if err := f(key[1 : len(key)-1]); err != nil {
			return err
		}
		if s.accept('}') {
			return nil
		}
		if !s.accept(',') {
			return ErrSyntax
		}
	}
}

// Array calls f at each element of an array; f consumes it.
func (s *Scanner) Array(f func() error) error {
	if !s.accept('[') {
		return ErrSyntax
	}
	if s.accept(']') {
		return nil
	}
	for {
		if err := f(); err != nil {
			return err
		}
		if s.accept(']') {
			return nil
		}
		if !s.accept(',') {
			return ErrSyntax
		}
	}
}

// End reports whether only white space is left.
func (s *Scanner) End() bool {
	s.space()
	return s.i == len(s.b)
}
