package git

import "strings"

// matchGlob matches a slash-separated name against a pattern as gitignore(5)
// and gitattributes(5) define it: '*', '?' and classes stay within a part,
// "**/", "/**" and "/**/" span parts. Parts are compared byte by byte.
//
// The work is bounded by len(pattern)*len(name) per part and by the product of
// the numbers of parts, so hostile patterns cannot stall it.
func matchGlob(pattern, name string) bool {
	return matchParts(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

func matchParts(pats, names []string) bool {
	// ok[j]: the patterns so far match the first j names.
	ok := make([]bool, len(names)+1)
	ok[0] = true
	for i, p := range pats {
		next := make([]bool, len(names)+1)
		last := i == len(pats)-1
		for j := range ok {
			switch {
			case !ok[j]:
			case p == "**" && last: // everything below, not the directory itself
				for k := j + 1; k <= len(names); k++ {
					next[k] = true
				}
				if i == 0 {
					next[0] = len(names) == 0
				}
			case p == "**":
				for k := j; k <= len(names); k++ {
					next[k] = true
				}
			case j < len(names) && matchPart(p, names[j]):
				next[j+1] = true
			}
		}
		ok = next
	}
	return ok[len(names)]
}

// matchPart matches one part. On a mismatch it backtracks to the last star
// only, which is enough without separators.
func matchPart(p, s string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(s) {
		if i < len(p) && p[i] == '*' {
			star, mark = i, j
			i++
			continue
		}
		if n, ok := matchByte(p[i:], s[j]); ok {
			i += n
			j++
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		i, j = star+1, mark
	}
	return strings.Trim(p[i:], "*") == ""
}

// matchByte matches the first element of p, which is not a star, against c
// and returns the element's length.
func matchByte(p string, c byte) (int, bool) {
	if p == "" {
		return 0, false
	}
	switch p[0] {
	case '?':
		return 1, true
	case '[':
		return matchClass(p, c)
	case '\\':
		if len(p) < 2 {
			return 0, false
		}
		return 2, p[1] == c
	}
	return 1, p[0] == c
}

// matchClass matches a bracket expression; an unterminated one never matches.
func matchClass(p string, c byte) (int, bool) {
	i, negated, found := 1, false, false
	if i < len(p) && (p[i] == '!' || p[i] == '^') {
		negated = true
		i++
	}
	for first := true; ; first = false {
		if i >= len(p) {
			return 0, false
		}
		if p[i] == ']' && !first {
			return i + 1, found != negated
		}
		if name, ok := className(p[i:]); ok {
			in, known := inClass(name, c)
			if !known {
				return 0, false
			}
			found = found || in
			i += len(name) + len("[::]")
			continue
		}
		lo, hi, n := classRange(p[i:])
		if n == 0 {
			return 0, false
		}
		found = found || lo <= c && c <= hi
		i += n
	}
}

// classRange reads "a", "a-z" or escaped forms; n is 0 when cut short.
func classRange(p string) (lo, hi byte, n int) {
	lo, n = classByte(p)
	if n == 0 {
		return 0, 0, 0
	}
	hi = lo
	if len(p) > n+1 && p[n] == '-' && p[n+1] != ']' {
		b, k := classByte(p[n+1:])
		if k == 0 {
			return 0, 0, 0
		}
		hi, n = b, n+1+k
	}
	return lo, hi, n
}

func classByte(p string) (byte, int) {
	switch {
	case p == "":
		return 0, 0
	case p[0] != '\\':
		return p[0], 1
	case len(p) < 2:
		return 0, 0
	}
	return p[1], 2
}

// className reads the name in "[:name:]".
func className(p string) (string, bool) {
	rest, ok := strings.CutPrefix(p, "[:")
	if !ok {
		return "", false
	}
	name, _, ok := strings.Cut(rest, ":]")
	return name, ok && !strings.Contains(name, "]")
}

func inClass(name string, c byte) (in, known bool) {
	upper, lower, digit := c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c >= '0' && c <= '9'
	graph := c > ' ' && c < 0x7f
	switch name {
	case "alpha":
		return upper || lower, true
	case "alnum":
		return upper || lower || digit, true
	case "digit":
		return digit, true
	case "upper":
		return upper, true
	case "lower":
		return lower, true
	case "xdigit":
		return digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F', true
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r', true
	case "blank":
		return c == ' ' || c == '\t', true
	case "punct":
		return graph && !upper && !lower && !digit, true
	case "cntrl":
		return c < ' ' || c == 0x7f, true
	case "graph":
		return graph, true
	case "print":
		return graph || c == ' ', true
	}
	return false, false
}
