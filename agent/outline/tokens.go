package outline

// token is a name or one sign of a head.
type token struct {
	text string
	at   int // offset in the head
}

// maxTokens bounds what is looked at of one head.
const maxTokens = 300

// tokens cuts a head into names and signs; "::", "->" and "=>" are one sign.
func tokens(s string) []token {
	var out []token
	for i := 0; i < len(s) && len(out) < maxTokens; {
		j := i + 1
		switch c := s[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			i = j
			continue
		case isWord(c):
			for j < len(s) && isWord(s[j]) {
				j++
			}
		case j < len(s) && (c == ':' && s[j] == ':' || (c == '-' || c == '=') && s[j] == '>'):
			j++
		}
		out = append(out, token{s[i:j], i})
		i = j
	}
	return out
}

// isName says whether a token is a name (and no number).
func isName(s string) bool { return s != "" && isWord(s[0]) && !isDigit(s[0]) }

// head is the head of a possible declaration.
type head struct {
	b      *braces
	toks   []token
	end    byte // what ends it: '{', '}', ';' or a line end
	inside room
}

// tok is the text of token i, empty beyond the ends.
func (h *head) tok(i int) string {
	if i < 0 || i >= len(h.toks) {
		return ""
	}
	return h.toks[i].text
}

// pastBrackets is the index after the brackets that open at i.
func (h *head) pastBrackets(i int) int {
	depth := 0
	for ; i < len(h.toks); i++ {
		switch h.tok(i) {
		case "(", "[", "<":
			depth++
		case ")", "]", ">":
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return i
}

// strip drops annotations, attributes and template parameters in front.
func (h *head) strip() {
	i := 0
	for i < len(h.toks) {
		n := h.ornament(i)
		if n == i {
			break
		}
		i = n
	}
	h.toks = h.toks[min(i, len(h.toks)):]
}

// ornament is the index after the annotation at i, or i.
func (h *head) ornament(i int) int {
	switch h.tok(i) {
	case "@":
		if h.tok(i+1) == wordInterface {
			return i + 1
		}
		i += 2
		for h.tok(i) == "." || h.tok(i) == ":" {
			i += 2
		}
		if h.tok(i) == "(" {
			i = h.pastBrackets(i)
		}
	case "#":
		if h.tok(i+1) == "!" {
			i++
		}
		if h.tok(i+1) == "[" {
			return h.pastBrackets(i + 1)
		}
	case "[":
		if !h.b.lang.style.script { // there it is a computed name
			return h.pastBrackets(i)
		}
	case "template":
		if h.tok(i+1) == "<" {
			return h.pastBrackets(i + 1)
		}
	case "__attribute__", "__declspec", "alignas", "__extension__":
		if h.tok(i+1) == "(" {
			return h.pastBrackets(i + 1)
		}
		return i + 1
	case "public", "private", "protected", "signals", "slots", "Q_SIGNALS":
		if h.tok(i+1) == ":" && h.b.lang.style.cLike {
			return i + 2
		}
	}
	return i
}

// first is the index of the first token with this text outside brackets, or -1.
func (h *head) first(text string) int {
	depth := 0
	for i, t := range h.toks {
		if t.text == text && depth == 0 {
			return i
		}
		switch t.text {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		}
	}
	return -1
}
