package git

import "strings"

// maxRuleFile is the largest .gitignore or .gitattributes read; git's own
// limit for attributes is 100 MB, but nobody writes such.
const maxRuleFile = 1 << 20

// ignoreRule is one line of a .gitignore.
type ignoreRule struct {
	pattern  string
	anchored bool // matched against the path below its directory, not the name
	dirOnly  bool
	negated  bool
}

// ignoreList is the rules of one directory; later ones win.
type ignoreList struct {
	dir   string
	rules []ignoreRule
}

// parseIgnore reads a .gitignore of the directory; data from a workspace is
// fine, any bytes are.
func parseIgnore(dir string, data []byte) ignoreList {
	l := ignoreList{dir: dir}
	for line := range strings.SplitSeq(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		if r, ok := parseIgnoreLine(strings.TrimSuffix(line, "\r")); ok {
			l.rules = append(l.rules, r)
		}
	}
	return l
}

func parseIgnoreLine(line string) (ignoreRule, bool) {
	var r ignoreRule
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line = trimBlanks(line)
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	r.anchored = strings.Contains(line, "/")
	r.pattern = strings.TrimPrefix(line, "/")
	return r, r.pattern != ""
}

// trimBlanks cuts trailing spaces that are not escaped.
func trimBlanks(line string) string {
	for strings.HasSuffix(line, " ") {
		cut := line[:len(line)-1]
		slashes := len(cut) - len(strings.TrimRight(cut, `\`))
		if slashes%2 == 1 {
			return line
		}
		line = cut
	}
	return line
}

// decide says whether the list ignores the path, if it says anything.
func (l ignoreList) decide(p string, isDir bool) (ignored, decided bool) {
	rel := strings.TrimPrefix(p, dirPrefix(l.dir))
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	for i := len(l.rules) - 1; i >= 0; i-- {
		r := l.rules[i]
		if r.dirOnly && !isDir {
			continue
		}
		if r.anchored && matchGlob(r.pattern, rel) || !r.anchored && matchPart(r.pattern, name) {
			return !r.negated, true
		}
	}
	return false, false
}

// ignoreStack is the lists that apply in a directory, from the top down.
// Callers do not ask about anything under an ignored directory.
type ignoreStack []ignoreList

func (s ignoreStack) ignored(p string, isDir bool) bool {
	for i := len(s) - 1; i >= 0; i-- {
		if ignored, decided := s[i].decide(p, isDir); decided {
			return ignored
		}
	}
	return false
}

// with returns the stack of a directory below; s is left as it is.
func (s ignoreStack) with(lists ...ignoreList) ignoreStack {
	out := s[:len(s):len(s)]
	for _, l := range lists {
		if len(l.rules) > 0 {
			out = append(out, l)
		}
	}
	return out
}
