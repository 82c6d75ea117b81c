package githubhook

import (
	"bytes"
	"errors"
)

// errSyntax is the one fault that the scanner reports; the caller adds context.
var errSyntax = errors.New("not a JSON object")

// scanner walks JSON without decoding it. It is lenient about what it skips
// (encoding/json sees what is kept) and strict about balance: a truncated or
// unbalanced text is an error.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
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
func (s *scanner) accept(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

// peek is the next byte after white space, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.i == len(s.b) {
		return 0
	}
	return s.b[s.i]
}

// text consumes a string and returns it with its quotes, escapes untouched.
func (s *scanner) text() ([]byte, error) {
	if s.peek() != '"' {
		return nil, errSyntax
	}
	start := s.i
	s.i++
	for {
		n := bytes.IndexByte(s.b[s.i:], '"')
		if n < 0 {
			return nil, errSyntax
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

// value consumes any value and returns its bytes.
func (s *scanner) value() ([]byte, error) {
	s.space()
	start := s.i
	var err error
	switch s.peek() {
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
func (s *scanner) nested() error {
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
	return errSyntax
}

func (s *scanner) scalar() error {
	start := s.i
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ',', '}', ']', ' ', '\t', '\n', '\r', ':', '"', '{', '[':
			if s.i == start {
				return errSyntax
			}
			return nil
		}
		s.i++
	}
	if s.i == start {
		return errSyntax
	}
	return nil
}

// object calls f at the value of each member of an object; f consumes it. Keys
// are as written, without quotes.
func (s *scanner) object(f func(key []byte) error) error {
	if !s.accept('{') {
		return errSyntax
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
			return errSyntax
		}
		if err := f(key[1 : len(key)-1]); err != nil {
			return err
		}
		if s.accept('}') {
			return nil
		}
		if !s.accept(',') {
			return errSyntax
		}
	}
}

// array calls f at each element of an array; f consumes it.
func (s *scanner) array(f func() error) error {
	if !s.accept('[') {
		return errSyntax
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
			return errSyntax
		}
	}
}

// end reports whether only white space is left.
func (s *scanner) end() bool {
	s.space()
	return s.i == len(s.b)
}
