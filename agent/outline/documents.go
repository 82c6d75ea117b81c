package outline

import "strings"

// scanMake knows targets and define blocks. Special targets (.PHONY) and
// patterns with variables in their names are left out.
func scanMake(f *file) {
	first := len(f.out) // of the targets of the current rule
	for i := range f.starts {
		_, code := f.text(i)
		if strings.HasPrefix(code, "\t") {
			for k := first; k < len(f.out); k++ {
				f.out[k].To = i + 1
			}
			continue
		}
		if strings.TrimSpace(code) == "" {
			continue
		}
		if name, ok := strings.CutPrefix(code, "define "); ok {
			f.add(Symbol{Name: strings.TrimSpace(strings.TrimRight(name, "=: ")), Kind: KindMacro, Signature: oneLine(code), From: i + 1})
			first = len(f.out)
			continue
		}
		first = len(f.out)
		names, rest, ok := strings.Cut(code, ":")
		if !ok || strings.HasPrefix(strings.TrimLeft(rest, ":"), "=") || strings.ContainsAny(names, "=\"") || strings.HasPrefix(code, " ") {
			continue
		}
		for _, name := range strings.Fields(names) {
			if name[0] != '.' && !strings.Contains(name, "$") {
				f.add(Symbol{Name: name, Kind: KindTarget, Signature: oneLine(code), From: i + 1})
			}
		}
	}
}

// scanMarkdown knows headings; one reaches to the next of its level or above.
func scanMarkdown(f *file) {
	m := &markdown{indented: indented{file: f}}
	previous := ""
	for i := range f.starts {
		line, _ := f.text(i)
		previous = m.line(i, line, previous)
	}
	m.shut(0, len(f.starts))
}

type markdown struct {
	indented
	fence string // what closes the code block, "" outside
}

// line looks at one line and returns it if it may be the text of a heading
// that the next line underlines.
func (m *markdown) line(i int, line, previous string) string {
	trimmed := strings.TrimSpace(line)
	if m.fence != "" {
		if strings.HasPrefix(trimmed, m.fence) && strings.Trim(trimmed, m.fence[:1]) == "" {
			m.fence = ""
		}
		return ""
	}
	if strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
		m.fence = trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, trimmed[:1]))]
		return ""
	}
	level := len(trimmed) - len(strings.TrimLeft(trimmed, "#"))
	switch {
	case strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t"):
		return ""
	case level > 0 && level <= 6 && (len(trimmed) == level || trimmed[level] == ' ' || trimmed[level] == '\t'):
		m.heading(i, level, strings.TrimSpace(strings.TrimRight(trimmed[level:], "# ")))
		return ""
	case previous != "" && trimmed != "" && (strings.Trim(trimmed, "=") == "" || len(trimmed) > 1 && strings.Trim(trimmed, "-") == ""):
		level = 1
		if trimmed[0] == '-' {
			level = 2
		}
		m.heading(i-1, level, previous)
		return ""
	}
	return trimmed
}

func (m *markdown) heading(i, level int, text string) {
	m.shut(level, i)
	m.push(level, Symbol{
		Name: oneLine(text), Kind: KindHeading, Parent: m.parent().name,
		Signature: strings.Repeat("#", level) + " " + oneLine(text), From: i + 1,
	})
}

// scanSQL knows what CREATE makes; a statement ends at its semicolon.
func scanSQL(f *file) {
	start := -1
	for i, c := range f.code {
		switch {
		case c == ';' && start >= 0:
			f.create(start, i)
			start = -1
		case start < 0 && c > ' ' && c != ';':
			start = i
		}
	}
	if start >= 0 {
		f.create(start, len(f.code)-1)
	}
}

func (f *file) create(from, to int) {
	head := string(f.code[from:min(to, from+maxHeader)])
	words := strings.Fields(strings.ReplaceAll(head, "(", " ( "))
	if len(words) < 3 || !strings.EqualFold(words[0], "create") {
		return
	}
	for i, w := range words[1:min(len(words)-1, 8)] {
		kind := sqlKind(w)
		if kind == "" {
			continue
		}
		rest := words[i+2:]
		for len(rest) > 1 && isSQLNoise(rest[0]) {
			rest = rest[1:]
		}
		name := strings.NewReplacer(`"`, "", "`", "", "[", "", "]", "").Replace(rest[0])
		parent := ""
		if dot := strings.LastIndexByte(name, '.'); dot >= 0 {
			parent, name = name[:dot], name[dot+1:]
		}
		f.add(Symbol{Name: name, Kind: kind, Parent: parent, Signature: f.signature(from, to), From: f.line(from), To: f.line(to)})
		return
	}
}

func sqlKind(word string) Kind {
	switch strings.ToLower(word) {
	case "table", "view", "index", "trigger", "sequence", "policy", "role", "extension":
		return KindTable
	case wordFunction, "procedure", "aggregate":
		return KindFunction
	case "type", "domain":
		return KindType
	case "schema", "database", "package":
		return KindModule
	}
	return ""
}

func isSQLNoise(word string) bool {
	switch strings.ToLower(word) {
	case "if", "not", "exists", "concurrently", "body", "only":
		return true
	}
	return false
}

// scanTerraform knows the blocks at the top of a file.
func scanTerraform(f *file) {
	depth, current := 0, -1
	for i := range f.starts {
		src, code := f.text(i)
		if depth == 0 && strings.Contains(code, "{") {
			current = f.block(i, src)
		}
		if depth = max(0, depth+balance(code)); depth == 0 && current >= 0 {
			f.out[current].To = i + 1
			current = -1
		}
	}
}

// block reads `resource "type" "name" {`.
func (f *file) block(i int, src string) int {
	head, _, _ := strings.Cut(src, "{")
	words := strings.Fields(head)
	if len(words) == 0 || leadingName(words[0]) != words[0] {
		return -1
	}
	name := words[0]
	if len(words) > 1 {
		name = ""
		if words[0] != "resource" {
			name = words[0]
		}
		for _, label := range words[1:] {
			if name != "" {
				name += "."
			}
			name += strings.Trim(label, `"`)
		}
	}
	kind := KindResource
	if words[0] == "variable" || words[0] == "output" {
		kind = KindVariable
	}
	return f.add(Symbol{Name: name, Kind: kind, Signature: oneLine(head), From: i + 1})
}
