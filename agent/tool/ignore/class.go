package ignore

import "strings"

// set is a set of bytes.
type set [4]uint64

func (s *set) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }
func (s *set) add(c byte)      { s[c>>6] |= 1 << (c & 63) }

func (s *set) addIf(in func(byte) bool) {
	for c := range 256 {
		if in(byte(c)) {
			s.add(byte(c))
		}
	}
}

// class reads the "[…]" at i as git's wildmatch does and returns the index
// after it. A class that is not closed or names an unknown [:set:] is nil: the
// pattern matches nothing.
func class(pattern string, i int) (*set, int) {
	r := classReader{pattern: pattern, i: i + 1, out: new(set)}
	negated := r.peek() == '!' || r.peek() == '^'
	if negated {
		r.i++
	}
	for first := true; first || r.peek() != ']'; first = false {
		if r.i >= len(pattern) || !r.member() {
			return nil, len(pattern)
		}
	}
	if negated {
		for k := range r.out {
			r.out[k] = ^r.out[k]
		}
	}
	return r.out, r.i + 1
}

type classReader struct {
	pattern string
	i       int
	out     *set
	low     byte // what a following "-" begins a range with, 0 for none
}

func (r *classReader) peek() byte { return r.ahead(0) }

func (r *classReader) ahead(n int) byte {
	if r.i+n < len(r.pattern) {
		return r.pattern[r.i+n]
	}
	return 0
}

// member reads one byte, range or named set; false makes the pattern void.
func (r *classReader) member() bool {
	switch c := r.peek(); {
	case c == '\\':
		return r.escaped()
	case c == '-' && r.low > 0 && r.ahead(1) != 0 && r.ahead(1) != ']':
		return r.upTo()
	case c == '[' && r.ahead(1) == ':':
		return r.named()
	default:
		r.single(c)
		return true
	}
}

func (r *classReader) single(c byte) {
	r.out.add(c)
	r.low = c
	r.i++
}

func (r *classReader) escaped() bool {
	r.i++
	if r.i >= len(r.pattern) {
		return false
	}
	r.single(r.peek())
	return true
}

func (r *classReader) upTo() bool {
	r.i++
	if r.peek() == '\\' {
		r.i++
	}
	if r.i >= len(r.pattern) {
		return false
	}
	low, high := r.low, r.peek()
	r.out.addIf(func(c byte) bool { return low <= c && c <= high })
	r.low = 0
	r.i++
	return true
}

// named reads "[:alpha:]"; without its ":]" the "[" stands for itself.
func (r *classReader) named() bool {
	rest := r.pattern[r.i+2:]
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return false
	}
	name, ok := strings.CutSuffix(rest[:end], ":")
	if !ok {
		r.single('[')
		return true
	}
	in := named(name)
	if in == nil {
		return false
	}
	r.out.addIf(in)
	r.low = 0
	r.i += 2 + end + 1
	return true
}

// named is the set of a POSIX class, for ASCII as in git.
func named(name string) func(byte) bool {
	switch name {
	case "alnum":
		return func(c byte) bool { return isAlpha(c) || isDigit(c) }
	case "alpha":
		return isAlpha
	case "blank":
		return func(c byte) bool { return c == ' ' || c == '\t' }
	case "cntrl":
		return func(c byte) bool { return c < 0x20 || c == 0x7f }
	case "digit":
		return isDigit
	case "graph":
		return func(c byte) bool { return c > ' ' && c < 0x7f }
	case "lower":
		return func(c byte) bool { return c >= 'a' && c <= 'z' }
	case "print":
		return func(c byte) bool { return c >= ' ' && c < 0x7f }
	case "punct":
		return func(c byte) bool { return c > ' ' && c < 0x7f && !isAlpha(c) && !isDigit(c) }
	case "space":
		return func(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
	case "upper":
		return func(c byte) bool { return c >= 'A' && c <= 'Z' }
	case "xdigit":
		return func(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
	}
	return nil
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
