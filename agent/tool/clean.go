package tool

import (
	"strings"
	"unicode/utf8"
)

// maxEscape is how many runes a terminal string sequence (OSC, DCS) may have
// before it is taken for an unterminated one.
const maxEscape = 4096

// Clean makes text fit to store and to send: ANSI sequences are removed,
// carriage returns and backspaces overwrite as on a terminal, other C0 and C1
// controls but tab and newline become visible, invalid UTF-8 (lone surrogates
// included) becomes U+FFFD. Clean(Clean(s)) == Clean(s), and the cost is
// linear in the length of s.
func Clean(s string) string {
	if isClean(s) {
		return s
	}
	c := cleaner{in: []rune(strings.ToValidUTF8(s, string(utf8.RuneError)))}
	c.out.Grow(len(s))
	for c.at < len(c.in) {
		c.step()
	}
	c.flush()
	return c.out.String()
}

func isClean(s string) bool {
	for i := 0; i < len(s); i++ {
		if b := s[i]; (b < 0x20 && b != '\n' && b != '\t') || b >= 0x7f {
			return false
		}
	}
	return true
}

// cleaner replays text onto one line of a terminal at a time.
type cleaner struct {
	in   []rune
	at   int
	line []rune
	col  int
	out  strings.Builder
	// noEnd is the place before which no string sequence that begins after the
	// last one ends: what was looked at once is not looked at again.
	noEnd int
}

func (c *cleaner) step() {
	r := c.in[c.at]
	c.at++
	switch {
	case r == 0x1b:
		c.escape()
	case r == 0x9b:
		c.csi()
	case r == '\n':
		c.flush()
		c.out.WriteByte('\n')
	case r == '\r':
		c.col = 0
	case r == '\b':
		c.col = max(0, c.col-1)
	case r < 0x20 && r != '\t':
		c.put(0x2400 + r) // the picture of the control
	case r == 0x7f:
		c.put(0x2421)
	case r >= 0x80 && r < 0xa0:
		c.put(utf8.RuneError)
	default:
		c.put(r)
	}
}

func (c *cleaner) put(r rune) {
	if c.col < len(c.line) {
		c.line[c.col] = r
	} else {
		c.line = append(c.line, r)
	}
	c.col++
}

func (c *cleaner) flush() {
	for _, r := range c.line {
		c.out.WriteRune(r)
	}
	c.line, c.col = c.line[:0], 0
}

// escape consumes what follows ESC (ECMA-48, 5.3 to 5.6).
func (c *cleaner) escape() {
	if c.at >= len(c.in) {
		return
	}
	switch r := c.in[c.at]; r {
	case '[':
		c.at++
		c.csi()
	case ']', 'P', 'X', '^', '_':
		c.at++
		c.controlString()
	default:
		for c.at < len(c.in) && c.in[c.at] >= 0x20 && c.in[c.at] <= 0x2f {
			c.at++
		}
		if c.at < len(c.in) && c.in[c.at] >= 0x30 && c.in[c.at] <= 0x7e {
			c.at++
		}
	}
}

// csi consumes a control sequence; "erase in line" is the one that is obeyed.
func (c *cleaner) csi() {
	start := c.at
	for c.at < len(c.in) && c.in[c.at] >= 0x20 && c.in[c.at] <= 0x3f {
		c.at++
	}
	if c.at >= len(c.in) || c.in[c.at] < 0x40 || c.in[c.at] > 0x7e {
		return
	}
	if c.in[c.at] == 'K' {
		c.erase(string(c.in[start:c.at]))
	}
	c.at++
}

func (c *cleaner) erase(mode string) {
	switch mode {
	case "", "0":
		c.line = c.line[:min(c.col, len(c.line))]
	case "2":
		c.line, c.col = c.line[:0], 0
	}
}

// controlString consumes up to BEL or ESC \. One that does not end within its
// line is no sequence: its introducer alone is dropped.
func (c *cleaner) controlString() {
	i := max(c.at, c.noEnd)
	for ; i < len(c.in) && i-c.at < maxEscape && c.in[i] != '\n'; i++ {
		if c.in[i] == 0x07 || c.in[i] == 0x9c {
			c.at = i + 1
			return
		}
		if c.in[i] == 0x1b && i+1 < len(c.in) && c.in[i+1] == '\\' {
			c.at = i + 2
			return
		}
	}
	c.noEnd = i
}
