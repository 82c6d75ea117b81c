package outline

// plain applies the rules of the brace languages other than JavaScript.
func (h *head) plain() decl {
	h.strip()
	if len(h.toks) == 0 {
		return decl{room: h.b.inherited()}
	}
	if h.b.lang.style.cLike && h.tok(0) == "typedef" {
		return h.typedef()
	}
	if d, ok := h.worded(); ok {
		return d
	}
	if h.b.lang.style.bare {
		return h.bare()
	}
	room := h.b.inherited()
	if h.tok(0) == "<" { // what follows <?php
		room = roomFile
	}
	return decl{room: room}
}

// typedef is the C declaration of a type's name.
func (h *head) typedef() decl {
	at := h.toks[0].at
	if h.end == '{' {
		return decl{name: h.tag(), kind: h.typedefKind(), at: at, room: roomType, typedef: true}
	}
	name := ""
	for i, t := range h.toks {
		if t.text == "(" {
			if h.tok(i+1) == "*" && isName(h.tok(i+2)) {
				name = h.tok(i + 2)
			}
			break
		}
		if t.text == "[" {
			break
		}
		if isName(t.text) {
			name = t.text
		}
	}
	return decl{name: name, kind: KindType, at: at}
}

// tag is the name of the struct in a typedef, or a stand-in until the name
// after the brace is known.
func (h *head) tag() string {
	if n := h.tok(2); isName(n) {
		return n
	}
	return nameless
}

func (h *head) typedefKind() Kind {
	if k, ok := h.b.lang.words[h.tok(1)]; ok {
		return k
	}
	return KindType
}

// worded looks for a declaring word in front of any bracket or "=".
func (h *head) worded() (decl, bool) {
	for i, t := range h.toks {
		if t.text == "(" || t.text == "=" || t.text == "{" || t.text == "." {
			if t.text == "(" && i > 0 && (h.tok(i-1) == "pub" || h.tok(i-1) == "private" || h.tok(i-1) == "internal") {
				continue // pub(crate), private(set)
			}
			if i > 0 && (h.tok(i-1) == ")" || h.tok(i-1) == "crate") {
				continue
			}
			return decl{}, false
		}
		kind, ok := h.b.lang.words[t.text]
		if !ok || (h.b.lang.name == "rust" && t.text == "const" && h.tok(i+1) == "fn") {
			continue
		}
		if d, ok := h.declares(i, kind); ok {
			return d, true
		}
	}
	return decl{}, false
}

// declares reads the declaration whose word is token i.
func (h *head) declares(i int, kind Kind) (decl, bool) {
	at := h.toks[0].at
	switch word := h.tok(i); {
	case kind == KindFunction:
		return h.function(i, at), true
	case word == "impl" || word == "extension":
		return decl{name: h.extended(i), room: roomType}, true
	case word == "init":
		return decl{name: "init", kind: kind, at: at, room: roomBody}, h.inside == roomType && (h.tok(i+1) == "(" || h.tok(i+1) == "?" || h.tok(i+1) == "<")
	case word == "macro_rules":
		return decl{name: h.tok(i + 2), kind: kind, at: at, room: roomBody}, true
	case word == "delegate":
		return h.named(h.nameBefore("("), kind, at)
	case word == "rpc":
		return decl{name: h.tok(i + 1), kind: kind, at: at, room: roomBody}, true
	case word == "using":
		return h.named(h.nameBefore("="), kind, at)
	case h.b.lang.style.cLike && kind != KindModule:
		return h.tagged(i, kind, at)
	case kind == KindModule && h.tok(i+1) == "object", word == "enum" && h.tok(i+1) == "class":
		return decl{}, false // package object, enum class: the next word says it
	}
	return h.simple(i, kind, at)
}

