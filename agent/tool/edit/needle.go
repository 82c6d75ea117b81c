package edit

import "strings"

// shortNeedle is the length up to which strings.Index takes time in proportion
// to the text whatever is in it; beyond, it hashes with a fixed key, and texts
// can be made that collide everywhere.
const shortNeedle = 63

// needle finds a string in time linear in the text (Knuth, Morris, Pratt).
type needle struct {
	want string
	// next[i] is how many characters still match when the one after the first
	// i does not.
	next []int32
}

func newNeedle(want string) needle {
	n := needle{want: want}
	if len(want) <= shortNeedle {
		return n
	}
	n.next = make([]int32, len(want)+1)
	k := int32(0)
	for i := 1; i < len(want); i++ {
		for k > 0 && want[i] != want[k] {
			k = n.next[k]
		}
		if want[i] == want[k] {
			k++
		}
		n.next[i+1] = k
	}
	return n
}

// in returns the first offset of the needle in text, or -1.
func (n needle) in(text string) int {
	if n.next == nil {
		return strings.Index(text, n.want)
	}
	k := 0
	for i := 0; i < len(text); i++ {
		if k == 0 { // skip to where it can begin
			skip := strings.IndexByte(text[i:], n.want[0])
			if skip < 0 {
				return -1
			}
			i += skip
		}
		for k > 0 && text[i] != n.want[k] {
			k = int(n.next[k])
		}
		if text[i] == n.want[k] {
			k++
		}
		if k == len(n.want) {
			return i + 1 - k
		}
	}
	return -1
}
