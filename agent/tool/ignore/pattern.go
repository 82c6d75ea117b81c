package ignore

import (
	"errors"
	"fmt"
	"strings"
)

// Glob selects files by path, as ripgrep's -g does: the syntax of .gitignore
// (a pattern without a slash matches names at any depth), braces for
// alternatives, a leading "!" for all but those, and a trailing slash for all
// below a directory.
type Glob struct {
	rules    []rule
	excludes bool
}

// maxAlternatives bounds what the braces of one glob stand for.
const maxAlternatives = 64

// ErrGlob is the error of [ParseGlob]: the pattern is empty, too long or has
// too many alternatives.
var ErrGlob = errors.New("not a usable glob")

// ParseGlob reads a glob. The empty one is an error.
func ParseGlob(pattern string) (*Glob, error) {
	g := new(Glob)
	rest := pattern
	if after, ok := strings.CutPrefix(rest, "!"); ok {
		g.excludes, rest = true, after
	}
	rest = strings.TrimPrefix(rest, "./")
	if rest == "" || len(pattern) > maxPatternLength {
		return nil, fmt.Errorf("%w: empty or longer than %d bytes", ErrGlob, maxPatternLength)
	}
	all, err := expand(rest)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		g.add(p)
	}
	return g, nil
}

func (g *Glob) add(pattern string) {
	if dir, ok := strings.CutSuffix(pattern, "/"); ok && dir != "" {
		pattern = strings.TrimPrefix(dir, "/") + "/**"
	}
	r := rule{anchored: strings.Contains(pattern, "/")}
	r.prefix, r.rest = compile(strings.TrimPrefix(pattern, "/"))
	g.rules = append(g.rules, r)
}

// Match says whether the file is selected. The nil Glob selects all.
func (g *Glob) Match(path string) bool {
	if g == nil {
		return true
	}
	if !g.excludes {
		return g.hits(path)
	}
	for i := 0; i < len(path); i++ {
		if path[i] == '/' && g.hits(path[:i]) {
			return false
		}
	}
	return !g.hits(path)
}

func (g *Glob) hits(path string) bool {
	base := path[strings.LastIndexByte(path, '/')+1:]
	for i := range g.rules {
		if g.rules[i].matches(path, base, false) {
			return true
		}
	}
	return false
}

// expand writes out the braces of a pattern; what is not closed, or has no
// comma, is taken as it stands.
func expand(pattern string) ([]string, error) {
	todo, done := []string{pattern}, []string(nil)
	for len(todo) > 0 {
		p := todo[0]
		todo = todo[1:]
		head, parts, tail, ok := braces(p)
		if !ok {
			done = append(done, p)
			continue
		}
		for _, part := range parts {
			todo = append(todo, head+part+tail)
		}
		if len(todo)+len(done) > maxAlternatives {
			return nil, fmt.Errorf("%w: more than %d alternatives", ErrGlob, maxAlternatives)
		}
	}
	return done, nil
}

// braces finds the first "{a,b}" and splits it at its own commas.
func braces(p string) (head string, parts []string, tail string, ok bool) {
	open, depth, from := -1, 0, 0
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			if depth++; depth == 1 {
				open, from, parts = i, i+1, nil
			}
		case ',':
			if depth == 1 {
				parts = append(parts, p[from:i])
				from = i + 1
			}
		case '}':
			if depth == 0 {
				continue
			}
			if depth--; depth == 0 && parts != nil {
				return p[:open], append(parts, p[from:i]), p[i+1:], true
			}
		}
	}
	return "", nil, "", false
}
