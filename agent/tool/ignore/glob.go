package ignore

import "strings"

// element is one element of a compiled pattern.
type element struct {
	op  op
	lit byte // for opByte
	set *set // for opClass
}

type op uint8

const (
	opByte  op = iota // this byte
	opAny             // "?": one byte but "/"
	opClass           // "[…]": one byte of a set but "/"
	opStar            // "*": bytes without "/"
	opDeep            // "**" as a whole segment: any bytes
	opDirs            // "**/": nothing, or any bytes and a "/"
	opNever           // matches nothing: a class that is not closed, "\" at the end
)

// special are the bytes at which the part of a pattern ends that is compared
// byte by byte; git does so too, which shows when "**" follows it.
const special = `*?[\`

// compile splits a pattern into its plain beginning and the elements after it.
func compile(pattern string) (prefix string, rest []element) {
	n := strings.IndexAny(pattern, special)
	if n < 0 {
		return pattern, nil
	}
	prefix, pattern = pattern[:n], pattern[n:]
	for i := 0; i < len(pattern); {
		var e element
		e, i = next(pattern, i)
		rest = append(rest, e)
	}
	return prefix, rest
}

// next reads the element at i and returns where the one after it begins.
func next(pattern string, i int) (element, int) {
	switch c := pattern[i]; c {
	case '?':
		return element{op: opAny}, i + 1
	case '*':
		return stars(pattern, i)
	case '[':
		s, end := class(pattern, i)
		if s == nil {
			return element{op: opNever}, len(pattern)
		}
		return element{op: opClass, set: s}, end
	case '\\':
		if i+1 == len(pattern) {
			return element{op: opNever}, i + 1
		}
		return element{op: opByte, lit: pattern[i+1]}, i + 2
	default:
		return element{op: opByte, lit: c}, i + 1
	}
}

// stars reads a run of "*". Two or more that fill a segment cross directories.
func stars(pattern string, i int) (element, int) {
	end := i
	for end < len(pattern) && pattern[end] == '*' {
		end++
	}
	if end-i < 2 || (i > 0 && pattern[i-1] != '/') {
		return element{op: opStar}, end
	}
	rest := pattern[end:]
	switch {
	case rest == "" || strings.HasPrefix(rest, `\/`):
		return element{op: opDeep}, end
	case rest[0] == '/':
		return element{op: opDirs}, end + 1
	}
	return element{op: opStar}, end
}

// match matches all of name. A star needs to be retried only from the last one
// of its segment, and only the last "**" of all, so the cost is bounded by the
// lengths of pattern and name times the length of a segment.
func match(pattern []element, name string) bool {
	m := matcher{pattern: pattern, name: name, star: retry{at: -1}, deep: retry{at: -1}}
	for {
		if m.p == len(pattern) && m.n == len(name) {
			return true
		}
		if m.step() {
			continue
		}
		if !m.again() {
			return false
		}
	}
}

type matcher struct {
	pattern    []element
	name       string
	p, n       int // where pattern and name are
	star, deep retry
}

// retry is a wildcard that can take more.
type retry struct {
	at   int // its index in the pattern, -1 for none
	from int // where in the name what it takes ends
}

// step takes one element; false is a mismatch.
func (m *matcher) step() bool {
	if m.p == len(m.pattern) {
		return false
	}
	e := m.pattern[m.p]
	switch e.op {
	case opStar:
		m.star = retry{m.p, m.n}
		m.p++
		return true
	case opDeep, opDirs:
		m.deep, m.star = retry{m.p, m.n}, retry{at: -1}
		m.p++
		return true
	default:
		if m.n == len(m.name) || !e.takes(m.name[m.n]) {
			return false
		}
		m.p++
		m.n++
		return true
	}
}

func (e element) takes(c byte) bool {
	switch e.op {
	case opByte:
		return e.lit == c
	case opAny:
		return c != '/'
	case opClass:
		return c != '/' && e.set.has(c)
	default:
		return false
	}
}

// again lets the last wildcard that can take more.
func (m *matcher) again() bool {
	if s := &m.star; s.at >= 0 && s.from < len(m.name) && m.name[s.from] != '/' {
		s.from++
		m.p, m.n = s.at+1, s.from
		return true
	}
	m.star.at = -1
	d := &m.deep
	if d.at < 0 || d.from >= len(m.name) {
		return false
	}
	d.from++
	if m.pattern[d.at].op == opDirs {
		slash := strings.IndexByte(m.name[d.from-1:], '/')
		if slash < 0 {
			d.from = len(m.name)
			return false
		}
		d.from += slash
	}
	m.p, m.n = d.at+1, d.from
	return true
}
