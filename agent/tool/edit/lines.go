package edit

import "strings"

// fileLine is a line of a file. Its end is a newline, a CRLF or nothing.
type fileLine struct {
	text string // without its end
	crlf bool
	open bool // the last line, without a newline
}

func (l fileLine) write(b *strings.Builder) {
	b.WriteString(l.text)
	if l.crlf {
		b.WriteByte('\r')
	}
	if !l.open {
		b.WriteByte('\n')
	}
}

// raw is the line with a carriage return that ends it.
func (l fileLine) raw() string {
	if l.crlf {
		return l.text + "\r"
	}
	return l.text
}

// splitFile cuts a body into lines; an empty body has none.
func splitFile(body string) []fileLine {
	if body == "" {
		return nil
	}
	lines := make([]fileLine, 0, strings.Count(body, "\n")+1)
	for body != "" {
		text, rest, found := strings.Cut(body, "\n")
		l := fileLine{text: text, open: !found}
		if cut, ok := strings.CutSuffix(text, "\r"); ok && found {
			l.text, l.crlf = cut, true
		}
		lines = append(lines, l)
		body = rest
	}
	return lines
}

func joinFile(lines []fileLine) string {
	var b strings.Builder
	for _, l := range lines {
		l.write(&b)
	}
	return b.String()
}

// mostlyCRLF says how most lines of the file end.
func mostlyCRLF(lines []fileLine) bool {
	n := 0
	for _, l := range lines {
		if l.crlf {
			n++
		}
	}
	return n*2 > len(lines)
}

// canonical is a file as one string of lines seen through a function, with the
// offset of each, in which a block of lines is one substring.
type canonical struct {
	text   string
	starts []int
}

func newCanonical(lines []fileLine, see func(fileLine) string) canonical {
	c := canonical{starts: make([]int, len(lines)+1)}
	var b strings.Builder
	b.WriteByte('\n')
	for i, l := range lines {
		c.starts[i] = b.Len() - 1
		b.WriteString(see(l))
		b.WriteByte('\n')
	}
	c.starts[len(lines)] = b.Len() - 1
	c.text = b.String()
	return c
}

// find returns the lines from lo on at which the block begins, the first ones
// when there are very many.
func (c canonical) find(block []string, lo int) []int {
	want := newNeedle("\n" + strings.Join(block, "\n") + "\n")
	var found []int
	line := lo
	for at := c.starts[lo]; len(found) <= maxPlaces; at++ {
		i := want.in(c.text[at:])
		if i < 0 {
			break
		}
		at += i
		for c.starts[line] < at {
			line++
		}
		found = append(found, line)
	}
	return found
}

// has says that the block begins at the line.
func (c canonical) has(block []string, line int) bool {
	if line < 0 || line+len(block) >= len(c.starts) {
		return false
	}
	return strings.HasPrefix(c.text[c.starts[line]:], "\n"+strings.Join(block, "\n")+"\n")
}
