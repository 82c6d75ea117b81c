package edit

// maxAligned caps the table of align: beyond it only the lines that both ends
// have in common are paired.
const maxAligned = 1_000_000

// align pairs each line of b with the line of a that it is, by longest common
// subsequence, or with -1.
func align(a, b []string) []int {
	pairs := make([]int, len(b))
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
	if len(middleA)*len(middleB) <= maxAligned {
		alignMiddle(middleA, middleB, pairs[head:len(b)-tail], head)
	}
	return pairs
}

func alignMiddle(a, b []string, pairs []int, offset int) {
	width := len(b) + 1
	length := make([]int, (len(a)+1)*width)
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
