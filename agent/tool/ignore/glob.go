package ignore

// matchSegment matches one path segment against one pattern segment with "*",
// "?", "[…]" and "\" escapes. It backtracks only to the last "*", so it is at
// most quadratic.
func matchSegment(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, n
			p++
			continue
		}
		if size, ok := matchOne(pattern[p:], name[n]); ok {
			p += size
			n++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, n = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches the first element of pattern against one byte and returns
// the element's length.
func matchOne(pattern string, c byte) (int, bool) {
	if pattern == "" {
		return 0, false
	}
	switch pattern[0] {
	case '?':
		return 1, true
	case '[':
		if size, in, ok := matchClass(pattern, c); ok {
			return size, in
		}
	case '\\':
		if len(pattern) > 1 {
			return 2, pattern[1] == c
		}
		return 1, false
	}
	return 1, pattern[0] == c
}

// matchClass reads "[a-z]" or "[!a-z]"; ok is false when it is not closed.
func matchClass(pattern string, c byte) (size int, in, ok bool) {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(pattern); first = false {
		if pattern[i] == ']' && !first {
			return i + 1, in != negated, true
		}
		lo, next := classByte(pattern, i)
		hi := lo
		if next+1 < len(pattern) && pattern[next] == '-' && pattern[next+1] != ']' {
			hi, next = classByte(pattern, next+1)
		}
		in = in || lo <= c && c <= hi
		i = next
	}
	return 0, false, false
}

// classByte is the byte at i, unescaped, and where the next one is.
func classByte(pattern string, i int) (byte, int) {
	if pattern[i] == '\\' && i+1 < len(pattern) {
		return pattern[i+1], i + 2
	}
	return pattern[i], i + 1
}
