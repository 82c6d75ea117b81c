package outline

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
)

// CoChanged returns the files most often changed together with the given ones,
// the best first. It may be nil.
type CoChanged func(paths []string) []string

// Candidate is a file that a task is probably about.
type Candidate struct {
	Path string
	// Symbols are the names in it that speak for it, at most five.
	Symbols []string
	// Why is the reasons, strongest first, such as "stack frame, line 12".
	Why []string
	// Score orders candidates of one call; it has no unit.
	Score float64
}

// MaxCandidates is how many files Seed returns at most.
const MaxCandidates = 15

// The weights of Seed, set by hand; TestRecallOnHistory measures what they are
// worth on real history.
const (
	seedWords   = 10.0 // the best match of words
	seedFrame   = 12.0 // the first stack frame or path
	seedName    = 4.0  // declares a name that the text uses
	seedUse     = 0.7  // uses one
	seedQuote   = 3.0  // holds all words of a quoted string
	seedRank    = 0.5  // the best connected file
	seedChanged = 2.0  // changed together with the best candidates
	seedFolder  = 3.0  // is in a directory that the text names by its path
	seedPath    = 1.5  // a word of the text is in its path, times its rarity

	factorTest    = 0.5
	factorOther   = 0.7
	factorForeign = 0.2
)

// Seed ranks the files that a task's text speaks of: by paths and stack
// frames, names, quoted strings and rare words; together may add files that
// usually change with those. Equal input gives equal output.
func Seed(task string, x *Index, together CoChanged) []Candidate {
	s := &seeder{x: x, m: x.mentions(task), at: make(map[string]*Candidate), strength: make(map[string]map[string]float64)}
	s.frames()
	s.named()
	s.quoted()
	s.worded()
	s.ranked()
	s.temper()
	s.changed(together)
	return s.best(MaxCandidates)
}

type seeder struct {
	x  *Index
	m  *mentions
	at map[string]*Candidate
	// strength is what each reason added, by path.
	strength map[string]map[string]float64
}

func (s *seeder) add(path string, score float64, why string) *Candidate {
	c := s.at[path]
	if c == nil {
		c = &Candidate{Path: path}
		s.at[path] = c
		s.strength[path] = make(map[string]float64)
	}
	c.Score += score
	s.strength[path][why] += score
	return c
}

// frames takes the paths and stack frames, the first ones for more.
func (s *seeder) frames() {
	for i, f := range s.m.frames {
		score := seedFrame / (1 + 0.3*float64(i)) / float64(len(f.paths))
		if !f.exact {
			score /= 2
		}
		for _, p := range f.paths[:min(len(f.paths), 10)] {
			why := "named"
			if f.line > 0 {
				why = fmt.Sprintf("named with line %d", f.line)
			}
			c := s.add(p, score, why)
			if sym, ok := Enclosing(s.x.Symbols(p), f.line); ok {
				c.addSymbol(sym.Name)
			}
		}
	}
}

// maxCandidateSymbols is how many symbols a candidate names.
const maxCandidateSymbols = 5

func (c *Candidate) addSymbol(name string) {
	if len(c.Symbols) < maxCandidateSymbols && !slices.Contains(c.Symbols, name) {
		c.Symbols = append(c.Symbols, name)
	}
}

