package redact

import "unicode/utf8"

// escape is the character ESC.
const escape = 0x1b

// maxColour bounds a control sequence: real ones have up to 20 bytes.
const maxColour = 32

// unit is what is read at one place of the input.
type unit struct {
	size    int  // bytes of input; 0: the rest is not here yet
	noise   bool // to be looked past
	newline bool // noise that ends a line
	decoded bool // text stands for the bytes of input
	text    [utf8.UTFMax]byte
	length  int // of text
}

// stands makes a unit that stands for a short text.
func stands(size int, text ...byte) unit {
	u := unit{size: size, decoded: true}
	u.length = copy(u.text[:], text)
	return u
}

// special reports the bytes with which noise or an escape can begin; all
// others stand for themselves.
func special(b byte) bool {
	return b < 0x20 && b != '\t' || b == 0x7f || b == '%' || b == '\\' ||
		b == 0xc2 || b == 0xe1 || b == 0xe2 || b == 0xef
}

func specials() (table [256]bool) {
	for i := range table {
		table[i] = special(byte(i))
	}
	return table
}

// noiseAt reads what begins with a special byte. At the end of the input
// nothing more will come.
func noiseAt(in []byte, final bool) unit {
	switch b := in[0]; {
	case b == '\n' || b == '\r':
		return unit{size: 1, noise: true, newline: true}
	case b < 0x20 || b == 0x7f:
		return unit{size: 1, noise: true}
	case b >= 0x80:
		return invisibleAt(in, final)
	}
	return unit{size: 1}
}

// colourAt reads a control sequence (ECMA-48, 5.4): ESC [ parameters,
// intermediates, a final byte. Any other escape is one byte: the text of a
// link or a title follows it, and has to be looked at.
func colourAt(in []byte, final bool) unit {
	for i := 1; i < maxColour; i++ {
		switch {
		case i >= len(in) && final:
			return unit{size: 1, noise: true}
		case i >= len(in):
			return unit{}
		case i == 1 && in[i] != '[', in[i] < 0x20 || in[i] > 0x7e:
			return unit{size: 1, noise: true}
		case i > 1 && in[i] >= 0x40:
			return unit{size: i + 1, noise: true}
		}
	}
	return unit{size: 1, noise: true}
}

// invisibleAt reads a character outside ASCII, which is noise if it has no
// width.
func invisibleAt(in []byte, final bool) unit {
	if !utf8.FullRune(in) && !final {
		return unit{}
	}
	r, size := utf8.DecodeRune(in)
	return unit{size: size, noise: invisible(r)}
}

// invisible characters (Unicode's Default_Ignorable_Code_Point, the Basic
// Multilingual Plane's without fillers).
func invisible(r rune) bool {
	return r == 0xad || r == 0x180e || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e ||
		r >= 0x2060 && r <= 0x206f || r >= 0xfe00 && r <= 0xfe0f || r == 0xfeff
}

// escapeAt reads a URL, JSON or C escape or a control sequence, or the single
// byte if it is none.
func escapeAt(in []byte, final bool) unit {
	switch in[0] {
	case '%':
		return codeAt(in, 1, 2, final)
	case escape:
		return colourAt(in, final)
	}
	if len(in) < 2 {
		return short(final)
	}
	switch in[1] {
	case 'n', 'r':
		return unit{size: 2, noise: true, newline: true}
	case 't':
		return stands(2, '\t')
	case '/', '\\', '"', '\'':
		return stands(2, in[1])
	case 'u':
		return codeAt(in, 2, 4, final)
	case 'x':
		return codeAt(in, 2, 2, final)
	}
	return unit{size: 1}
}

func short(final bool) unit {
	if final {
		return unit{size: 1}
	}
	return unit{}
}

// codeAt reads hex digits after an introduction: a byte of two, a character of
// four.
func codeAt(in []byte, from, digits int, final bool) unit {
	var code rune
	for i := from; i < from+digits; i++ {
		if i >= len(in) {
			return short(final)
		}
		d := hexDigit(in[i])
		if d < 0 {
			return unit{size: 1}
		}
		code = code<<4 | d
	}
	u := unit{size: from + digits, newline: code == '\n' || code == '\r', decoded: true}
	u.noise = u.newline || code < 0x20 && code != '\t' || code == 0x7f || digits == 4 && invisible(code)
	if digits == 2 {
		u.text[0], u.length = byte(code), 1
	} else {
		u.length = utf8.EncodeRune(u.text[:], code)
	}
	return u
}

func hexDigit(b byte) rune {
	switch {
	case b >= '0' && b <= '9':
		return rune(b - '0')
	case b >= 'a' && b <= 'f':
		return rune(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return rune(b-'A') + 10
	}
	return -1
}
