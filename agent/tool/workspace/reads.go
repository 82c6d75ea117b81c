package workspace

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
)

// Coverage is what the model has seen of lines that it wants to change.
type Coverage int

// The closed set of coverages.
const (
	NotRead Coverage = iota // some of the lines were never shown
	Fresh                   // shown, and the file is as it was
	Moved                   // the file changed since, but not in these lines
	Stale                   // the lines changed since they were shown
)

// Reads remembers, for each file, the content last shown to the model and
// which of its lines. Contents are compared, never times. It is safe for
// concurrent use.
type Reads struct {
	seed   maphash.Seed
	assume bool // see AssumeAll

	mu     sync.Mutex // guards byPath and kept
	byPath map[string]*shown
	kept   int // bytes of the bodies that are kept
}

type shown struct {
	sum   string   // of the content as shown, see sumOf
	lines []uint64 // hashes of the lines as shown
	seen  []bool   // which of them were shown
	body  string   // the content as shown, empty when it is not kept
	past  []string // the contents before the model's own edits, newest last
	edits int      // how many own edits there were
}

func newReads() *Reads {
	return &Reads{seed: maphash.MakeSeed(), byPath: make(map[string]*shown)}
}

func (r *Reads) hash(lines []string) []uint64 {
	sums := make([]uint64, len(lines))
	for i, l := range lines {
		sums[i] = maphash.String(r.seed, l)
	}
	return sums
}

// Show notes that lines from..to (zero-based, to excluded) of a file with this
// body were shown.
func (r *Reads) Show(path, body string, from, to int) {
	sums := r.hash(SplitLines(body))
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byPath[path]
	if s == nil || !slices.Equal(s.lines, sums) {
		next := &shown{sum: sumOf(body), lines: sums, seen: make([]bool, len(sums))}
		if s != nil {
			r.drop(s.body)
			next.past, next.edits = s.past, s.edits
		}
		next.body = r.keep(body)
		s = next
		r.byPath[path] = s
	}
	for i := max(from, 0); i < min(to, len(s.seen)); i++ {
		s.seen[i] = true
	}
}

// Forget takes back lines from..to of a file: they are no longer in view.
func (r *Reads) Forget(path string, from, to int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byPath[path]
	if s == nil {
		return
	}
	for i := max(from, 0); i < min(to, len(s.seen)); i++ {
		s.seen[i] = false
	}
}

// ForgetText takes back the lines of a text wherever they stand together in a
// file, whichever way they end: what an edit had written is no longer in view.
func (r *Reads) ForgetText(path, text string) {
	lines := SplitLines(strings.ReplaceAll(text, "\r\n", "\n"))
	sums := make([][3]uint64, len(lines))
	for i, l := range lines {
		l = strings.TrimSuffix(l, "\n")
		for n, end := range []string{"", "\n", "\r\n"} {
			sums[i][n] = maphash.String(r.seed, l+end)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byPath[path]
	if s == nil || len(sums) == 0 {
		return
	}
	for at := 0; at+len(sums) <= len(s.lines); at++ {
		n := 0
		for n < len(sums) && slices.Contains(sums[n][:], s.lines[at+n]) {
			n++
		}
		if n == len(sums) {
			clear(s.seen[at : at+n])
		}
	}
}

// Known says that some line of the file was shown.
func (r *Reads) Known(path string) bool {
	if r.assume {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byPath[path]
	return s != nil && (len(s.seen) == 0 || slices.Contains(s.seen, true))
}

// Whole says that every line was shown and the file is as it was.
func (r *Reads) Whole(path, body string) bool {
	lines := SplitLines(body)
	return r.Covers(path, body, 0, len(lines)) == Fresh
}

// Covers compares lines from..to of a file that now has this body with what
// was shown.
func (r *Reads) Covers(path, body string, from, to int) Coverage {
	if r.assume {
		return Fresh
	}
	sums := r.hash(SplitLines(body))
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byPath[path]
	switch {
	case s == nil:
		return NotRead
	case slices.Equal(s.lines, sums):
		if slices.Contains(s.seen[from:to], false) {
			return NotRead
		}
		return Fresh
	case s.holds(sums[from:to]):
		return Moved
	}
	return Stale
}

// maxCompared caps the work of holds; beyond it the lines count as not found.
const maxCompared = 50_000_000

// holds says whether the lines stand together somewhere in what was shown.
func (s *shown) holds(want []uint64) bool {
	if len(s.lines)*len(want) > maxCompared {
		return false
	}
	for i := 0; i+len(want) <= len(s.lines); i++ {
		if slices.Equal(s.lines[i:i+len(want)], want) && !slices.Contains(s.seen[i:i+len(want)], false) {
			return true
		}
	}
	return false
}

// Change is a run of lines that an edit replaced: Old lines starting at From
// (in the old body) became New lines.
type Change struct{ From, Old, New int }

// Edited carries what was shown over an edit made by the model itself: the
// new lines count as shown, the others keep what they had. When the file was
// no longer as shown, only the new lines are known.
func (r *Reads) Edited(path, oldBody, newBody string, changes []Change) {
	oldSums, newSums := r.hash(SplitLines(oldBody)), r.hash(SplitLines(newBody))
	r.mu.Lock()
	defer r.mu.Unlock()
	before := make([]bool, len(oldSums))
	next := &shown{sum: sumOf(newBody), lines: newSums}
	if s := r.byPath[path]; s != nil {
		if slices.Equal(s.lines, oldSums) {
			before = s.seen
		}
		r.drop(s.body)
		next.past, next.edits = s.past, s.edits
	}
	next.edits++
	next.past = append(next.past, r.keep(oldBody))
	if len(next.past) > maxPast {
		r.drop(next.past[0])
		next.past = slices.Delete(next.past, 0, 1)
	}
	next.body = r.keep(newBody)
	after := make([]bool, 0, len(newSums))
	at := 0
	for _, c := range changes {
		after = append(after, before[at:c.From]...)
		for range c.New {
			after = append(after, true)
		}
		at = c.From + c.Old
	}
	after = append(after, before[at:]...)
	if len(after) != len(newSums) {
		after = make([]bool, len(newSums))
	}
	next.seen = after
	r.byPath[path] = next
}
