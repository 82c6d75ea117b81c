package scan

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// shape is the set of members that a struct decodes; nil takes a value whole.
type shape map[string]shape

// Decoder reads the members that the struct T names by its json tags, through
// pointers and slices, and skips the rest unread. It is safe for concurrent
// use.
type Decoder[T any] struct {
	shape shape
	pool  *sync.Pool
}

// NewDecoder looks at T once.
func NewDecoder[T any]() Decoder[T] {
	return Decoder[T]{
		shape: shapeOf(reflect.TypeFor[T]()),
		pool:  &sync.Pool{New: func() any { return new([]byte) }},
	}
}

// shapeOf reads the json tags of a struct type, through pointers and slices.
func shapeOf(t reflect.Type) shape {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	s := shape{}
	for f := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(f).Tag.Get("json"), ",")
		s[name] = shapeOf(t.Field(f).Type)
	}
	return s
}

// maxPooled is the largest scratch buffer kept: bodies are up to 64 kB.
const maxPooled = 256 << 10

// Decode reads the members that T names of an object; its error is ErrSyntax or
// one of encoding/json.
func (d Decoder[T]) Decode(body []byte) (out T, err error) {
	buf := d.pool.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= maxPooled {
			d.pool.Put(buf)
		}
	}()
	s := New(body)
	if s.Next() != '{' {
		return out, ErrSyntax
	}
	pruned, err := prune(s, (*buf)[:0], d.shape)
	*buf = pruned
	if err == nil && !s.End() {
		err = ErrSyntax
	}
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(pruned, &out); err != nil {
		var none T
		return none, err
	}
	return out, nil
}

// prune appends the value at s to out, members unknown to want left out. The
// depth of recursion is that of want, and one list at each level of it.
func prune(s *Scanner, out []byte, want shape) ([]byte, error) {
	var err error
	switch c := s.Next(); {
	case want != nil && c == '{':
		return pruneObject(s, out, want)
	case want != nil && c == '[':
		out = append(out, '[')
		n := 0
		err = s.Array(func() error {
			if s.Next() == '[' {
				return ErrSyntax // no payload nests lists, and each level would cost stack
			}
			if n++; n > 1 {
				out = append(out, ',')
			}
			out, err = prune(s, out, want)
			return err
		})
		return append(out, ']'), err
	}
	v, err := s.Value()
	return append(out, v...), err
}

func pruneObject(s *Scanner, out []byte, want shape) ([]byte, error) {
	out = append(out, '{')
	n := 0
	var seen [][]byte // few: the members that a struct names
	err := s.Object(func(key []byte) error {
		sub, known := want[string(key)]
		if !known {
			_, err := s.Value()
			return err
		}
		if slices.ContainsFunc(seen, func(k []byte) bool { return bytes.Equal(k, key) }) {
			return ErrSyntax
		}
		seen = append(seen, key)
		if n++; n > 1 {
			out = append(out, ',')
		}
		out = append(out, '"')
		out = append(out, key...)
		out = append(out, '"', ':')
		var err error
		out, err = prune(s, out, sub)
		return err
	})
	return append(out, '}'), err
}
