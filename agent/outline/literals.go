package outline

import (
	"bytes"
	"strings"
)

// The literals that one language alone has. Each returns the end of what
// begins at i, or i when nothing does.

// before is the byte in front of i, 0 at the start.
func (m *masker) before(i int) byte {
	if i == 0 {
		return 0
	}
	return m.src[i-1]
}

// count is how many bytes c stand at i; it stops after maxTag.
func (m *masker) count(i int, c byte) int {
	n := 0
	for i+n < len(m.src) && m.src[i+n] == c && n <= maxTag {
		n++
	}
	return n
}

// verbatim is C#'s @"…", in which "" is a quote.
func verbatim(m *masker, i int) int {
	if !m.at(i, `@"`) && !m.at(i, `@$"`) {
		return i
	}
	for j := i + bytes.IndexByte(m.src[i:], '"') + 1; j < len(m.src); j++ {
		if m.src[j] != '"' {
			continue
		}
		if m.at(j, `""`) {
			j++
			continue
		}
		return j + 1
	}
	return len(m.src)
}

// maxTag is the longest tag of a raw string; C++ allows 16.
const maxTag = 64

// rawString is C++'s R"tag(…)tag".
func rawString(m *masker, i int) int {
	if !m.at(i, `R"`) {
		return i
	}
	head := m.src[i+2 : min(len(m.src), i+2+maxTag)]
	n := bytes.IndexByte(head, '(')
	if n < 0 || bytes.ContainsAny(head[:n], "\"\n \\)") {
		return i
	}
	return m.find(i+2+n, ")"+string(head[:n])+`"`)
}

// hashString is Swift's #"…"#.
func hashString(m *masker, i int) int {
	n := m.count(i, '#')
	if n > maxTag || !m.at(i+n, `"`) {
		return i
	}
	return m.find(i+n+1, `"`+strings.Repeat("#", n))
}

// rustLiteral is a character, told from a lifetime, or a raw string.
func rustLiteral(m *masker, i int) int {
	if m.src[i] == '\'' {
		if m.at(i+1, `\`) {
			return m.within(i+3, '\'', 12, i)
		}
		end := m.within(i+1, '\'', 5, i)
		if end == i+2 || end > i+3 && i+1 < len(m.src) && m.src[i+1] < 0x80 {
			return i
		}
		return end
	}
	j := i
	if m.src[j] == 'b' {
		j++
	}
	if isWord(m.before(i)) || !m.at(j, "r") {
		return i
	}
	n := m.count(j+1, '#')
	if n > maxTag || !m.at(j+1+n, `"`) {
		return i
	}
	return m.find(j+n+2, `"`+strings.Repeat("#", n))
}

// within is the offset after the next c in at most n bytes from i, or miss.
func (m *masker) within(i int, c byte, n, miss int) int {
	if i > len(m.src) {
		return miss
	}
	if k := bytes.IndexByte(m.src[i:min(len(m.src), i+n)], c); k >= 0 {
		return i + k + 1
	}
	return miss
}

// phpText is a comment that begins with # (but no attribute), and the text
// between ?> and <?php.
func phpText(m *masker, i int) int {
	switch {
	case m.src[i] == '#' && !m.at(i, "#["):
		return m.eol(i)
	case m.at(i, "?>"):
		return m.find(i+2, "<?")
	}
	return i
}

// scriptLiteral is a template or a regular expression of JavaScript.
func scriptLiteral(m *masker, i int) int {
	switch {
	case m.src[i] == '`':
		return m.template(i)
	case m.src[i] == '/' && !m.at(i, "//") && !m.at(i, cBlock) && m.operand(i):
		return m.expression(i)
	}
	return i
}

// template is the end of a template string, whose ${…} may hold others.
func (m *masker) template(i int) int {
	inside := []int{-1} // -1 is text, else the depth of braces in a ${…}
	for i++; i < len(m.src) && len(inside) > 0; i++ {
		top := &inside[len(inside)-1]
		switch c := m.src[i]; {
		case c == '\\':
			i++
		case c == '`' && *top < 0:
			inside = inside[:len(inside)-1]
		case c == '`':
			inside = append(inside, -1)
		case *top < 0 && m.at(i, "${"):
			inside = append(inside, 0)
			i++
		case *top >= 0 && c == '{':
			*top++
		case *top > 0 && c == '}':
			*top--
		case *top == 0 && c == '}':
			inside = inside[:len(inside)-1]
		}
	}
	return i
}

// operand says whether an expression can begin at i: what stands before on the
// line is an operator, an opening bracket or a word that wants one.
func (m *masker) operand(i int) bool {
	j := i - 1
	for j >= 0 && i-j < maxTag && (m.src[j] == ' ' || m.src[j] == '\t') {
		j--
	}
	if j < 0 || m.src[j] == '\n' || strings.IndexByte("(,=:[!&|?{;+-*%~^", m.src[j]) >= 0 {
		return true
	}
	if m.src[j] == '>' && m.before(j) == '=' {
		return true
	}
	end := j + 1
	for j >= 0 && end-j < maxTag && isWord(m.src[j]) {
		j--
	}
	switch string(m.src[j+1 : end]) {
	case "return", "typeof", "case", "in", "of", "if", "unless", "and", "or", "not", "when", "delete", "void", "throw", "await", "yield":
		return true
	}
	return false
}

// expression is the end of a regular expression on its line.
func (m *masker) expression(i int) int {
	if i < m.open['/'] {
		return i
	}
	class := false
	for j := i + 1; j < len(m.src) && m.src[j] != '\n'; j++ {
		switch c := m.src[j]; {
		case c == '\\':
			j++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			return j + 1
		}
	}
	m.open['/'] = m.eol(i)
	return i
}

// rubyText is a comment, a =begin block or a regular expression.
func rubyText(m *masker, i int) int {
	switch {
	case m.src[i] == '#' && !isWord(m.before(i)):
		return m.eol(i)
	case m.at(i, "=begin") && (i == 0 || m.src[i-1] == '\n'):
		return m.find(i, "\n=end")
	case m.src[i] == '/' && m.operand(i):
		return m.expression(i)
	}
	return i
}

// shellText is a comment, told from $# and the like, or an escaped character.
func shellText(m *masker, i int) int {
	if m.src[i] == '\\' {
		return i + 2
	}
	if m.src[i] == '#' && (i == 0 || strings.IndexByte(" \t\n;(", m.src[i-1]) >= 0) {
		return m.eol(i)
	}
	return i
}

// dollarString is PostgreSQL's $tag$…$tag$.
func dollarString(m *masker, i int) int {
	end := m.within(i+1, '$', maxTag, i)
	if end == i || isWord(m.before(i)) && m.before(i) != '$' {
		return i
	}
	tag := string(m.src[i:end])
	if strings.ContainsAny(tag, " \n\t'\"") {
		return i
	}
	return m.find(end, tag)
}
