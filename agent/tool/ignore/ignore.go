// Package ignore decides which paths a repository's .gitignore files leave out.
//
// It sits under agent/tool and is used by the workspace walk. It follows
// gitignore(5): later patterns win, "!" takes back, a slash anchors, a trailing
// slash means directories, "**" crosses directories, and a file below an
// ignored directory cannot be taken back (the caller must not descend).
//
// The patterns are hostile input: matching costs at most the product of the
// lengths of pattern and path.
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

type rule struct {
	segments []string
	negated  bool
	dirOnly  bool
	anchored bool // matches from the file's directory, not at any depth
}

// With returns the list extended by the .gitignore of dir, which is relative
// to the root and slash-separated, empty for the root itself.
func (l *List) With(dir, content string) *List {
	next := &List{parent: l, dir: dir}
	for line := range strings.Lines(content) {
		if len(next.rules) == maxPatterns {
			break
		}
		if r, ok := parse(strings.TrimRight(line, "\r\n")); ok {
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
			rest, below := strings.CutPrefix(path, l.dir+"/")
			if !below {
				continue
			}
			rel = rest
		}
		segments := strings.Split(rel, "/")
		for i := len(l.rules) - 1; i >= 0; i-- {
			if l.rules[i].matches(segments, isDir) {
				return !l.rules[i].negated
			}
		}
	}
	return false
}

// parse reads one line; comments and empty lines are no rule.
func parse(line string) (rule, bool) {
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
	r.segments = strings.Split(strings.TrimPrefix(line, "/"), "/")
	return r, true
}

// trimSpaces removes trailing spaces but for escaped ones.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

func (r rule) matches(segments []string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if !r.anchored {
		return matchSegment(r.segments[0], segments[len(segments)-1])
	}
	return matchPath(r.segments, segments)
}

// matchPath matches whole paths; "**" stands for any number of directories.
// reach[j] says that the pattern so far can end before path segment j.
func matchPath(pattern, path []string) bool {
	reach := make([]bool, len(path)+1)
	reach[0] = true
	for i, p := range pattern {
		next := make([]bool, len(path)+1)
		if p == "**" {
			last := i == len(pattern)-1
			open := false
			for j := range next {
				// A trailing "**" matches what is inside, so at least one segment.
				next[j] = open || (reach[j] && !last)
				open = open || reach[j]
			}
		} else {
			for j, s := range path {
				next[j+1] = reach[j] && matchSegment(p, s)
			}
		}
		reach = next
	}
	return reach[len(path)]
}
