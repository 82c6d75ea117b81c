package redact

import (
	"bytes"
	"strings"
)

// shape is how tokens of one kind look: a word that begins them, and what
// follows.
type shape struct {
	name  string
	words []string
	// begins, if set, is the set that may not stand before the word.
	before *charset
	match  matcher
}

// matcher looks at what follows a word and says what is to be replaced.
type matcher func(w window) span

// window is a text from a word on: up to the end of its line, or of all.
type window struct {
	text []byte // begins with the word
	word int    // length of the word
	line int    // where the line ends in text
	open bool   // more may come of the line
	more bool   // more may come of the text
}

// span is what to replace of a window.
type span struct {
	from, to int // nothing if equal
	wait     bool
}

// maxToken bounds a token; a JWT with many claims has a few KiB.
const maxToken = 8 << 10

type charset [256]bool

// set makes a charset of ranges like "a-z" and single characters; a hyphen
// comes first.
func set(spec string) *charset {
	var c charset
	for i := 0; i < len(spec); i++ {
		if i+2 < len(spec) && spec[i+1] == '-' {
			for b := int(spec[i]); b <= int(spec[i+2]); b++ {
				c[b] = true
			}
			i += 2
			continue
		}
		c[spec[i]] = true
	}
	return &c
}

// run counts the characters of a set from a place on, within the line and at
// most n. wait says that more may come.
func (w window) run(c *charset, at, n int) (length int, wait bool) {
	for length < n && at+length < w.line && c[w.text[at+length]] {
		length++
	}
	return length, length < n && at+length == w.line && w.open
}

// follow is a run after the word of at least low and at most high characters;
// the token is the word and the run.
func follow(c *charset, low, high int) matcher {
	return func(w window) span {
		n, wait := w.run(c, w.word, high)
		if wait || n < low {
			return span{wait: wait}
		}
		return span{from: 0, to: w.word + n}
	}
}

// exactly is a run of n characters that does not go on.
func exactly(c *charset, n int) matcher {
	return func(w window) span {
		got, wait := w.run(c, w.word, n+1)
		if wait || got != n {
			return span{wait: wait}
		}
		return span{from: 0, to: w.word + n}
	}
}

// digitIn is a matcher whose token must have a digit, which names of things
// mostly do not.
func digitIn(m matcher) matcher {
	return func(w window) span {
		s := m(w)
		if s.to > s.from && !bytes.ContainsAny(w.text[s.from:s.to], "0123456789") {
			return span{}
		}
		return s
	}
}

// assigned is a value after a name: blanks, quotes, ":" or "=" and an optional
// scheme stand between. The value alone is replaced.
func assigned(value *charset, low, high int, schemes ...string) matcher {
	between, blank := set(`:= "'`), set(" ")
	return func(w window) span {
		gap, wait := w.run(between, w.word, 8)
		from := w.word + gap
		if wait || !bytes.ContainsAny(w.text[w.word:from], ":=") {
			return span{wait: wait}
		}
		n, wait := w.run(value, from, high)
		low := low
		if !wait && isOneOf(w.text[from:from+n], schemes) {
			blanks, more := w.run(blank, from+n, 4)
			from += n + blanks
			n, wait = w.run(value, from, high)
			wait, low = wait || more, minCredential
		}
		if wait || n < low {
			return span{wait: wait}
		}
		return span{from: from, to: from + n}
	}
}

// minCredential is the shortest value after the name of a scheme: "u:p" of
// Basic.
const minCredential = 4

func isOneOf(s []byte, list []string) bool {
	for _, one := range list {
		if strings.EqualFold(string(s), one) {
			return true
		}
	}
	return false
}

// webToken is three parts in base64, of which the last may be empty (RFC 7519).
func webToken() matcher {
	part := set("-a-zA-Z0-9_")
	const shortest = 8
	return func(w window) span {
		at := w.word
		for range 2 {
			n, wait := w.run(part, at, maxToken)
			at += n
			if wait || n < shortest || at >= w.line || w.text[at] != '.' {
				return span{wait: wait}
			}
			at++
		}
		n, wait := w.run(part, at, maxToken)
		if wait {
			return span{wait: true}
		}
		return span{from: 0, to: at + n}
	}
}

// userinfo is what stands before the @ of a URL: the password, or all of it if
// it is long enough to be a token.
func userinfo() matcher {
	inside := set("-a-zA-Z0-9._~!$&'()*+,;=:%@")
	const longest, token = 512, 16
	return func(w window) span {
		n, wait := w.run(inside, w.word, longest)
		info := w.text[w.word : w.word+n]
		at := bytes.LastIndexByte(info, '@')
		if wait || at < 0 {
			return span{wait: wait}
		}
		if colon := bytes.IndexByte(info[:at], ':'); colon >= 0 && colon+1 < at {
			return span{from: w.word + colon + 1, to: w.word + at}
		} else if colon < 0 && at >= token {
			return span{from: w.word, to: w.word + at}
		}
		return span{}
	}
}

const (
	maxLabel = 40 // of "-----BEGIN RSA PRIVATE KEY-----", after the first word
	maxFrame = 16 << 10
	frameEnd = "-----END "
)

// privateKey is a frame (RFC 7468) with its label and end, or as much as looks
// like one. Line breaks do not end it.
func privateKey() matcher {
	inside := set("-a-zA-Z0-9+/=:,. ")
	return func(w window) span {
		most := w.word + maxLabel + maxFrame
		text := w.text[:min(len(w.text), most)]
		more := w.more && len(text) < most
		label, wait := keyLabel(text[w.word:], more)
		if label == 0 {
			return span{wait: wait}
		}
		at := w.word + label
		for ; at < len(text) && inside[text[at]]; at++ {
			if text[at] == '-' && bytes.HasPrefix(text[at:], []byte(frameEnd)) {
				n, wait := keyLabel(text[at+len(frameEnd):], more)
				if n > 0 || wait {
					return span{to: at + len(frameEnd) + n, wait: wait}
				}
			}
		}
		return span{to: at, wait: at == len(text) && more}
	}
}

// keyLabel is the length of a private key's label with the dashes after it; 0
// if it is none, or if more has to come to know.
func keyLabel(text []byte, more bool) (n int, wait bool) {
	head := text[:min(len(text), maxLabel)]
	label, _, ok := bytes.Cut(head, []byte("-----"))
	switch {
	case !ok:
		return 0, more && len(head) < maxLabel
	case bytes.HasSuffix(label, []byte("PRIVATE KEY")), bytes.HasSuffix(label, []byte("PRIVATE KEY BLOCK")):
		return len(label) + len("-----"), false
	}
	return 0, false
}
