package outline

import "bytes"

// lexis is what the comments and strings of a language look like.
type lexis struct {
	line   []string // openers of comments up to the end of the line
	block  string   // opener of a block comment, "" for none
	close  string   // its end
	nested bool     // block comments nest
	quotes string   // delimiters of strings that end with their line
	long   string   // delimiters of strings that may cross lines
	triple string   // quotes that, three times, make a string across lines
	raw    string   // delimiters inside which a backslash is no escape
	extra  func(m *masker, i int) int
	// heredoc is the opener of here-documents ("<<", "<<<"), "" for none.
	heredoc string
	// starts are the first bytes of what extra knows.
	starts string
	// begin is where code begins ("<?" in PHP); what is before it is text.
	begin string
}

// masker blanks out the comments and strings of one file. Every step moves
// forward, and a search that found no end is not repeated.
type masker struct {
	lex  *lexis
	src  []byte
	out  []byte
	hot  [256]bool // bytes at which something may begin
	open [256]int  // no closing quote of this byte before this offset

	docFrom, docTo int // the here-document that begins after this line
	docMissed      int
}

// maxMissed bounds the searches for the ends of here-documents that are none.
const maxMissed = 32

// mask returns src with comments and strings blanked out, line ends kept.
func mask(src []byte, lex *lexis) []byte {
	m := &masker{lex: lex, src: src, out: bytes.Clone(src), docFrom: -1}
	for _, s := range append([]string{lex.block, lex.heredoc}, lex.line...) {
		if s != "" {
			m.hot[s[0]] = true
		}
	}
	for _, c := range []byte(lex.quotes + lex.long + lex.triple + lex.starts) {
		m.hot[c] = true
	}
	m.hot['\n'] = lex.heredoc != ""
	first := 0
	if lex.begin != "" {
		first = m.find(0, lex.begin)
		m.blank(0, first)
	}
	for i := first; i < len(src); {
		end := i
		if m.hot[src[i]] {
			end = m.skip(i)
		}
		if end <= i {
			i++
			continue
		}
		m.blank(i, end)
		i = end
	}
	return m.out
}

func (m *masker) blank(from, to int) {
	for i := from; i < min(to, len(m.out)); i++ {
		if c := m.out[i]; c != '\n' && c != '\r' {
			m.out[i] = ' '
		}
	}
}

// at says whether s stands at offset i.
func (m *masker) at(i int, s string) bool {
	return s != "" && i+len(s) <= len(m.src) && string(m.src[i:i+len(s)]) == s
}

// find is the offset after the next s at or after i, or the end of the file.
func (m *masker) find(i int, s string) int {
	if i < len(m.src) {
		if n := bytes.Index(m.src[i:], []byte(s)); n >= 0 {
			return i + n + len(s)
		}
	}
	return len(m.src)
}

// eol is the offset of the line end at or after i.
func (m *masker) eol(i int) int {
	if n := bytes.IndexByte(m.src[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(m.src)
}

// skip is the end of the comment or string that begins at i, or i.
func (m *masker) skip(i int) int {
	c := m.src[i]
	if c == '\n' {
		if m.docFrom == i {
			return m.docTo
		}
		return i
	}
	if m.lex.extra != nil {
		if end := m.lex.extra(m, i); end != i {
			return max(end, i)
		}
	}
	if m.at(i, m.lex.block) {
		return m.blockEnd(i)
	}
	for _, opener := range m.lex.line {
		if m.at(i, opener) {
			return m.eol(i)
		}
	}
	if m.at(i, m.lex.heredoc) {
		m.hereDocument(i)
		return i
	}
	return m.stringEnd(i)
}

func (m *masker) blockEnd(i int) int {
	if !m.lex.nested {
		return m.find(i+len(m.lex.block), m.lex.close)
	}
	depth := 0
	for i < len(m.src) {
		switch {
		case m.at(i, m.lex.block):
			depth++
			i += len(m.lex.block)
		case m.at(i, m.lex.close):
			depth--
			i += len(m.lex.close)
			if depth == 0 {
				return i
			}
		default:
			i++
		}
	}
	return i
}

func (m *masker) stringEnd(i int) int {
	c := m.src[i]
	if bytes.IndexByte([]byte(m.lex.triple), c) >= 0 && m.at(i, string([]byte{c, c, c})) {
		return m.tripleEnd(i+3, c)
	}
	across := bytes.IndexByte([]byte(m.lex.long), c) >= 0
	if !across && bytes.IndexByte([]byte(m.lex.quotes), c) < 0 {
		return i
	}
	if i > 0 && c == '\'' && isDigit(m.src[i-1]) {
		return i // a separator of digits
	}
	return m.quoted(i, c, across)
}

// quoted is the end of the string that c opens at i. One that should end with
// its line and does not is no string.
func (m *masker) quoted(i int, c byte, across bool) int {
	if i < m.open[c] {
		return i
	}
	raw := bytes.IndexByte([]byte(m.lex.raw), c) >= 0
	for j := i + 1; j < len(m.src); j++ {
		switch b := m.src[j]; {
		case b == '\\' && !raw:
			j++
		case b == c:
			return j + 1
		case b == '\n' && !across:
			m.open[c] = j
			return i
		}
	}
	m.open[c] = len(m.src)
	if across {
		return len(m.src)
	}
	return i
}

func (m *masker) tripleEnd(i int, c byte) int {
	for i < len(m.src) {
		switch {
		case m.src[i] == '\\':
			i += 2
		case m.src[i] == c && m.at(i, string([]byte{c, c, c})):
			return i + 3
		default:
			i++
		}
	}
	return len(m.src)
}

// hereDocument notes the here-document that an opener at i announces.
func (m *masker) hereDocument(i int) {
	j := i + len(m.lex.heredoc)
	for j < len(m.src) && (m.src[j] == '-' || m.src[j] == '~' || (m.lex.heredoc == "<<<" && m.src[j] == ' ')) {
		j++
	}
	if j < len(m.src) && (m.src[j] == '\'' || m.src[j] == '"') {
		j++
	}
	k := j
	for k < len(m.src) && isWord(m.src[k]) && k-j < maxName {
		k++
	}
	if k == j || isDigit(m.src[j]) || m.docMissed > maxMissed {
		return
	}
	from := max(m.eol(k), m.docTo)
	if end := m.lineOf(from, m.src[j:k]); end >= 0 {
		if m.docFrom < i {
			m.docFrom = m.eol(k)
		}
		m.docTo = end
		return
	}
	m.docMissed++
}

// lineOf is the end of the next line that holds only word.
func (m *masker) lineOf(i int, word []byte) int {
	for i < len(m.src) {
		next := m.eol(i)
		line := bytes.TrimSpace(m.src[i:next])
		rest, ok := bytes.CutPrefix(line, word)
		if ok && len(rest) == 0 {
			return next
		}
		if ok && m.lex.heredoc == "<<<" && !isWord(rest[0]) { // PHP: code may follow
			return next - len(bytes.TrimLeft(m.src[i:next], " \t")) + len(word)
		}
		i = next + 1
	}
	return -1
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord says whether c can be part of a name; bytes of multi-byte runes can.
func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
