package search

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/ignore"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// Found is the structured answer of search_code.
type Found struct {
	Matches int        `json:"matches"`        // lines that match
	Files   []FileHits `json:"files"`          // in order of path, at most 1,000
	Binary  int        `json:"binary"`         // files passed over because they are no text
	Large   int        `json:"large"`          // and because they are over 2 MB
	Long    int        `json:"long,omitempty"` // lines of which only the beginning was searched
	// Incomplete says that not all files were looked at.
	Incomplete bool `json:"incomplete,omitempty"`
}

// FileHits is how many lines of a file match.
type FileHits struct {
	Path string `json:"path"`
	Hits int    `json:"hits"`
}

// maxFiles bounds the list in Found.
const maxFiles = 1_000

// finding collects the matches of one search.
type finding struct {
	ctx     context.Context // of the one search
	ws      *workspace.Workspace
	re      pattern
	literal string // what every match begins with
	glob    *ignore.Glob
	perFile int
	all     bool
	quiet   bool // count only

	found      Found
	text       strings.Builder
	shown      int
	files      int
	byDir      map[string]int
	incomplete bool
}

// entry searches a file met on the walk.
func (f *finding) entry(e workspace.Entry) {
	if e.Info.Size() > maxFileBytes {
		f.found.Large++
		return
	}
	f.file(workspace.Path{Name: e.Path, Real: e.Path})
}

// file searches one file.
func (f *finding) file(p workspace.Path) {
	content, err := f.ws.Read(p)
	if err != nil {
		return // gone in the meantime
	}
	text, err := workspace.Decode(content.Bytes)
	if err != nil || (text.Encoding != workspace.UTF16LE && text.Encoding != workspace.UTF16BE && bytes.IndexByte(content.Bytes, 0) >= 0) {
		f.found.Binary++
		return
	}
	if !strings.Contains(text.Body, f.literal) {
		return
	}
	lines := workspace.SplitLines(text.Body)
	var hits []int
	for i, line := range lines {
		if f.ctx.Err() != nil {
			break // what is found is shown, and the walk says that it ended
		}
		line = ending(line)
		if f.re.matches(line) {
			hits = append(hits, i)
		}
		if len(line) > f.re.reach {
			f.found.Long++
		}
	}
	if len(hits) > 0 {
		f.count(p, len(hits))
		f.show(p, text.Body, lines, hits)
	}
}

// ending is a line without its end.
func ending(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

func (f *finding) count(p workspace.Path, hits int) {
	f.found.Matches += hits
	f.files++
	f.byDir[dirOf(p.Name)] += hits
	if len(f.found.Files) < maxFiles {
		f.found.Files = append(f.found.Files, FileHits{p.Name, hits})
	}
}

// show writes the first matches of a file with their surroundings.
func (f *finding) show(p workspace.Path, body string, lines []string, hits []int) {
	few := hits[:min(len(hits), f.perFile, maxShown-f.shown)]
	if len(few) == 0 || f.quiet {
		return
	}
	f.shown += len(few)
	fmt.Fprintf(&f.text, "%s (%d)\n", outline.Quote(p.Name), len(hits))
	at := 0
	for i, hit := range few {
		from, to := max(hit-contextLines, at), min(hit+contextLines+1, len(lines))
		if i > 0 && from > at {
			f.text.WriteString("      …\n")
		}
		for n := from; n < to; n++ {
			_, isHit := slices.BinarySearch(hits, n)
			f.line(p, body, lines[n], n, isHit)
		}
		at = max(at, to)
	}
	if more := len(hits) - len(few); more > 0 {
		fmt.Fprintf(&f.text, "      +%d more\n", more)
	}
}

// line shows one line; one that had to be cut does not count as seen.
func (f *finding) line(p workspace.Path, body, line string, n int, hit bool) {
	mark, match := " ", []int(nil)
	line = workspace.ShowLine(line)
	if hit {
		mark = ">"
	}
	if hit && f.ctx.Err() == nil && len(line) > maxLineBytes {
		match = f.re.FindStringIndex(f.re.part(line))
	}
	text, isCut := cut(line, match)
	if !isCut {
		f.ws.Reads().Show(p.Real, body, n, n+1)
	}
	fmt.Fprintf(&f.text, "%s%5d│%s\n", mark, n+1, text)
}

func (f *finding) result(pattern string, hidden Found) tool.Result {
	f.found.Incomplete = f.incomplete
	res := tool.OKText(f.report(pattern, hidden))
	res.Data = f.found
	if f.shown < f.found.Matches {
		res.Truncated = &tool.Truncation{BytesShown: int64(len(res.Text)), LinesTotal: int64(f.found.Matches)}
	}
	return res
}

func (f *finding) report(pattern string, hidden Found) string {
	if f.found.Matches == 0 {
		return fmt.Sprintf("No match for %q.", pattern) + f.elsewhere(hidden) + f.notes()
	}
	head := fmt.Sprintf("%d matches in %d files", f.found.Matches, f.files)
	counts := ""
	if f.shown < f.found.Matches {
		head += fmt.Sprintf(", %d shown", f.shown)
		counts = f.counts()
	}
	return head + "\n" + f.text.String() + counts + f.notes()
}

// elsewhere tells of matches in ignored files only.
func (f *finding) elsewhere(hidden Found) string {
	if hidden.Matches == 0 {
		return ""
	}
	atLeast := ""
	if hidden.Matches >= maxHidden {
		atLeast = "at least "
	}
	return fmt.Sprintf(" But %s%d in files that .gitignore ignores, such as %s: set all to see them.",
		atLeast, hidden.Matches, outline.Quote(hidden.Files[0].Path))
}

// notes says what was not looked at.
func (f *finding) notes() string {
	var notes []string
	if f.found.Binary > 0 {
		notes = append(notes, fmt.Sprintf("%d binary", f.found.Binary))
	}
	if f.found.Large > 0 {
		notes = append(notes, fmt.Sprintf("%d over 2 MB", f.found.Large))
	}
	text := ""
	if len(notes) > 0 {
		text = "\n[files passed over: " + strings.Join(notes, ", ") + "]"
	}
	if f.found.Long > 0 {
		text += fmt.Sprintf("\n[only the beginning of %d very long lines was searched: the first %d KB; a simpler pattern reaches further]", f.found.Long, f.re.reach>>10)
	}
	if f.incomplete {
		text += "\n[the search was stopped before all files were looked at: search a smaller directory]"
	}
	return text
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
		fmt.Fprintf(&b, "%6d %s\n", f.byDir[d], outline.Quote(d))
	}
	if more := len(dirs) - maxDirs; more > 0 {
		fmt.Fprintf(&b, "       and %d directories more\n", more)
	}
	return b.String()
}
