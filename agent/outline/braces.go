package outline

import "strings"

// room is what a pair of braces holds.
type room int

const (
	roomFile   room = iota // the file, or a block that declares as the file does
	roomType               // members of a type or namespace
	roomObject             // an object literal of JavaScript
	roomBody               // statements
)

// scope is an open brace.
type scope struct {
	room   room
	symbol int    // index of its symbol, or -1
	name   string // what its members have as parent
	parens int    // open brackets outside it
	// typedef says that a name follows the closing brace.
	typedef bool
}

// decl is what a head declares. An empty kind declares nothing by itself but
// may name a scope (an impl or extension block).
type decl struct {
	name, parent string
	kind         Kind
	at           int // offset of the declaration in the file
	room         room
	typedef      bool
}

// braces scans a language whose blocks are in braces: the text between two
// boundaries ("{", "}", ";" and some line ends) is the head of what follows.
type braces struct {
	*file
	scopes  []scope
	over    int // open braces beyond maxDepth
	parens  int
	head    int // offset where the head begins, or -1
	typedef int // index of the symbol that waits for its name, or -1
	next    int // memo of nextWord
}

func scanBraces(f *file) {
	b := &braces{file: f, scopes: []scope{{room: roomFile, symbol: -1}}, head: -1, typedef: -1}
	for i, c := range f.code {
		b.byte(i, c)
	}
	b.statement(len(f.code), '\n')
	for _, s := range b.scopes {
		b.end(s, len(f.starts))
	}
}

func (b *braces) byte(i int, c byte) {
	switch c {
	case '{':
		b.begin(i)
	case '}':
		b.close(i)
	case '(', '[':
		b.start(i)
		b.parens++
	case ')', ']':
		b.start(i)
		b.parens = max(0, b.parens-1)
	case ';':
		if b.parens == 0 || b.lang.style.newlines {
			b.statement(i, ';')
			b.parens = 0
		}
	case ',':
		b.start(i)
		if b.parens == 0 && b.top().room == roomObject {
			b.head = -1
		}
	case '\n':
		if b.head >= 0 && b.parens == 0 && b.lang.style.newlines && b.ends(i) {
			b.statement(i, '\n')
		}
	case ' ', '\t', '\r', '\f':
	default:
		b.start(i)
	}
}

func (b *braces) start(i int) {
	if b.head < 0 {
		b.head = i
	}
}

func (b *braces) top() *scope { return &b.scopes[len(b.scopes)-1] }

// text is the head up to end, cut.
func (b *braces) text(end int) string {
	return string(b.code[b.head:min(end, b.head+maxHeader)])
}

func (b *braces) begin(i int) {
	if len(b.scopes) >= maxDepth {
		b.over++
		return
	}
	d := decl{room: b.inherited()}
	if b.head >= 0 || b.lang.style.script {
		d = b.declared(i, '{')
	}
	s := scope{room: d.room, symbol: -1, name: d.name, parens: b.parens, typedef: d.typedef}
	if d.kind != "" {
		s.symbol = b.record(d, i)
	}
	if d.kind == "" && d.name == "" {
		s.name = b.top().name
	}
	b.scopes = append(b.scopes, s)
	b.parens, b.head, b.typedef = 0, -1, -1
}

// inherited is the room of a block that declares nothing.
func (b *braces) inherited() room {
	if b.top().room == roomFile {
		return roomFile
	}
	return roomBody
}

func (b *braces) close(i int) {
	if b.over > 0 {
		b.over--
		return
	}
	if b.top().room != roomBody {
		b.statement(i, '}')
	}
	b.head = -1
	if len(b.scopes) == 1 {
		return
	}
	s := *b.top()
	b.scopes = b.scopes[:len(b.scopes)-1]
	b.end(s, b.line(i))
	b.parens = s.parens
	if s.typedef {
		b.typedef = s.symbol
		b.head = i + 1
	}
}

func (b *braces) end(s scope, line int) {
	if s.symbol >= 0 {
		b.out[s.symbol].To = max(line, b.out[s.symbol].From)
	}
}

// statement looks at a head that no block follows.
func (b *braces) statement(i int, end byte) {
	if b.head < 0 {
		return
	}
	if b.typedef >= 0 {
		b.nameTypedef(i)
	} else if b.top().room != roomBody || b.lang.style.script {
		if d := b.declared(i, end); d.kind != "" {
			b.record(d, i)
		}
	}
	b.head, b.typedef = -1, -1
}

// nameTypedef gives "typedef struct {…} name;" its name; with a tag it has two.
func (b *braces) nameTypedef(i int) {
	name := ""
	for _, t := range tokens(b.text(i)) {
		if isName(t.text) {
			name = t.text
		}
	}
	s := &b.out[b.typedef]
	s.To = b.line(i)
	switch {
	case name == "":
	case s.Name == nameless:
		s.Name = name
	case s.Name != name:
		b.add(Symbol{Name: name, Kind: KindType, Parent: s.Parent, Signature: s.Signature, From: s.From, To: s.To})
	}
}

// nameless stands for the name of a struct until it is known.
const nameless = "(anonymous)"

// declared asks the rules of the language what the head declares.
func (b *braces) declared(i int, end byte) decl {
	text := ""
	if b.head >= 0 {
		text = b.text(i)
	}
	h := &head{b: b, toks: tokens(text), end: end, inside: b.top().room}
	var d decl
	switch {
	case b.lang.style.script:
		d = h.script()
	case b.top().room == roomBody:
		return decl{room: roomBody}
	default:
		d = h.plain()
	}
	if d.kind == KindFunction && b.top().room == roomType && b.typeScope() {
		d.kind = KindMethod
	}
	d.at += b.head
	return d
}

// typeScope says whether functions of the scope are methods.
func (b *braces) typeScope() bool {
	s := b.top()
	if s.symbol < 0 {
		return s.name != ""
	}
	return b.out[s.symbol].Kind != KindModule || b.lang.name == "kotlin" || b.lang.name == "scala"
}

func (b *braces) record(d decl, end int) int {
	if d.parent == "" {
		d.parent = b.top().name
	}
	return b.add(Symbol{
		Name: d.name, Kind: d.kind, Parent: d.parent, Signature: b.signature(d.at, end),
		From: b.line(d.at), To: b.line(max(d.at, end-1)),
	})
}

// ends says whether a line end at i ends the head: neither the line nor the
// next one looks as if it went on.
func (b *braces) ends(i int) bool {
	j := i - 1
	for j > b.head && (b.code[j] == ' ' || b.code[j] == '\t' || b.code[j] == '\r') {
		j--
	}
	if strings.IndexByte("=,<&|+-*/:.?@", b.code[j]) >= 0 {
		return false
	}
	b.next = max(b.next, i)
	for b.next < len(b.code) && strings.IndexByte(" \t\r\n\f", b.code[b.next]) >= 0 {
		b.next++
	}
	if b.next >= len(b.code) {
		return true
	}
	if strings.IndexByte("{:.=?&|<>+-,)", b.code[b.next]) >= 0 {
		return false
	}
	k := b.next
	for k < len(b.code) && k-b.next < maxTag && isWord(b.code[k]) {
		k++
	}
	switch string(b.code[b.next:k]) {
	case "extends", "implements", "with", "where", "throws", "rethrows", "derives":
		return false
	}
	return true
}
