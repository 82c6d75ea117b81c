package outline

// script applies the rules of JavaScript and TypeScript.
func (h *head) script() decl {
	h.strip()
	h.modifiers()
	if d, ok := h.scriptWord(); ok {
		return d
	}
	if d, ok := h.assigned(); ok {
		return d
	}
	if d, ok := h.member(); ok {
		return d
	}
	return decl{room: h.scriptRoom()}
}

// modifiers drops what may stand in front of a declaration.
func (h *head) modifiers() {
	for len(h.toks) > 1 {
		switch h.tok(0) {
		case "export", "default", "declare", "abstract", "async", "public", "private", "protected", "static", "readonly", "override", "get", "set", "*", "accessor":
			if next := h.tok(1); next == "(" || next == "=" || next == ":" || next == "." {
				return // it is a name
			}
			h.toks = h.toks[1:]
		default:
			return
		}
	}
}

// scriptRoom is the room of a block that declares nothing by itself.
func (h *head) scriptRoom() room {
	n := len(h.toks)
	if n == 0 {
		if h.b.parens > 0 || h.inside == roomObject {
			return roomObject
		}
		return h.b.inherited()
	}
	switch h.tok(n - 1) {
	case "=", "(", ",", ":", "[", "return", "default", "?", "|", "&":
		return roomObject
	case "=>", ")":
		return roomBody
	}
	return h.b.inherited()
}

// scriptWord is a declaration that begins with its word, or a named function
// expression at the end of the head.
func (h *head) scriptWord() (decl, bool) {
	word := h.tok(0)
	kind, ok := h.b.lang.words[word]
	if word == "const" && h.tok(1) == "enum" {
		h.toks = h.toks[1:]
		kind = KindEnum
	}
	at := 0
	if len(h.toks) > 0 {
		at = h.toks[0].at
	}
	switch {
	case !ok:
		return h.expressionName()
	case kind == KindFunction:
		return h.scriptFunction(0)
	case kind == KindConstant || kind == KindVariable:
		return h.binding(kind, at)
	case word == "type":
		return decl{name: h.tok(1), kind: kind, at: at, room: roomBody}, isName(h.tok(1)) && (h.tok(2) == "=" || h.tok(2) == "<")
	case kind == KindModule:
		return decl{name: h.path(1), kind: kind, at: at, room: roomFile}, isName(h.tok(1)) && h.end == '{'
	}
	return decl{name: h.tok(1), kind: kind, at: at, room: roomType}, isName(h.tok(1)) && h.tok(1) != "extends" && h.end == '{'
}

func (h *head) scriptFunction(i int) (decl, bool) {
	j := i + 1
	if h.tok(j) == "*" {
		j++
	}
	if !isName(h.tok(j)) {
		return decl{}, false
	}
	return decl{name: h.tok(j), kind: KindFunction, at: h.toks[i].at, room: roomBody}, h.end == '{' || h.inside != roomBody
}

// expressionName is "… function name(…) {" or "… class Name {" inside an
// expression.
func (h *head) expressionName() (decl, bool) {
	if h.end != '{' {
		return decl{}, false
	}
	for i := len(h.toks) - 1; i > 0; i-- {
		switch h.tok(i) {
		case wordFunction:
			if h.namedByTarget() {
				return decl{}, false
			}
			return h.scriptFunction(i)
		case "class":
			named := isName(h.tok(i+1)) && h.tok(i+1) != "extends" && !h.namedByTarget()
			return decl{name: h.tok(i + 1), kind: KindClass, at: h.toks[i].at, room: roomType}, named
		}
	}
	return decl{}, false
}

// namedByTarget says whether the value of an assignment goes by the name that
// it is assigned to.
func (h *head) namedByTarget() bool {
	eq := h.first("=")
	return eq > 0 && h.tok(eq-1) != "exports"
}

// binding is const, let or var; inside functions only those that hold one.
func (h *head) binding(kind Kind, at int) (decl, bool) {
	d := decl{name: h.tok(1), kind: kind, at: at, room: h.scriptRoom()}
	if k, room, ok := h.valueKind(h.first("=") + 1); ok {
		d.kind, d.room = k, room
	} else if h.inside == roomBody {
		d.kind, d.name = "", ""
		return d, true
	}
	return d, isName(d.name)
}

// valueKind says whether the value that begins at i is a function or a class.
func (h *head) valueKind(i int) (Kind, room, bool) {
	if i <= 0 {
		return "", roomBody, false
	}
	if h.tok(i) == "async" {
		i++
	}
	switch {
	case h.tok(i) == wordFunction:
		return KindFunction, roomBody, true
	case h.tok(i) == "class":
		return KindClass, roomType, true
	case h.tok(i) == "(" || h.tok(i) == "<" || h.tok(i+1) == "=>":
		if h.tok(i) == "<" {
			i = h.pastBrackets(i)
		}
		if h.tok(i) == "(" {
			i = h.pastBrackets(i) - 1
		}
		if h.tok(i+1) == "=>" || (h.tok(i+1) == ":" && h.first("=>") > i) {
			return KindFunction, roomBody, true
		}
	}
	return "", roomBody, false
}

// assigned is "a.b.c = function …", "exports.x = class …" or a class field that
// holds a function.
func (h *head) assigned() (decl, bool) {
	eq := h.first("=")
	if eq < 1 || !isName(h.tok(eq-1)) && h.inside != roomType {
		return decl{}, false
	}
	kind, room, ok := h.valueKind(eq + 1)
	name := eq - 1
	if h.inside == roomType { // a field, perhaps with a type
		name = 0
	}
	if !ok || !isName(h.tok(name)) {
		return decl{}, false
	}
	d := decl{name: h.tok(name), kind: kind, at: h.toks[0].at, room: room}
	if h.tok(name-1) == "." {
		d.parent = h.tok(name - 2)
		if d.parent == "prototype" && h.tok(name-3) == "." {
			d.parent, d.kind = h.tok(name-4), KindMethod
		}
	} else if h.inside != roomType {
		return decl{room: room}, h.inside == roomBody
	}
	return d, true
}

// member is a method of a class, an interface or an object literal.
func (h *head) member() (decl, bool) {
	if h.inside != roomType && h.inside != roomObject || len(h.toks) < 2 {
		return decl{}, false
	}
	i := 0
	name := h.tok(0)
	switch {
	case name == "#":
		i, name = 1, h.tok(1)
	case name == "[" && h.tok(2) == "]": // [name](…)
		i, name = 2, h.tok(1)
	}
	switch name {
	case "if", "for", "while", "switch", "catch", "return", wordFunction, "new", "super", "await":
		return decl{}, false
	}
	d := decl{name: name, kind: KindMethod, at: h.toks[0].at, room: roomBody}
	switch h.tok(i + 1) {
	case "(":
		return d, isName(name) && (h.end == '{' || h.inside == roomType)
	case "<":
		return d, isName(name) && h.tok(h.pastBrackets(i+1)) == "("
	case "?":
		return d, isName(name) && h.inside == roomType && h.tok(i+2) == "("
	case ":":
		_, room, ok := h.valueKind(i + 2)
		d.room = room
		return d, ok && h.inside == roomObject && isName(name)
	}
	return decl{}, false
}
