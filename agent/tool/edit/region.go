package edit

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// region is where the lines that were asked for nearly stand.
type region struct {
	from, to  int // lines of the file, to excluded
	file      int // the first line of the file that differs, or -1
	sent      int // and the line sent in its place
	atFileEnd bool
}

const (
	maxVotes   = 50  // places of one line that are looked at
	maxAsked   = 400 // lines of a request that are looked at
	maxStarts  = 5   // regions that are aligned
	leastAlike = 4   // bytes that two lines must share to be alike
)

// nearest finds the region that has the most of the asked lines in their
// order (longest common subsequence, spaces at the ends of lines aside), at
// least half of them.
func nearest(lines, asked []string) (region, bool) {
	asked = asked[:min(len(asked), maxAsked)]
	if len(asked) == 1 {
		at, ok := nearestLine(lines, asked[0])
		return region{from: at, to: at + 1, file: at, sent: 0}, ok
	}
	content := 0
	for _, l := range asked {
		if !isBlank(l) {
			content++
		}
	}
	var best region
	most := 0
	for _, start := range starts(lines, asked) {
		r, equal := compare(lines, asked, start)
		if equal > most {
			best, most = r, equal
		}
	}
	return best, most > 0 && most*2 >= content
}

// starts are the lines at which the request most likely begins: every asked
// line votes for the start that its places in the file imply.
func starts(lines, asked []string) []int {
	wanted := make(map[string][]int)
	for j, l := range asked {
		if l = strings.TrimSpace(l); l != "" {
			wanted[l] = append(wanted[l], j)
		}
	}
	votes, seen := make(map[int]int), make(map[string]int)
	for i, l := range lines {
		l = strings.TrimSpace(l)
		if len(wanted[l]) == 0 || seen[l] >= maxVotes {
			continue
		}
		seen[l]++
		for _, j := range wanted[l] {
			votes[i-j]++
		}
	}
	order := slices.SortedFunc(maps.Keys(votes), func(a, b int) int {
		return cmp.Or(cmp.Compare(votes[b], votes[a]), cmp.Compare(a, b))
	})
	return order[:min(len(order), maxStarts)]
}

// compare aligns the request with the lines around a start.
func compare(lines, asked []string, start int) (r region, equal int) {
	slack := len(asked)/4 + 3
	low := max(start-slack, 0)
	window := lines[low:max(min(start+len(asked)+slack, len(lines)), low)]
	pairs, _ := align(trimmed(window), trimmed(asked), maxAligned)
	first, last := -1, -1
	for j, i := range pairs {
		if i >= 0 && !isBlank(asked[j]) {
			equal++
			if first < 0 {
				first = j
			}
			last = j
		}
	}
	if first < 0 {
		return r, 0
	}
	r.from = max(low+pairs[first]-first, 0)
	r.to = min(low+pairs[last]+len(asked)-last, len(lines))
	r.file, r.sent = difference(lines, asked, pairs, low, r.from)
	r.atFileEnd = r.file >= len(lines)
	return r, equal
}

func trimmed(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimSpace(l)
	}
	return out
}

// difference walks the alignment to the first line that is not the same.
func difference(lines, asked []string, pairs []int, low, from int) (file, sent int) {
	i := from
	for j, pair := range pairs {
		at := low + pair
		if pair < 0 || at != i {
			return i, j
		}
		if lines[at] != asked[j] {
			return at, j
		}
		i = at + 1
	}
	return -1, -1
}

// nearestLine finds the line that shares at least half of the asked line as
// its start and end.
func nearestLine(lines []string, asked string) (int, bool) {
	asked = strings.TrimSpace(asked)
	best, most := 0, 0
	for i, l := range lines {
		l = strings.TrimSpace(l)
		if n := shared(l, asked); n > most {
			best, most = i, n
		}
	}
	return best, most >= leastAlike && most*2 >= len(asked)
}

// shared is how many bytes a and b have in common at their ends.
func shared(a, b string) int {
	n := min(len(a), len(b))
	head := 0
	for head < n && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < n-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return head + tail
}
