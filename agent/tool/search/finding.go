package search

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/ignore"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// finding collects the matches of one search.
type finding struct {
	ws      *workspace.Workspace
	re      *regexp.Regexp
	glob    *ignore.List
	perFile int

	text       strings.Builder
	shown      int
	total      int
	files      int
	byDir      map[string]int
	incomplete bool
}

// file searches one file; what cannot be read as text is passed over.
func (f *finding) file(p workspace.Path) {
	content, err := f.ws.Read(p)
	if err != nil {
		return
	}
	text, err := workspace.Decode(content.Bytes)
	if prefix, _ := f.re.LiteralPrefix(); err != nil || !strings.Contains(text.Body, prefix) {
		return
	}
	lines := workspace.SplitLines(text.Body)
	var hits []int
	for i, line := range lines {
		if f.re.MatchString(strings.TrimRight(line, "\r\n")) {
			hits = append(hits, i)
		}
	}
	if len(hits) == 0 {
		return
	}
	f.total += len(hits)
	f.files++
	f.byDir[dirOf(p.Name)] += len(hits)
	f.show(p, text.Body, lines, hits)
}

// show writes the first matches of a file with their surroundings.
func (f *finding) show(p workspace.Path, body string, lines []string, hits []int) {
	few := hits[:min(len(hits), f.perFile, maxShown-f.shown)]
	if len(few) == 0 {
		return
	}
	f.shown += len(few)
	fmt.Fprintf(&f.text, "%s (%d)\n", p.Name, len(hits))
	at := 0
	for i, hit := range few {
		from, to := max(hit-contextLines, at), min(hit+contextLines+1, len(lines))
		if i > 0 && from > at {
			f.text.WriteString("      …\n")
		}
		for n := from; n < to; n++ {
			f.line(p, body, lines[n], n, slices.Contains(hits, n))
		}
		at = to
	}
}

// line shows one line; one that had to be cut does not count as seen.
func (f *finding) line(p workspace.Path, body, line string, n int, hit bool) {
	mark := " "
	if hit {
		mark = ">"
	}
	line = workspace.ShowLine(line)
	if len(line) > maxLineBytes {
		line = strings.ToValidUTF8(line[:maxLineBytes], "") + "… [cut]"
	} else {
		f.ws.Reads().Show(p.Real, body, n, n+1)
	}
	fmt.Fprintf(&f.text, "%s%5d│%s\n", mark, n+1, line)
}

func (f *finding) result(pattern string) tool.Result {
	note := ""
	if f.incomplete {
		note = "\n[the search was stopped before all files were looked at: search a smaller directory]"
	}
	if f.total == 0 {
		return tool.OKText(fmt.Sprintf("No match for %q.", pattern) + note)
	}
	head := fmt.Sprintf("%d matches in %d files", f.total, f.files)
	if f.shown < f.total {
		head += fmt.Sprintf(", %d shown", f.shown)
		note = f.counts() + note
	}
	return tool.OKText(head + "\n" + f.text.String() + note)
}

// maxDirs is how many directories are counted one by one.
const maxDirs = 30

// counts lists matches by directory, the fullest first.
func (f *finding) counts() string {
	dirs := slices.SortedFunc(maps.Keys(f.byDir), func(a, b string) int {
		if d := f.byDir[b] - f.byDir[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	b.WriteString("By directory:\n")
	for _, d := range dirs[:min(len(dirs), maxDirs)] {
		fmt.Fprintf(&b, "%6d %s\n", f.byDir[d], d)
	}
	return b.String()
}
