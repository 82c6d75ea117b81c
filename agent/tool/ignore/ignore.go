// Package ignore decides which paths a repository's .gitignore files leave out.
//
// It sits under agent/tool and is used by the workspace walk, and by the tools
// that take globs. It does what git does, also where gitignore(5) is silent:
// later patterns win, "!" takes back, a slash anchors, a trailing slash means
// directories, "**" crosses directories, a class that is not closed matches
// nothing, and a file below an ignored directory cannot be taken back (the
// caller must not descend). Only .gitignore files count, neither
// .git/info/exclude nor a person's own file; names are compared byte by byte,
// as with core.ignoreCase off.
//
// The patterns are hostile input: sizes are capped, and matching does not
// backtrack without bound.
package ignore

import "strings"

// The caps on one .gitignore file; what is beyond them is not read.
const (
	maxPatterns      = 5_000
	maxPatternLength = 1_000
)

// List is the patterns of the .gitignore files from the root down to one
// directory. The zero value ignores nothing. Lists are immutable: [List.With]
// returns a longer one.
type List struct {
	parent *List
	dir    string // slash-separated, "" is the root
	rules  []rule
}

// rule is one pattern.
type rule struct {
	negated  bool
	dirOnly  bool
	anchored bool // matches from the file's directory, not at any depth
	prefix   string
	rest     []element
}

// With returns the list extended by the .gitignore of dir, which is relative
// to the root and slash-separated, empty for the root itself.
func (l *List) With(dir, content string) *List {
	next := &List{parent: l, dir: dir}
	content = strings.TrimPrefix(content, "\uFEFF")
	for line := range strings.Lines(content) {
		if len(next.rules) == maxPatterns {
			break
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if r, ok := parse(line); ok {
			next.rules = append(next.rules, r)
		}
	}
	if len(next.rules) == 0 {
		return l
	}
	return next
}

// Ignored says whether the path, relative to the root, is left out by its own
// name. Whether one of its parents is must be asked separately, top down.
func (l *List) Ignored(path string, isDir bool) bool {
	for ; l != nil; l = l.parent {
		rel := path
		if l.dir != "" {
			if len(path) <= len(l.dir) || path[:len(l.dir)] != l.dir || path[len(l.dir)] != '/' {
				continue
			}
			rel = path[len(l.dir)+1:]
		}
		base := rel[strings.LastIndexByte(rel, '/')+1:]
		for i := len(l.rules) - 1; i >= 0; i-- {
			if l.rules[i].matches(rel, base, isDir) {
				return !l.rules[i].negated
			}
		}
	}
	return false
}

// parse reads one line; comments and empty lines are no rule.
func parse(line string) (rule, bool) {
	line, _, _ = strings.Cut(line, "\x00") // a string of C ends here
	if strings.HasPrefix(line, "#") || len(line) > maxPatternLength {
		return rule{}, false
	}
	line = trimSpaces(line)
	var r rule
	if rest, ok := strings.CutPrefix(line, "!"); ok {
		r.negated, line = true, rest
	}
	if rest, ok := strings.CutSuffix(line, "/"); ok {
		r.dirOnly, line = true, rest
	}
	if line == "" {
		return rule{}, false
	}
	r.anchored = strings.Contains(line, "/")
	if r.anchored {
		line = strings.TrimPrefix(line, "/")
	}
	r.prefix, r.rest = compile(line)
	return r, true
}

// trimSpaces removes trailing spaces but for escaped ones.
func trimSpaces(line string) string {
	end := 0 // after the last byte that stays
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = i + 1
	}
	return line[:min(end, len(line))]
}

func (r *rule) matches(path, base string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	name := base
	if r.anchored {
		name = path
	}
	rest, ok := strings.CutPrefix(name, r.prefix)
	if !ok {
		return false
	}
	if r.rest == nil {
		return rest == ""
	}
	return match(r.rest, rest)
}
