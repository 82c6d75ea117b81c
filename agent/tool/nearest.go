package tool

import (
	"slices"
	"strings"
)

// maxCompared caps the length of names that are compared: what a model sends
// as a name is hostile input, and the distance costs the product of lengths.
const maxCompared = 64

// Nearest returns up to n of the known names, the most similar to name first.
func Nearest(name string, known []string, n int) []string {
	if len(name) > maxCompared {
		name = name[:maxCompared]
	}
	name = strings.ToLower(name)
	ranked := slices.Clone(known)
	slices.SortStableFunc(ranked, func(a, b string) int { return distance(name, a) - distance(name, b) })
	return ranked[:min(n, len(ranked))]
}

// distance is the number of single-byte edits between the names; a name that
// holds the other counts as close.
func distance(a, b string) int {
	if len(b) > maxCompared {
		b = b[:maxCompared]
	}
	b = strings.ToLower(b)
	if a != "" && (strings.Contains(b, a) || strings.Contains(a, b)) {
		return 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(row[j]+1, row[j-1]+1, cost)
		}
	}
	return row[len(b)]
}
