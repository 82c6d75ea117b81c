package git

// Ignored applies a top-level .gitignore to a file's path, looking at every
// directory above it first, as a walk does.
func Ignored(rules, path string) bool {
	stack := ignoreStack{}.with(parseIgnore("", []byte(rules)))
	for i := range len(path) {
		if path[i] == '/' && stack.ignored(path[:i], true) {
			return true
		}
	}
	return stack.ignored(path, false)
}

// Attr looks up one attribute of a path under a top-level .gitattributes.
func Attr(file, path, name string) (string, bool) {
	a := newAttributes()
	a.parse("", []byte(file))
	v, ok := a.lookup(path)[name]
	return v, ok
}

// DiffText prints the hunks between two texts.
func DiffText(a, b string) string { return hunks(splitLines([]byte(a)), splitLines([]byte(b))) }

// Escapes is the judgement on a link.
func Escapes(path, target string) bool { return linkEscapes(path, target) }
