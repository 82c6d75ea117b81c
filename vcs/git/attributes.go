package git

import (
	"path"
	"strconv"
	"strings"
)

// attrRule gives attributes to the paths that match.
type attrRule struct {
	pattern  string
	anchored bool
	attrs    []attrSetting
}

// attrSetting is one attribute of a rule: value "true", "false", "" for
// unspecified, or what follows '='.
type attrSetting struct{ name, value string }

const (
	attrSet         = "true"
	attrUnset       = "false"
	attrUnspecified = ""
)

// attributes is the .gitattributes files of a base tree.
type attributes struct {
	byDir  map[string][]attrRule
	macros map[string][]attrSetting
}

// parse adds the file of one directory. Macros count at the top only.
func (a *attributes) parse(dir string, data []byte) {
	for line := range strings.SplitSeq(strings.TrimPrefix(string(data), "\ufeff"), "\n") {
		pattern, settings, ok := parseAttrLine(line)
		if !ok {
			continue
		}
		if name, macro := strings.CutPrefix(pattern, "[attr]"); macro {
			if dir == "" {
				a.macros[name] = settings
			}
			continue
		}
		r := attrRule{pattern: strings.TrimPrefix(pattern, "/"), anchored: strings.Contains(pattern, "/"), attrs: settings}
		a.byDir[dir] = append(a.byDir[dir], r)
	}
}

func newAttributes() *attributes {
	return &attributes{byDir: map[string][]attrRule{}, macros: map[string][]attrSetting{
		"binary": {{"diff", attrUnset}, {"merge", attrUnset}, {"text", attrUnset}}, // gitattributes(5)
	}}
}

// parseAttrLine splits a line; negative patterns are forbidden and a trailing
// slash never matches a file, so both are left out.
func parseAttrLine(line string) (pattern string, settings []attrSetting, ok bool) {
	line = strings.TrimLeft(line, " \t\r")
	if line == "" || line[0] == '#' || line[0] == '!' {
		return "", nil, false
	}
	pattern, rest, ok := cutPattern(line)
	if !ok || strings.HasSuffix(pattern, "/") {
		return "", nil, false
	}
	for _, f := range strings.Fields(rest) {
		s := parseSetting(f)
		if !validAttr(s.name) {
			return "", nil, false // as git, which warns and skips the line
		}
		settings = append(settings, s)
	}
	return pattern, settings, true
}

func cutPattern(line string) (pattern, rest string, ok bool) {
	if line[0] == '"' {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return "", "", false
		}
		pattern, err = strconv.Unquote(quoted)
		return pattern, line[len(quoted):], err == nil
	}
	i := strings.IndexAny(line, " \t\r")
	if i < 0 {
		return line, "", true
	}
	return line[:i], line[i:], true
}

// validAttr is git's attr_name_valid.
func validAttr(name string) bool {
	if name == "" || name[0] == '-' {
		return false
	}
	for _, c := range []byte(name) {
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return true
}

func parseSetting(f string) attrSetting {
	switch f[0] {
	case '-':
		return attrSetting{f[1:], attrUnset}
	case '!':
		return attrSetting{f[1:], attrUnspecified}
	}
	if name, value, ok := strings.Cut(f, "="); ok {
		return attrSetting{name, value}
	}
	return attrSetting{f, attrSet}
}

// lookup returns the attributes of a path that are specified.
func (a *attributes) lookup(p string) map[string]string {
	got := map[string]string{}
	if len(a.byDir) == 0 {
		return got
	}
	a.apply(got, "", p)
	for i := range len(p) {
		if p[i] == '/' {
			a.apply(got, p[:i], p)
		}
	}
	return got
}

func (a *attributes) apply(got map[string]string, dir, p string) {
	rel := p[len(dirPrefix(dir)):]
	for _, r := range a.byDir[dir] {
		if r.anchored && matchGlob(r.pattern, rel) || !r.anchored && matchPart(r.pattern, path.Base(rel)) {
			a.assign(got, r.attrs, 0)
		}
	}
}

// maxMacroDepth bounds macros that name each other.
const maxMacroDepth = 8

func (a *attributes) assign(got map[string]string, settings []attrSetting, depth int) {
	for _, s := range settings {
		if macro, ok := a.macros[s.name]; ok && s.value == attrSet && depth < maxMacroDepth {
			a.assign(got, macro, depth+1)
		}
		if s.value == attrUnspecified {
			delete(got, s.name)
			continue
		}
		got[s.name] = s.value
	}
}
