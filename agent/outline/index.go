package outline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Index is what the files of a repository declare and mention at one moment.
// It is immutable and safe for concurrent use.
type Index struct {
	paths []string // of all files, sorted
	files []indexed
	left  LeftOut

	defs    map[string][]place // by name
	names   map[uint64]*name   // the names that source files declare, by hash
	base    map[string][]int32 // indexes into paths, by last element
	file    map[string]int     // by path
	holders map[uint32]int32   // how many files hold a term
	words   float64            // mean number of words of a file
}

type indexed struct {
	path  string
	facts *facts
}

// place is a symbol of a file.
type place struct{ file, symbol int32 }

// name is a declared name and the files that declare it, in order.
type name struct {
	text  string
	files []int32
}

// LeftOut is what the bounds kept out of an index.
type LeftOut struct {
	Large int  // files over the size limit
	Files int  // files beyond MaxFiles or MaxReadBytes
	Late  int  // files that there was no time for
	Paths bool // the walk was ended: there are more files than are listed
}

// String says it in a sentence, empty when nothing was left out.
func (l LeftOut) String() string {
	var parts []string
	for _, p := range []struct {
		n   int
		why string
	}{{l.Large, "too large"}, {l.Files, "beyond the limits of the index"}, {l.Late, "not reached in time"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d files %s", p.n, p.why))
		}
	}
	if l.Paths {
		parts = append(parts, fmt.Sprintf("files after the first %d", maxPaths))
	}
	if len(parts) == 0 {
		return ""
	}
	return "left out: " + strings.Join(parts, ", ")
}

// Located is a symbol with the file that declares it.
type Located struct {
	Path string
	Symbol
}

// Mentions is how often a name occurs in the code of a file.
type Mentions struct {
	Path  string
	Count int
}

// finish makes the look-ups.
func (x *Index) finish() {
	slices.SortFunc(x.files, func(a, b indexed) int { return strings.Compare(a.path, b.path) })
	x.defs, x.file, x.holders = make(map[string][]place), make(map[string]int, len(x.files)), make(map[uint32]int32)
	x.names, x.base = make(map[uint64]*name), make(map[string][]int32)
	for i, p := range x.paths {
		x.base[baseName(p)] = append(x.base[baseName(p)], int32(i))
	}
	total := 0
	for i, f := range x.files {
		x.file[f.path] = i
		total += f.facts.words
		for j, s := range f.facts.symbols {
			x.defs[s.Name] = append(x.defs[s.Name], place{int32(i), int32(j)})
			if s.Kind != KindHeading {
				x.declare(s.Name, int32(i))
			}
		}
		for _, id := range f.facts.terms.ids {
			x.holders[id]++
		}
	}
	x.words = max(1, float64(total)/float64(max(1, len(x.files))))
}

func (x *Index) declare(text string, file int32) {
	id := hashName(text)
	n := x.names[id]
	if n == nil {
		n = &name{text: text}
		x.names[id] = n
	}
	if len(n.files) == 0 || n.files[len(n.files)-1] != file {
		n.files = append(n.files, file)
	}
}

// Paths are all files of the tree in order, also those that were not read.
func (x *Index) Paths() []string { return slices.Clone(x.paths) }

// LeftOut says what the bounds kept out.
func (x *Index) LeftOut() LeftOut { return x.left }

// Symbols are the symbols of one file, in order of line.
func (x *Index) Symbols(path string) []Symbol {
	if i, ok := x.file[path]; ok {
		return slices.Clone(x.files[i].facts.symbols)
	}
	return nil
}

// Definitions are the symbols with this name, by path and line. Headings of
// documents come last.
func (x *Index) Definitions(name string) []Located {
	var out []Located
	for _, p := range x.defs[name] {
		f := x.files[p.file]
		out = append(out, Located{f.path, f.facts.symbols[p.symbol]})
	}
	slices.SortStableFunc(out, func(a, b Located) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), strings.Compare(a.Path, b.Path), cmp.Compare(a.From, b.From))
	})
	return out
}

// last puts documents, copied-in code and tests behind the rest.
func last(l Located) int {
	if l.Kind == KindHeading {
		return int(classForeign) + 1
	}
	return int(classOf(l.Path))
}

// References are the files whose code mentions the name other than by
// declaring it, those with most mentions first.
func (x *Index) References(name string) []Mentions {
	id := hashName(name)
	var out []Mentions
	for _, f := range x.files {
		n := f.facts.refs.of(id)
		if n == 0 {
			continue
		}
		for _, s := range f.facts.symbols {
			if s.Name == name {
				n--
			}
		}
		if n > 0 {
			out = append(out, Mentions{f.path, n})
		}
	}
	slices.SortStableFunc(out, func(a, b Mentions) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Path, b.Path))
	})
	return out
}

// Names are the names of all symbols, sorted, for suggestions.
func (x *Index) Names() []string {
	names := make([]string, 0, len(x.defs))
	for n := range x.defs {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
