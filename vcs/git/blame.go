package git

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/greenwright/greenwright/vcs"
)

// maxBlame is the largest file whose lines are traced.
const maxBlame = 1 << 20

// BlameLine is one line of a file with where it came from. Text and author are
// untrusted.
type BlameLine struct {
	Line   int // counted from 1
	Commit string
	Author string // the name alone
	Date   time.Time
	Text   string // without its end
}

// Blame says for lines from..to (to included; 0 is the end) of a file at a
// commit which commit last changed each, as git blame does. Renames are not
// followed: a renamed file begins with its new name. Bounds are those of
// [Mirror.Log], and 1 MB for the file; lines that were not settled by then are
// on the commits reached, and a [*CutError] comes with them.
//
// Errors: vcs.ErrNotFound (the commit, or no such regular file in it),
// vcs.ErrInvalid (the path, or lines that the file does not have, or a binary
// file), ErrTooLarge, *CutError.
func (m *Mirror) Blame(ctx context.Context, commit, path string, from, to int) ([]BlameLine, error) {
	if err := ValidatePath(path); err != nil {
		return nil, err
	}
	o, done, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	h, err := o.history(commit)
	if err != nil {
		return nil, m.markDamaged(err)
	}
	b := &blaming{past: h, path: path, lines: map[plumbing.Hash][][]byte{}, pending: map[plumbing.Hash][]span{}}
	if err := b.begin(from, to); err != nil {
		return nil, m.markDamaged(err)
	}
	err = h.walk(ctx, b.visit)
	return b.finish(), m.markDamaged(err)
}

// span is lines [at, at+n) of a commit's version that are lines [final,
// final+n) of the blamed one.
type span struct{ at, final, n int }

type blaming struct {
	*past
	path    string
	text    [][]byte // lines of the blamed version
	from    int      // first line asked for, from 0
	by      []*object.Commit
	pending map[plumbing.Hash][]span // by commit that is still to be visited
	lines   map[plumbing.Hash][][]byte
}

func (b *blaming) begin(from, to int) error {
	tip := b.queue[0]
	e, err := b.entryAt(tip, b.path)
	if err != nil {
		return err
	}
	if !e.regular() {
		return fmt.Errorf("%w: %s is not a file at %s", vcs.ErrNotFound, b.path, tip.Hash)
	}
	if b.text, err = b.linesOf(e); err != nil {
		return err
	}
	if slices.ContainsFunc(b.text, isBinary) {
		return fmt.Errorf("%w: %s is binary", vcs.ErrInvalid, b.path)
	}
	if to == 0 || to > len(b.text) {
		to = len(b.text)
	}
	from = max(from, 1)
	if from > to && len(b.text) > 0 {
		return fmt.Errorf("%w: %s has lines 1 to %d", vcs.ErrInvalid, b.path, len(b.text))
	}
	b.from, b.text, b.by = from-1, b.text[:to], make([]*object.Commit, to)
	b.pending[tip.Hash] = []span{{from - 1, from - 1, to - from + 1}}
	return nil
}

// linesOf reads a version's lines once; a version that is too large to compare
// has none in common with any.
func (b *blaming) linesOf(e entry) ([][]byte, error) {
	if l, ok := b.lines[e.hash]; ok {
		return l, nil
	}
	data, err := b.blob(e.hash, maxBlame)
	if err != nil {
		return nil, err
	}
	b.lines[e.hash] = splitLines(data)
	return b.lines[e.hash], nil
}

// visit hands a commit's lines on to the parents that have them; the rest are
// its own.
func (b *blaming) visit(c *object.Commit) error {
	spans := b.pending[c.Hash]
	delete(b.pending, c.Hash)
	for _, s := range spans { // for a walk that ends here
		b.claim(c, s)
	}
	now, err := b.entryAt(c, b.path)
	if err != nil {
		return err
	}
	parents, err := b.parents(c)
	if err != nil {
		return err
	}
	before := make([]entry, len(parents))
	for i, p := range parents {
		if before[i], err = b.entryAt(p, b.path); err != nil {
			return err
		}
		if before[i].hash == now.hash && before[i].regular() {
			b.hand(p, spans)
			return nil
		}
	}
	for i, p := range parents {
		if len(spans) == 0 || !before[i].regular() {
			continue
		}
		same, rest, err := b.divide(before[i], now, spans)
		if isTooLarge(err) {
			continue
		}
		if err != nil {
			return err
		}
		b.hand(p, same)
		spans = rest
	}
	return nil
}

func (b *blaming) claim(c *object.Commit, s span) {
	for i := range s.n {
		b.by[s.final+i] = c
	}
}

// hand gives lines to a commit. One that was visited is visited again: clocks
// that run backwards bring it up too early.
func (b *blaming) hand(p *object.Commit, spans []span) {
	if len(spans) == 0 {
		return
	}
	if _, waiting := b.pending[p.Hash]; !waiting {
		delete(b.seen, p.Hash)
		b.push(p)
	}
	b.pending[p.Hash] = append(b.pending[p.Hash], spans...)
}

// divide sorts lines into those that the version before has too, at their
// place there, and the rest.
func (b *blaming) divide(before, now entry, spans []span) (same, rest []span, err error) {
	old, err := b.linesOf(before)
	if err != nil {
		return nil, nil, err
	}
	cur, err := b.linesOf(now)
	if err != nil {
		return nil, nil, err
	}
	edits := diffLines(old, cur)
	slices.SortFunc(spans, func(x, y span) int { return x.at - y.at })
	for _, s := range spans {
		same, rest = splitSpan(s, edits, same, rest)
	}
	return same, rest, nil
}

// splitSpan cuts one span at the edits that touch it.
func splitSpan(s span, edits []edit, same, rest []span) (kept, own []span) {
	shift := 0 // old line less new line
	for _, e := range edits {
		if e.b1 >= s.at+s.n {
			break
		}
		if n := min(e.b1-s.at, s.n); n > 0 {
			same = append(same, span{s.at + shift, s.final, n})
			s = span{s.at + n, s.final + n, s.n - n}
		}
		if n := min(e.b2-s.at, s.n); n > 0 {
			rest = append(rest, span{s.at, s.final, n})
			s = span{s.at + n, s.final + n, s.n - n}
		}
		shift += (e.a2 - e.a1) - (e.b2 - e.b1)
		if s.n == 0 {
			return same, rest
		}
	}
	return append(same, span{s.at + shift, s.final, s.n}), rest
}

func (b *blaming) finish() []BlameLine {
	var out []BlameLine
	for i := b.from; i < len(b.text); i++ {
		l := BlameLine{Line: i + 1, Text: strings.TrimRight(string(b.text[i]), "\r\n")}
		if c := b.by[i]; c != nil {
			l.Commit, l.Author, l.Date = c.Hash.String(), c.Author.Name, c.Author.When
		}
		out = append(out, l)
	}
	return out
}
