package edit_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// gitFile is a file with the one bit of its mode that git keeps.
type gitFile struct {
	Text string
	Exec bool
}

type gitTree map[string]gitFile

// wild makes trees and changes of the kind that breaks patch readers.
type wild struct{ *rand.Rand }

func (w wild) pick(from []string) string { return from[w.IntN(len(from))] }

func (w wild) line() string {
	return w.pick([]string{
		"a", "b", "c", "d", "e", "", "", "  a", "\ta", "a ", "}", "{", "end", "-- ", "-- a", "++ b", "+a", "-b", " c", "@@ -1,2 +1,2 @@",
		"--- a/x", "+++ b/x", "diff --git a/x b/x", "*** End Patch", "*** Begin Patch", "\\ No newline at end of file", "```", "é“x”", "x\ry",
		fmt.Sprint("n", w.IntN(50)), fmt.Sprint("m", w.IntN(1000)),
	})
}

func (w wild) end() string {
	if w.IntN(6) == 0 {
		return "\r\n"
	}
	return "\n"
}

func (w wild) text(most int) string {
	var b strings.Builder
	crlf := w.IntN(4) == 0
	for range w.IntN(most) {
		end := w.end()
		if crlf {
			end = "\r\n"
		}
		b.WriteString(w.line() + end)
	}
	if w.IntN(4) == 0 {
		b.WriteString(w.line())
	}
	return b.String()
}

func (w wild) name() string {
	return w.pick([]string{
		"a", "b.txt", "dir/c", "dir/d e", "dir/sub/f", "ü", "q\"uote", "tab\tname", "back\\slash", "b/a", "a b/a b", "-dash", "new\nline", "end ", "x y z",
	})
}

func (w wild) tree() gitTree {
	t := make(gitTree)
	for range 1 + w.IntN(5) {
		t.put(w.name(), gitFile{w.text(40), w.IntN(5) == 0})
	}
	return t
}

// put adds a file unless a directory is there or a file where it needs one.
func (t gitTree) put(name string, f gitFile) {
	for other := range t {
		if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
			return
		}
	}
	t[name] = f
}

func (t gitTree) names() []string { return slices.Sorted(maps.Keys(t)) }

// edited changes some lines of a text.
func (w wild) edited(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for range 1 + w.IntN(4) {
		i := w.IntN(len(lines) + 1)
		switch w.IntN(4) {
		case 0:
			lines = slices.Insert(lines, i, w.line()+w.end())
		case 1:
			if i < len(lines) {
				lines = slices.Delete(lines, i, i+1)
			}
		case 2:
			if i < len(lines) {
				lines[i] = w.line() + w.end()
			}
		case 3:
			if n := len(lines); n > 0 {
				lines[n-1] = strings.TrimRight(lines[n-1], "\r\n")
			}
		}
	}
	return strings.Join(lines, "")
}

func (w wild) changed(t gitTree) gitTree {
	next := maps.Clone(t)
	for range 1 + w.IntN(4) {
		names := next.names()
		if len(names) == 0 {
			next.put(w.name(), gitFile{Text: w.text(20)})
			continue
		}
		name := w.pick(names)
		f := next[name]
		switch w.IntN(8) {
		case 0, 1, 2, 3:
			next[name] = gitFile{w.edited(f.Text), f.Exec}
		case 4:
			delete(next, name)
		case 5:
			next.put(w.name(), gitFile{w.text(20), w.IntN(3) == 0})
		case 6:
			delete(next, name)
			next.put(w.name(), gitFile{w.edited(f.Text), f.Exec})
		case 7:
			next[name] = gitFile{f.Text, !f.Exec}
		}
	}
	return next
}
