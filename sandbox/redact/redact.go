package redact

import (
	"bytes"
	"cmp"
	"errors"
	"io"
)

// needle is how many bytes of a secret's form the automaton looks for; the
// rest is compared. It keeps the table small: long keys have many forms.
const needle = 8

// rule is what the automaton's word stands for: a form or a shape.
type rule struct {
	marker string
	form   []byte // of a known secret
	word   int    // length, of a shape
	shape  shape
}

// Redactor replaces secrets. It is immutable and safe for concurrent use.
type Redactor struct {
	rules    []rule
	words    *automaton
	specials [256]bool
}

// Option changes a Redactor while it is made.
type Option func(*config)

type config struct{ shapes []shape }

// WithoutShapes leaves tokens of unknown value alone.
func WithoutShapes() Option { return func(c *config) { c.shapes = nil } }

// New makes a Redactor. A secret without a value is passed over; one that is
// shorter than MinSecret is an error that names it, and no Redactor is made.
func New(secrets []Secret, opts ...Option) (*Redactor, error) {
	c := config{shapes: shapes()}
	for _, opt := range opts {
		opt(&c)
	}
	r := &Redactor{specials: specials()}
	var words [][]byte
	var errs []error
	for _, s := range secrets {
		if s.Value == "" {
			continue
		}
		forms, err := s.forms()
		errs = append(errs, err)
		for _, form := range forms {
			r.rules = append(r.rules, rule{marker: s.String(), form: form})
			words = append(words, form[:needle])
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, s := range c.shapes {
		for _, word := range s.words {
			r.rules = append(r.rules, rule{marker: marker(s.name), word: len(word), shape: s})
			words = append(words, []byte(word))
		}
	}
	r.words = newAutomaton(words)
	return r, nil
}

// Bytes is a copy of the text without its secrets.
func (r *Redactor) Bytes(text []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(text))
	w := r.Writer(&out)
	_, err := w.Write(text)
	if err = cmp.Or(err, w.Close()); err != nil {
		return nil // cannot happen: a Buffer takes everything
	}
	return out.Bytes()
}

// String is the text without its secrets.
func (r *Redactor) String(text string) string { return string(r.Bytes([]byte(text))) }

// Writer passes on to dst what is written, without its secrets. What may still
// become one is held back: a few bytes mostly, never more than a few
// megabytes. Close writes it and leaves dst open. The Writer is safe for
// concurrent use; an error of dst is returned by every later call.
func (r *Redactor) Writer(dst io.Writer) io.WriteCloser {
	return &writer{redactor: r, dst: dst}
}