// named takes the names that the text uses as names.
func (s *seeder) named() {
	names := make([]string, 0, len(s.m.names))
	for n := range s.m.names {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, text := range names {
		n := s.x.names[hashName(text)]
		if len(n.files) > tooScattered {
			continue
		}
		for _, f := range n.files {
			c := s.add(s.x.files[f].path, seedName/math.Sqrt(float64(len(n.files))), "declares "+text)
			c.addSymbol(text)
		}
		users := s.x.References(text)
		for _, u := range users[:min(len(users), 30)] {
			s.add(u.Path, seedUse/math.Sqrt(float64(len(users))), "uses "+text)
		}
	}
}

// quoted takes the files that hold all words of a quoted string.
func (s *seeder) quoted() {
	for _, terms := range s.m.quoted {
		var holds []string
		for _, f := range s.x.files {
			if holdsAll(f.facts, terms) {
				holds = append(holds, f.path)
			}
		}
		if len(holds) > 20 {
			continue
		}
		for _, p := range holds {
			s.add(p, seedQuote/math.Sqrt(float64(len(holds))), "has the words of a quoted string")
		}
	}
}

func holdsAll(f *facts, terms []uint32) bool {
	for _, t := range terms {
		if f.terms.of(t) == 0 {
			return false
		}
	}
	return true
}

// The constants of Okapi BM25 (Robertson and Zaragoza, 2009).
const (
	bm25K = 1.2
	bm25B = 0.75
)

// worded takes the words of the text, the rare ones for more.
func (s *seeder) worded() {
	ids := s.telling()
	score := make([]float64, len(s.x.files))
	best := 0.0
	for i, f := range s.x.files {
		inPath := pathTerms(f.path)
		long := bm25K * (1 - bm25B + bm25B*float64(f.facts.words)/s.x.words)
		for _, id := range ids {
			idf := s.worth(id)
			if tf := float64(f.facts.terms.of(id)); tf > 0 {
				score[i] += idf * tf * (bm25K + 1) / (tf + long)
			}
			if inPath[id] {
				score[i] += idf * seedPath
			}
		}
		best = max(best, score[i]*factor(f.path))
		if s.m.dirs[path.Dir(f.path)] {
			s.add(f.path, seedFolder, "in a named directory")
		}
	}
	for i, f := range s.x.files {
		if best > 0 && score[i] > best/20 {
			s.add(f.path, seedWords*score[i]/best, "its words")
		}
	}
}

// maxTelling is how many words of a task are looked for.
const maxTelling = 150

// telling are the words of the task that tell most, those first.
func (s *seeder) telling() []uint32 {
	ids := make([]uint32, 0, len(s.m.terms))
	for id := range s.m.terms {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(s.worth(b), s.worth(a)), cmp.Compare(a, b))
	})
	return ids[:min(len(ids), maxTelling)]
}

// worth is the weight of a word in the task times its rarity in the files.
func (s *seeder) worth(id uint32) float64 { return s.rarity(id) * s.m.terms[id] }

func pathTerms(name string) map[uint32]bool {
	in := make(map[uint32]bool)
	eachTerm([]byte(name), func(t []byte) { in[hashTerm(t)] = true })
	return in
}

// rarity is the inverse document frequency of a term.
func (s *seeder) rarity(id uint32) float64 {
	n, df := float64(len(s.x.files)), float64(s.x.holders[id])
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

// ranked adds a little for files that many refer to.
func (s *seeder) ranked() {
	r := s.x.ranks(s.m)
	best := 0.0
	for _, v := range r.rank {
		best = max(best, v)
	}
	for i, f := range s.x.files {
		if c := s.at[f.path]; c != nil && best > 0 {
			c.Score += seedRank * r.rank[i] / best
		}
	}
}

// factor is how much less files are likely that are not the project's source.
func factor(path string) float64 {
	switch classOf(path) {
	case classTest:
		return factorTest
	case classOther:
		return factorOther
	case classForeign:
		return factorForeign
	case classSource:
	}
	return 1
}

// temper applies the factors to what the text does not name by path.
func (s *seeder) temper() {
	for p, c := range s.at {
		if !s.m.files[p] {
			c.Score *= factor(p)
		}
	}
}

// changed asks what usually changes with the best five.
func (s *seeder) changed(together CoChanged) {
	if together == nil {
		return
	}
	var paths []string
	for _, c := range s.best(5) {
		paths = append(paths, c.Path)
	}
	for i, p := range together(paths) {
		if _, known := slices.BinarySearch(s.x.paths, p); !known || i >= MaxCandidates {
			continue
		}
		s.add(p, seedChanged/(1+0.3*float64(i)), "changed together with the others")
	}
}

// best is the first n candidates with their reasons.
func (s *seeder) best(n int) []Candidate {
	all := make([]Candidate, 0, len(s.at))
	for _, c := range s.at {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Path, b.Path))
	})
	all = all[:min(n, len(all))]
	for i := range all {
		all[i].Why = s.why(all[i].Path)
		all[i].Symbols = slices.Clone(all[i].Symbols)
	}
	return all
}

// maxWhy is how many reasons a candidate gives.
const maxWhy = 3

func (s *seeder) why(path string) []string {
	reasons := s.strength[path]
	out := make([]string, 0, len(reasons))
	for r := range reasons {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), strings.Compare(a, b))
	})
	return out[:min(maxWhy, len(out))]
}
