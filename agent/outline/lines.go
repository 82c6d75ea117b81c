package outline

import "strings"

// indented scans a language line by line and keeps the declarations whose
// blocks are open, by indentation.
type indented struct {
	*file
	open []opened
}

// opened is a declaration whose block may still go on.
type opened struct {
	indent int
	symbol int
	name   string
	kind   Kind
}

// width is the indentation of a line; a tab goes to the next multiple of 8.
func width(line string) int {
	n := 0
	for i := range len(line) {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}

// shut ends the blocks that a line of this indentation is not part of; last is
// the last line with code.
func (x *indented) shut(indent, last int) {
	for n := len(x.open); n > 0 && x.open[n-1].indent >= indent; n = len(x.open) {
		x.finish(x.open[n-1], last)
		x.open = x.open[:n-1]
	}
}

func (x *indented) finish(o opened, last int) {
	if o.symbol >= 0 {
		x.out[o.symbol].To = max(last, x.out[o.symbol].From)
	}
}

func (x *indented) push(indent int, s Symbol) {
	if len(x.open) < maxDepth {
		x.open = append(x.open, opened{indent, x.add(s), s.Name, s.Kind})
	}
}

func (x *indented) parent() opened {
	if len(x.open) == 0 {
		return opened{indent: -1}
	}
	return x.open[len(x.open)-1]
}

// scanPython knows classes, functions and the variables of modules.
func scanPython(f *file) {
	x := &indented{file: f}
	last, parens := 0, 0
	for i := range f.starts {
		src, code := f.text(i)
		if strings.TrimSpace(code) == "" {
			if parens > 0 || strings.TrimSpace(src) != "" && !strings.HasPrefix(strings.TrimSpace(src), "#") {
				last = i + 1 // the inside of a string
			}
			continue
		}
		if parens == 0 {
			x.shut(width(code), last)
			x.python(i, code)
		}
		parens = max(0, parens+balance(code))
		last = i + 1
	}
	x.shut(-1, last)
}

// balance is how many brackets a line leaves open.
func balance(code string) int {
	n := 0
	for i := range len(code) {
		switch code[i] {
		case '(', '[', '{':
			n++
		case ')', ']', '}':
			n--
		}
	}
	return n
}

func (x *indented) python(i int, code string) {
	words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(code), "async "))
	s := Symbol{Parent: x.parent().name, From: i + 1}
	switch {
	case words[0] == "class" && len(words) > 1:
		s.Kind = KindClass
	case (words[0] == "def" || words[0] == "cdef" || words[0] == "cpdef") && len(words) > 1:
		s.Kind = KindFunction
		if x.parent().kind == KindClass {
			s.Kind = KindMethod
		}
	default:
		x.pythonVariable(i, code)
		return
	}
	s.Name = leadingName(words[1])
	s.Signature = x.pythonHead(i)
	x.push(width(code), s)
}

// pythonHead joins the lines of a declaration up to its colon.
func (x *indented) pythonHead(i int) string {
	from, to := x.bounds(i)
	depth := 0
	for j := i; j < len(x.starts) && j < i+40; j++ {
		_, code := x.text(j)
		_, to = x.bounds(j)
		if depth += balance(code); depth <= 0 {
			break
		}
	}
	return strings.TrimSuffix(x.signature(from, to), ":")
}

func (x *indented) pythonVariable(i int, code string) {
	name := leadingName(code)
	rest := strings.TrimSpace(code[len(name):])
	assigned := strings.HasPrefix(rest, "=") && !strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, ":") && strings.Contains(rest, "=")
	if name == "" || len(x.open) > 0 || !assigned {
		return
	}
	from, to := x.bounds(i)
	x.add(Symbol{Name: name, Kind: KindVariable, Signature: x.signature(from, to), From: i + 1})
}

// leadingName is the name that s begins with.
func leadingName(s string) string {
	n := 0
	for n < len(s) && isWord(s[n]) {
		n++
	}
	if n == 0 || isDigit(s[0]) {
		return ""
	}
	return s[:n]
}

// scanRuby knows modules, classes, methods and constants. A block ends at the
// "end" with the indentation of its first line.
func scanRuby(f *file) {
	x := &indented{file: f}
	last := 0
	for i := range f.starts {
		src, code := f.text(i)
		line := strings.TrimSpace(code)
		if line == "" {
			continue
		}
		x.shut(width(code)+1, last) // deeper blocks
		if o := x.parent(); o.indent == width(code) {
			x.open = x.open[:len(x.open)-1]
			if leadingName(line) == "end" {
				last = i + 1
			}
			x.finish(o, last)
		}
		x.ruby(i, src, line, width(code))
		last = i + 1
	}
	x.shut(-1, last)
}

func (x *indented) ruby(i int, src, line string, indent int) {
	s := Symbol{Parent: x.parent().name, From: i + 1, Signature: oneLine(src)}
	word := leadingName(line)
	rest := strings.TrimSpace(line[len(word):])
	switch word {
	case "private", "protected", "public", "module_function", "private_class_method":
		if strings.HasPrefix(rest, "def ") {
			word, rest = "def", strings.TrimSpace(rest[4:])
		}
	}
	name := rest
	if n := strings.IndexAny(name, " (;<"); n > 0 {
		name = name[:n]
	}
	switch word {
	case "class", "module":
		s.Kind = KindClass
		if word == "module" {
			s.Kind = KindModule
		}
		if strings.HasPrefix(rest, "<<") || leadingName(name) == "" {
			return
		}
	case "def":
		s.Kind = KindMethod
		name = name[strings.LastIndexByte(name, '.')+1:]
	default:
		if word == "" || word[0] < 'A' || word[0] > 'Z' || !strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "==") {
			return
		}
		s.Name, s.Kind = word, KindConstant
		x.add(s)
		return
	}
	s.Name = name
	if strings.HasSuffix(line, "; end") || strings.HasSuffix(line, ";end") || strings.Contains(rest, ") = ") {
		x.add(s)
		return
	}
	x.push(indent, s)
}

// scanShell knows functions; one ends at the brace with its indentation.
func scanShell(f *file) {
	x := &indented{file: f}
	for i := range f.starts {
		src, code := f.text(i)
		line := strings.TrimSpace(code)
		if o := x.parent(); o.symbol >= 0 && len(x.open) > 0 && strings.HasPrefix(line, "}") && width(code) == o.indent {
			x.finish(o, i+1)
			x.open = x.open[:len(x.open)-1]
			continue
		}
		name := shellFunction(line)
		if name == "" {
			continue
		}
		s := Symbol{Name: name, Kind: KindFunction, Signature: oneLine(src), From: i + 1}
		if strings.HasSuffix(line, "}") {
			x.add(s)
			continue
		}
		x.shut(width(code), i)
		x.push(width(code), s)
	}
	x.shut(-1, len(f.starts))
}

// shellFunction is the name in "name() …" or "function name …".
func shellFunction(line string) string {
	rest, word := strings.CutPrefix(line, "function ")
	rest = strings.TrimSpace(rest)
	n := 0
	for n < len(rest) && (isWord(rest[n]) && rest[n] != '$' || strings.IndexByte("-.:+@", rest[n]) >= 0) {
		n++
	}
	after := strings.TrimSpace(rest[n:])
	if n == 0 || isDigit(rest[0]) {
		return ""
	}
	if after, ok := strings.CutPrefix(after, "("); ok && strings.HasPrefix(strings.TrimSpace(after), ")") {
		return rest[:n]
	}
	if word && (after == "" || after[0] == '{') {
		return rest[:n]
	}
	return ""
}