// simple is a word with its name, perhaps qualified.
func (h *head) simple(i int, kind Kind, at int) (decl, bool) {
	word := h.tok(i)
	name := h.tok(i + 1)
	switch {
	case word == "static" && name == "mut":
		name = h.tok(i + 2)
	case word == "const" && h.b.lang.name == "php":
		name = h.nameBefore("=") // a type may stand between
	}
	if kind == KindModule {
		name = h.path(i + 1)
	}
	if word == "object" && !isName(name) { // Kotlin's nameless companion
		return decl{name: "Companion", kind: kind, at: at, room: roomType}, true
	}
	if !isName(name) || (h.end == ';' && word == "mod") {
		return decl{}, false
	}
	if kind == KindClass && h.hasBefore(i, "enum") {
		kind = KindEnum
	}
	room := roomType
	if kind == KindConstant || kind == KindVariable || kind == KindMacro {
		room = roomBody
	}
	if (word == "package" || word == "namespace") && h.end == ';' {
		return decl{}, false
	}
	return decl{name: name, kind: kind, at: at, room: room}, true
}

func (h *head) hasBefore(i int, word string) bool {
	for j := range i {
		if h.tok(j) == word {
			return true
		}
	}
	return false
}

// path is a name with its "." and "::" parts.
func (h *head) path(i int) string {
	name := ""
	for isName(h.tok(i)) && len(name) < maxName {
		name += h.tok(i)
		i++
		if sep := h.tok(i); sep == "." || sep == "::" || sep == `\` {
			name += sep
			i++
			continue
		}
		break
	}
	return name
}

func (h *head) named(name string, kind Kind, at int) (decl, bool) {
	return decl{name: name, kind: kind, at: at, room: roomType}, isName(name)
}

// nameBefore is the name in front of the first such sign.
func (h *head) nameBefore(sign string) string {
	if i := h.first(sign); i > 0 {
		return h.tok(i - 1)
	}
	return ""
}

// function is a function with a word: its name is in front of its parameters.
func (h *head) function(i, at int) decl {
	d := decl{kind: KindFunction, at: at, room: roomBody}
	j := i + 1
	if h.tok(j) == "&" { // PHP's return by reference
		j++
	}
	if h.tok(j) == "<" { // Kotlin's type parameters
		j = h.pastBrackets(j)
	}
	if h.tok(j) == "(" && h.b.lang.name == "go" {
		n := h.pastBrackets(j)
		d.parent, d.kind = h.receiver(j, n), KindMethod
		j = n
	}
	for h.b.lang.name == "kotlin" && isName(h.tok(j)) {
		k := j + 1
		if h.tok(k) == "<" {
			k = h.pastBrackets(k)
		}
		if h.tok(k) == "?" {
			k++
		}
		if h.tok(k) != "." {
			break
		}
		d.parent, d.kind = h.tok(j), KindMethod
		j = k + 1
	}
	if isName(h.tok(j)) {
		d.name = h.tok(j)
	} else if h.b.lang.name == "swift" || h.b.lang.name == "scala" {
		for k := j; k < len(h.toks) && h.tok(k) != "(" && h.tok(k) != "[" && !isName(h.tok(k)); k++ {
			d.name += h.tok(k) // an operator
		}
	}
	if d.name == "" {
		d.kind = ""
	}
	return d
}

// receiver is the type in a Go receiver.
func (h *head) receiver(from, to int) string {
	name := ""
	for i := from; i < to && h.tok(i) != "["; i++ {
		if isName(h.tok(i)) {
			name = h.tok(i)
		}
	}
	return name
}

// extended is the type that an impl or extension block adds to.
func (h *head) extended(i int) string {
	j := i + 1
	if h.tok(j) == "<" {
		j = h.pastBrackets(j)
	}
	name := ""
	for ; j < len(h.toks); j++ {
		switch t := h.tok(j); {
		case t == "for":
			name = ""
		case t == "where" || t == ":":
			return name
		case t == "<":
			j = h.pastBrackets(j) - 1
		case isName(t) && t != "dyn" && t != "mut":
			name = t
		}
	}
	return name
}
