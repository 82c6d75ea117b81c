package outline

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MapBytes is the usual budget of a map: 4,000 tokens of about 3.5 bytes
// (RUNTIME 1.3 and 1.5).
const MapBytes = 14_000

// maxMapped bounds the declarations that a map considers.
const maxMapped = 4_000

// Map is the ranked map of the repository in at most budget bytes: the files
// that matter most, for the task and in general, with their most used
// declarations. Equal indexes and tasks give equal maps. The budget is
// [MapBytes] when zero.
func Map(task string, x *Index, budget int) string {
	budget = cmp.Or(budget, MapBytes)
	m := repoMap{x: x, rank: x.ranks(x.mentions(task))}
	m.choose()
	note := ""
	if left := x.left.String(); left != "" {
		note = "[" + left + "]\n"
	}
	n := sort.Search(len(m.lines), func(n int) bool { return len(m.render(n+1))+len(note) > budget })
	text := m.render(n) + note
	if len(text) > budget {
		return ""
	}
	return text
}

type repoMap struct {
	x     *Index
	rank  *ranking
	lines []place // the most important first
}

// choose orders what could be shown: referred-to declarations by score, then
// the top declarations of the files by rank.
func (m *repoMap) choose() {
	all := m.rank.declarations()
	slices.SortFunc(all, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.file, b.file), strings.Compare(a.name.text, b.name.text))
	})
	taken := make(map[place]bool)
	add := func(p place) {
		if !taken[p] && len(m.lines) < maxMapped {
			taken[p] = true
			m.lines = append(m.lines, p)
		}
	}
	for _, s := range all {
		if classOf(m.x.files[s.file].path) >= classTest {
			continue
		}
		for _, p := range m.x.defs[s.name.text] {
			if p.file == s.file {
				add(p)
			}
		}
	}
	for _, i := range m.byRank() {
		for j, s := range m.x.files[i].facts.symbols {
			if s.Parent == "" {
				add(place{int32(i), int32(j)}) //nolint:gosec // capped
			}
		}
	}
}

func (m *repoMap) byRank() []int {
	order := make([]int, 0, len(m.x.files))
	for i, f := range m.x.files {
		if classOf(f.path) == classSource {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(m.rank.rank[b], m.rank.rank[a]) })
	return order
}

// render shows the first n declarations, grouped by file.
func (m *repoMap) render(n int) string {
	byFile := make(map[int32][]int32)
	var order []int32
	for _, p := range m.lines[:min(n, len(m.lines))] {
		if byFile[p.file] == nil {
			order = append(order, p.file)
		}
		byFile[p.file] = append(byFile[p.file], p.symbol)
	}
	var b strings.Builder
	for _, f := range order {
		b.WriteString(Quote(m.x.files[f].path) + "\n")
		slices.Sort(byFile[f])
		b.WriteString(Lines(pick(m.x.files[f].facts.symbols, byFile[f])))
	}
	return b.String()
}

func pick(symbols []Symbol, which []int32) []Symbol {
	out := make([]Symbol, 0, len(which))
	for _, i := range which {
		out = append(out, symbols[i])
	}
	return out
}

// Lines shows symbols one a line, with the number of their first line; members
// are indented.
func Lines(symbols []Symbol) string {
	var b strings.Builder
	for _, s := range symbols {
		indent := ""
		if s.Parent != "" {
			indent = "  "
		}
		fmt.Fprintf(&b, "%6d│%s%s\n", s.From, indent, cmp.Or(s.Signature, s.Name))
	}
	return b.String()
}

// Quote shows a file name as it is when it is plain text, and as a Go string
// literal when it holds control or invisible characters, line ends, quotes or
// bytes that are not UTF-8: names are chosen by whoever wrote the repository.
func Quote(name string) string {
	plain := utf8.ValidString(name) && strings.IndexFunc(name, func(r rune) bool {
		return r != ' ' && !unicode.IsPrint(r) || r == '"' || r == '\\'
	}) < 0 && strings.TrimSpace(name) == name && name != ""
	if plain {
		return name
	}
	return strconv.QuoteToGraphic(name)
}
