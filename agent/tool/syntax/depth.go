package syntax

import "bytes"

// A parser that calls itself for every level of nesting can be driven to the
// end of Go's stack by a small file, and that ends the whole process: it is no
// panic that could be recovered. So the parsers of this package that have no
// bound of their own are only given files that cannot nest deep enough.

// maxStack is how many bytes of stack a file may ask for at most; Go gives 1 GB.
const maxStack = 64 << 20

// stackCost is an upper bound of the stack that a file can ask for: every byte
// and word that may open a level counts, whether it is closed again or not,
// because telling that needs the parser. Costs are bytes of stack a level,
// measured with files made of nothing else, and rounded up.
type stackCost struct {
	bytes map[byte]int
	words map[string]int
}

// scriptCost is esbuild's; 64 MB are about 150 KB of dense TypeScript.
func scriptCost() stackCost {
	return stackCost{
		bytes: map[byte]int{
			'(': 8 << 10, '{': 8 << 10, '[': 4 << 10, '!': 4 << 10, '-': 2 << 10, '+': 2 << 10, '~': 4 << 10, '?': 3 << 10,
			'=': 4 << 10, ':': 7 << 10, '<': 6 << 10, '`': 4 << 10, '$': 4 << 10, '*': 3 << 10, '@': 4 << 10, '.': 1 << 10,
		},
		words: map[string]int{
			"new": 5 << 10, "typeof": 5 << 10, "void": 5 << 10, "delete": 5 << 10, "await": 5 << 10, "yield": 5 << 10, "else": 5 << 10,
			"do": 5 << 10, "keyof": 5 << 10, "readonly": 5 << 10, "unique": 5 << 10, "infer": 5 << 10, "async": 5 << 10,
			"extends": 5 << 10, "asserts": 5 << 10,
		},
	}
}

// shellCost is mvdan.cc/sh's.
func shellCost() stackCost {
	return stackCost{
		bytes: map[byte]int{
			'(': 8 << 10, '{': 4 << 10, '`': 2 << 10, '!': 2 << 10, '-': 2 << 10, '?': 2 << 10, ':': 1 << 10, '|': 1 << 10, '&': 1 << 10, '~': 2 << 10, '+': 1 << 10,
		},
		words: map[string]int{
			"if": 4 << 10, "while": 4 << 10, "until": 4 << 10, "for": 4 << 10, "case": 8 << 10, "select": 4 << 10, "time": 2 << 10,
			"coproc": 4 << 10, "elif": 4 << 10, "function": 4 << 10,
		},
	}
}

// goCost is go/parser's, which has a bound, but a high one.
func goCost() stackCost {
	return stackCost{bytes: map[byte]int{'(': 2 << 10, '{': 2 << 10, '[': 2 << 10, '*': 512, '-': 512, '!': 512, '&': 512, '<': 512}}
}

// affordable says that a file cannot ask for more than maxStack.
func (c stackCost) affordable(body []byte) bool {
	total := 0
	for b, cost := range c.bytes {
		total += bytes.Count(body, []byte{b}) * cost
	}
	for word, cost := range c.words {
		total += bytes.Count(body, []byte(word)) * cost
	}
	return total <= maxStack
}

// nesting is how deep the brackets of a file go, for languages in which
// strings and comments are simple enough to be passed over for sure: JSON with
// comments and style sheets. An unquoted url(…) counts as a string.
func nesting(body []byte, lineComments bool) int {
	depth, deepest := 0, 0
	for i := 0; i < len(body); i++ {
		switch c := body[i]; c {
		case '"', '\'':
			i = stringEnd(body, i)
		case '\\':
			i++
		case '/':
			i = commentEnd(body, i, lineComments)
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
			if c == '(' && bytes.HasSuffix(bytes.ToLower(body[max(i-3, 0):i]), []byte("url")) {
				if end := bytes.IndexAny(body[i:], ")\"'"); end > 0 {
					i += end - 1
				}
			}
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}

// stringEnd is the offset of the quote that ends the string at i, or of the
// line's end, which ends it too.
func stringEnd(body []byte, i int) int {
	quote := body[i]
	for i++; i < len(body) && body[i] != quote && body[i] != '\n'; i++ {
		if body[i] == '\\' {
			i++
		}
	}
	return i
}

func commentEnd(body []byte, i int, lineComments bool) int {
	rest := body[i:]
	switch {
	case bytes.HasPrefix(rest, []byte("/*")):
		if end := bytes.Index(rest[2:], []byte("*/")); end >= 0 {
			return i + end + 3
		}
		return len(body)
	case lineComments && bytes.HasPrefix(rest, []byte("//")):
		if end := bytes.IndexByte(rest, '\n'); end >= 0 {
			return i + end
		}
		return len(body)
	}
	return i
}
