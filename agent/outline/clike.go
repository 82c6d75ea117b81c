package outline

import (
	"bytes"
	"strings"
)

// scanC scans C and its relatives: preprocessor lines first.
func scanC(f *file) {
	f.preprocess()
	scanBraces(f)
}

// preprocess records macros, blanks preprocessor lines out and, where the
// branches of an #if hold unequal numbers of braces, all but the first one.
func (f *file) preprocess() {
	p := preprocessor{file: f}
	for i := 0; i < len(f.starts); i++ {
		from, to := f.bounds(i)
		line := bytes.TrimLeft(f.code[from:to], " \t")
		if len(line) == 0 || line[0] != '#' {
			p.count(from, to)
			continue
		}
		last := i
		for last+1 < len(f.starts) && bytes.HasSuffix(bytes.TrimRight(f.code[from:to], " "), []byte(`\`)) {
			last++
			from, to = f.bounds(last)
		}
		p.directive(i, last, strings.TrimSpace(string(line[1:min(len(line), maxHeader)])))
		i = last
	}
}

type preprocessor struct {
	*file
	open []conditional
	over int
}

// conditional is an open #if.
type conditional struct {
	depth    int // braces of the current branch
	first    int // braces of the first branch
	branches int
	from     int // where the current branch begins
}

func (p *preprocessor) count(from, to int) {
	if len(p.open) == 0 {
		return
	}
	top := &p.open[len(p.open)-1]
	for _, c := range p.code[from:to] {
		switch c {
		case '{':
			top.depth++
		case '}':
			top.depth--
		}
	}
}

func (p *preprocessor) directive(from, to int, text string) {
	start, _ := p.bounds(from)
	_, end := p.bounds(to)
	p.wipe(start, end)
	word, rest, _ := strings.Cut(text, " ")
	switch {
	case word == "define":
		name := strings.TrimSpace(rest)
		if n := strings.IndexFunc(name, func(r rune) bool { return r < 0x80 && !isWord(byte(r&0x7f)) }); n >= 0 {
			name = name[:n]
		}
		p.add(Symbol{Name: name, Kind: KindMacro, Signature: p.signature(start, end), From: from + 1, To: to + 1})
	case strings.HasPrefix(word, "if"):
		if len(p.open) < maxDepth {
			p.open = append(p.open, conditional{from: end})
		} else {
			p.over++
		}
	case word == "else" || strings.HasPrefix(word, "elif"):
		p.branch(start, end)
	case strings.HasPrefix(word, "endif"):
		p.branch(start, end)
		if p.over > 0 {
			p.over--
		} else if n := len(p.open); n > 0 {
			first := p.open[n-1].first
			p.open = p.open[:n-1]
			if n > 1 {
				p.open[n-2].depth += first
			}
		}
	}
}

// branch ends the current branch and begins the next. A later branch is kept
// only if it and the first one are each balanced.
func (p *preprocessor) branch(start, end int) {
	if p.over > 0 || len(p.open) == 0 {
		return
	}
	top := &p.open[len(p.open)-1]
	if top.branches == 0 {
		top.first = top.depth
	} else if top.depth != 0 || top.first != 0 {
		p.wipe(top.from, start)
	}
	top.branches++
	top.depth, top.from = 0, end
}

func (p *preprocessor) wipe(from, to int) {
	for i := from; i < to; i++ {
		if c := p.code[i]; c != '\n' && c != '\r' {
			p.code[i] = ' '
		}
	}
}

// tagged is a struct, class, union or enum of C: a type when a block follows
// and it is neither a function that returns one nor a variable of it.
func (h *head) tagged(i int, kind Kind, at int) (decl, bool) {
	if h.end != '{' || h.first("=") >= 0 {
		return decl{}, false
	}
	name := ""
	j := i + 1
	for ; j < len(h.toks); j++ {
		t := h.tok(j)
		if n := h.ornament(j); n > j {
			j = n - 1
			continue
		}
		if t == ":" || t == "<" || t == "final" {
			break
		}
		if t == "(" || t == "*" || t == "&" {
			return decl{}, false
		}
		if _, word := h.b.lang.words[t]; isName(t) && !word {
			name = t
		}
	}
	if name == "" {
		return decl{room: roomType}, true
	}
	return decl{name: name, kind: kind, at: at, room: roomType}, true
}

// bare is a function without a word: a name in front of the first bracket.
func (h *head) bare() decl {
	none := decl{room: h.b.inherited()}
	if h.b.top().room == roomType && h.end == '{' {
		none.room = roomBody
	}
	if h.tok(0) == "extern" && len(h.toks) == 1 {
		return decl{room: roomFile}
	}
	open := h.parameters()
	if eq := h.first("="); eq >= 0 && (open < 0 || eq < open) && h.tok(eq-1) != wordOperator && h.tok(0) != wordOperator {
		return h.initialised(eq, none)
	}
	if open < 0 {
		return h.property(none)
	}
	if open == 0 || !h.callable(open) {
		return none
	}
	d := decl{name: h.tok(open - 1), kind: KindFunction, at: h.toks[0].at, room: roomBody}
	h.qualify(&d, open)
	if !isName(strings.TrimLeft(d.name, "~")) && !strings.HasPrefix(d.name, wordOperator) {
		return none
	}
	return d
}

// parameters is the index of the first round bracket outside type arguments,
// or -1.
func (h *head) parameters() int {
	for i := 0; i < len(h.toks); i++ {
		switch h.tok(i) {
		case "(":
			return h.pastMacro(i)
		case "<":
			if i > 0 && isName(h.tok(i-1)) && h.tok(i-1) != wordOperator {
				i = h.pastBrackets(i) - 1
			}
		case wordOperator:
			i++ // its sign may be a bracket
		}
	}
	return -1
}

// pastMacro is the bracket of the function that follows a macro with arguments
// ("PRINTF(1, 2) name("), else the one at i.
func (h *head) pastMacro(i int) int {
	macro := h.tok(i - 1)
	next := h.pastBrackets(i)
	if macro == strings.ToUpper(macro) && isName(h.tok(next)) && h.tok(next+1) == "(" {
		return next + 1
	}
	return i
}

// qualify reads "Type::name", "~name" and "operator+" in front of the bracket.
func (h *head) qualify(d *decl, open int) {
	i := open - 1
	for k := max(0, i-4); k <= i; k++ {
		if h.tok(k) == wordOperator {
			d.name = wordOperator
			for j := k + 1; j < open; j++ {
				d.name += h.tok(j)
			}
			i = k
		}
	}
	if h.tok(i-1) == "~" {
		d.name = "~" + d.name
		i--
	}
	if h.tok(i-1) == "::" && isName(h.tok(i-2)) {
		d.parent, d.kind = h.tok(i-2), KindMethod
	} else if h.tok(i-1) == "::" && h.tok(i-2) == ">" {
		for k := i - 2; k > 0; k-- {
			if h.tok(k) == "<" {
				d.parent, d.kind = h.tok(k-1), KindMethod
				break
			}
		}
	}
}

// callable says whether the bracket at open can be a function's parameters.
func (h *head) callable(open int) bool {
	switch h.tok(open - 1) {
	case "if", "for", "while", "switch", "catch", "return", "sizeof", "foreach", "static_assert", "defined":
		return false
	}
	switch h.tok(0) {
	case "return", "new", "throw", "else", "goto", "case", "delete", "using", "friend":
		return false
	}
	if h.end == '{' {
		return true
	}
	// A prototype: only as a member, or at the top of a header.
	prototype := h.b.top().room == roomType || (h.b.lang.style.cLike && isHeader(h.b.name))
	return prototype && open >= 2 || (prototype && h.tok(open-1) == h.b.top().name && h.end == ';')
}

func isHeader(name string) bool {
	return strings.HasSuffix(name, ".h") || strings.HasSuffix(name, ".hpp") || strings.HasSuffix(name, ".hh") || strings.HasSuffix(name, ".hxx")
}

// initialised is a variable with a value; those at the top of a C file count.
func (h *head) initialised(eq int, none decl) decl {
	none.room = roomBody
	if !h.b.lang.style.cLike || h.b.top().room != roomFile || eq < 2 {
		return none
	}
	i := eq - 1
	for i > 0 && h.tok(i) != "[" && !isName(h.tok(i)) {
		i--
	}
	if open := h.first("["); open > 0 && open < eq {
		i = open - 1
	}
	if !isName(h.tok(i)) {
		return none
	}
	return decl{name: h.tok(i), kind: KindVariable, at: h.toks[0].at, room: roomBody}
}

// property is a C# property: type and name in front of a block.
func (h *head) property(none decl) decl {
	n := len(h.toks)
	if h.b.lang.name != "csharp" || h.end != '{' || h.b.top().room != roomType || n < 2 || !isName(h.tok(n-1)) {
		return none
	}
	return decl{name: h.tok(n - 1), kind: KindVariable, at: h.toks[0].at, room: roomBody}
}
