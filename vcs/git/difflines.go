package git

import "bytes"

// maxEdits bounds the search for a shortest diff; beyond it the rest is shown
// as replaced. Memory is quadratic in it: 16 MB.
const maxEdits = 2000

// edit replaces lines [a1,a2) of the old side by [b1,b2) of the new.
type edit struct{ a1, a2, b1, b2 int }

// splitLines cuts after each newline; the last line may lack one.
func splitLines(b []byte) [][]byte {
	var lines [][]byte
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			i = len(b)
		}
		lines = append(lines, b[:i])
		b = b[i:]
	}
	return lines
}

// diffLines returns the edits that turn a into b, in order, found by Myers'
// algorithm ("An O(ND) Difference Algorithm", 1986).
func diffLines(a, b [][]byte) []edit {
	x, y := intern(a, b)
	pre := 0
	for pre < len(x) && pre < len(y) && x[pre] == y[pre] {
		pre++
	}
	post := 0
	for post < len(x)-pre && post < len(y)-pre && x[len(x)-1-post] == y[len(y)-1-post] {
		post++
	}
	x, y = x[pre:len(x)-post], y[pre:len(y)-post]
	if len(x) == 0 && len(y) == 0 {
		return nil
	}
	edits := myers(x, y)
	for i := range edits {
		edits[i].a1, edits[i].a2 = edits[i].a1+pre, edits[i].a2+pre
		edits[i].b1, edits[i].b2 = edits[i].b1+pre, edits[i].b2+pre
	}
	return edits
}

// intern gives equal lines equal numbers.
func intern(a, b [][]byte) (x, y []int) {
	ids := map[string]int{}
	number := func(lines [][]byte) []int {
		out := make([]int, len(lines))
		for i, l := range lines {
			id, ok := ids[string(l)]
			if !ok {
				id = len(ids)
				ids[string(l)] = id
			}
			out[i] = id
		}
		return out
	}
	return number(a), number(b)
}

func myers(x, y []int) []edit {
	n, m := len(x), len(y)
	if n == 0 || m == 0 {
		return []edit{{0, n, 0, m}}
	}
	limit := min(n+m, maxEdits)
	v := make([]int, 2*limit+3)
	off := limit + 1
	var trace [][]int // of each round, the part of v it may look at
	for d := 0; d <= limit; d++ {
		trace = append(trace, append([]int(nil), v[off-d:off+d+1]...))
		for k := -d; k <= d; k += 2 {
			i := v[off+k-1] + 1
			if k == -d || k != d && v[off+k-1] < v[off+k+1] {
				i = v[off+k+1]
			}
			j := i - k
			for i < n && j < m && x[i] == y[j] {
				i, j = i+1, j+1
			}
			v[off+k] = i
			if i >= n && j >= m {
				return backtrack(trace, n, m, nil)
			}
		}
	}
	return giveUp(trace, v, off, limit, n, m)
}

// giveUp keeps the path that got furthest and replaces what is left.
func giveUp(trace [][]int, v []int, off, d, n, m int) []edit {
	best, bi, bj := -1, 0, 0
	for k := -d; k <= d; k += 2 {
		i := v[off+k]
		j := i - k
		if i <= n && j <= m && j >= 0 && i+j > best {
			best, bi, bj = i+j, i, j
		}
	}
	if best < 0 {
		return []edit{{0, n, 0, m}}
	}
	return backtrack(trace, bi, bj, []edit{{bi, n, bj, m}})
}

// backtrack walks from (i,j) to the origin, and joins neighbouring steps;
// tail is what comes after (i,j).
func backtrack(trace [][]int, i, j int, tail []edit) []edit {
	steps := tail
	for d := len(trace) - 1; d > 0; d-- {
		v, k := trace[d], i-j
		at := func(k int) int { return v[k+d] } // v is centred at d
		var pk int
		if k == -d || k != d && at(k-1) < at(k+1) {
			pk = k + 1
		} else {
			pk = k - 1
		}
		pi := at(pk)
		pj := pi - pk
		if pk == k+1 {
			steps = append(steps, edit{pi, pi, pj, pj + 1})
		} else {
			steps = append(steps, edit{pi, pi + 1, pj, pj})
		}
		i, j = pi, pj
	}
	return joinEdits(steps)
}

// joinEdits reverses the steps and merges those that touch.
func joinEdits(steps []edit) []edit {
	var out []edit
	for s := len(steps) - 1; s >= 0; s-- {
		e := steps[s]
		if e.a1 == e.a2 && e.b1 == e.b2 {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].a2 == e.a1 && out[last].b2 == e.b1 {
			out[last].a2, out[last].b2 = e.a2, e.b2
			continue
		}
		out = append(out, e)
	}
	return out
}
