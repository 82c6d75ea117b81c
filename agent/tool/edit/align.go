package edit

import (
	"context"
	"slices"
)

// maxCells bounds the tables of all alignments of one edit, about half a
// second of work; when it is spent, lines are paired only from both ends.
const maxCells = 50_000_000

// effort is what one edit may still cost: its context, whose deadline is
// looked at in every loop over places, and the cells of its alignments.
type effort struct {
	ctx   context.Context // of the one call to Apply
	cells int
	// The last alignment: with replace_all every place asks for the same.
	a, b  []string
	pairs []int
}

func newEffort(ctx context.Context) *effort { return &effort{ctx: ctx, cells: maxCells} }

// spent says that the time is up.
func (e *effort) spent() bool { return e.ctx.Err() != nil }

// align is [align] within the budget. The caller does not change the result.
func (e *effort) align(a, b []string) []int {
	if e.pairs != nil && slices.Equal(a, e.a) && slices.Equal(b, e.b) {
		return e.pairs
	}
	limit := min(maxAligned, e.cells)
	pairs, cells := align(a, b, limit)
	e.cells -= cells
	e.a, e.b, e.pairs = a, b, pairs
	return pairs
}

// maxAligned caps the table of one alignment: beyond it only the lines that both
// ends have in common are paired.
const maxAligned = 1_000_000

// align pairs each line of b with the line of a that it is, by longest common
// subsequence, or with -1. It says how many cells its table had.
func align(a, b []string, limit int) (pairs []int, cells int) {
	pairs = make([]int, len(b))
	for i := range pairs {
		pairs[i] = -1
	}
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		pairs[head] = head
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
		pairs[len(b)-tail] = len(a) - tail
	}
	middleA, middleB := a[head:len(a)-tail], b[head:len(b)-tail]
	if cells = len(middleA) * len(middleB); cells > limit {
		return pairs, 0
	}
	alignMiddle(middleA, middleB, pairs[head:len(b)-tail], head)
	return pairs, cells
}

func alignMiddle(a, b []string, pairs []int, offset int) {
	width := len(b) + 1
	length := make([]int32, (len(a)+1)*width)
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i*width+j] = length[(i+1)*width+j+1] + 1
			} else {
				length[i*width+j] = max(length[(i+1)*width+j], length[i*width+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pairs[j] = offset + i
			i, j = i+1, j+1
		case length[(i+1)*width+j] >= length[i*width+j+1]:
			i++
		default:
			j++
		}
	}
}
