package githubhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/greenwright/greenwright/vcs"
)

// shape is the set of members that a struct decodes; nil takes a value whole.
type shape map[string]shape

// shapes prunes payloads to what the payload struct names.
type shapes struct {
	payload shape
	pool    *sync.Pool
}

func newShapes() shapes {
	return shapes{
		payload: shapeOf(reflect.TypeFor[payload]()),
		pool:    &sync.Pool{New: func() any { return new([]byte) }},
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

// decode reads the payload's known members.
func (p shapes) decode(body []byte) (payload, error) {
	buf := p.pool.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= maxPooled {
			p.pool.Put(buf)
		}
	}()
	s := scanner{b: body}
	pruned, err := prune(&s, (*buf)[:0], p.payload)
	*buf = pruned
	if err == nil && !s.end() {
		err = errSyntax
	}
	if err != nil {
		return payload{}, fmt.Errorf("%w: payload: %w", vcs.ErrInvalid, err)
	}
	var out payload
	if err := json.Unmarshal(pruned, &out); err != nil {
		return payload{}, fmt.Errorf("%w: payload: %w", vcs.ErrInvalid, err)
	}
	return out, nil
}

// maxPooled is the largest scratch buffer kept: bodies are up to 64 kB.
const maxPooled = 256 << 10

// prune appends the value at s to out, members unknown to want left out. The
// depth of recursion is that of want, and one list at each level of it. A
// member that a payload names twice is refused: readers would disagree about
// which of the two counts.
func prune(s *scanner, out []byte, want shape) ([]byte, error) {
	var err error
	switch c := s.peek(); {
	case want != nil && c == '{':
		return pruneObject(s, out, want)
	case want != nil && c == '[':
		out = append(out, '[')
		n := 0
		err = s.array(func() error {
			if s.peek() == '[' {
				return errSyntax // no payload nests lists, and each level would cost stack
			}
			if n++; n > 1 {
				out = append(out, ',')
			}
			out, err = prune(s, out, want)
			return err
		})
		return append(out, ']'), err
	}
	v, err := s.value()
	return append(out, v...), err
}

func pruneObject(s *scanner, out []byte, want shape) ([]byte, error) {
	out = append(out, '{')
	n := 0
	var seen [][]byte // few: the members that a struct names
	err := s.object(func(key []byte) error {
		sub, known := want[string(key)]
		if !known {
			_, err := s.value()
			return err
		}
		if slices.ContainsFunc(seen, func(k []byte) bool { return bytes.Equal(k, key) }) {
			return errSyntax
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
