package redact

// automaton finds many words at once (Aho and Corasick, 1975), as a table of
// the next state for each state and class of byte. Bytes that are in no word
// share a class, which keeps the rows short and the table in the cache. A
// state is the place of its row in the table.
type automaton struct {
	class  [256]uint8
	stride uint32   // length of a row
	next   []uint32 // state + class → state
	hits   [][]int32
	depth  []uint8 // bytes of the longest word begun
	accept uint32  // states from here on have hits
}

// begun is how many bytes of a word a state has seen.
func (a *automaton) begun(state uint32) int { return int(a.depth[state/a.stride]) }

// found are the words that end at a state.
func (a *automaton) found(state uint32) []int32 { return a.hits[state/a.stride] }

// maxWord bounds the words, so that depth fits its type.
const maxWord = 64

// node is a state while the automaton is built.
type node struct {
	next [256]int32 // 0: none
	fail int32
	hits []int32
	deep uint8
}

// newAutomaton reports words by their index. Words longer than maxWord are cut.
func newAutomaton(words [][]byte) *automaton {
	nodes := []node{{}}
	for i, word := range words {
		at := int32(0)
		for _, b := range word[:min(len(word), maxWord)] {
			if nodes[at].next[b] == 0 {
				nodes = append(nodes, node{deep: nodes[at].deep + 1})
				nodes[at].next[b] = int32(len(nodes) - 1) //nolint:gosec // far fewer than 2^31
			}
			at = nodes[at].next[b]
		}
		nodes[at].hits = append(nodes[at].hits, int32(i))
	}
	link(nodes)
	a := &automaton{}
	a.classify(words)
	a.pack(nodes)
	return a
}

// classify gives each byte of a word a class of its own.
func (a *automaton) classify(words [][]byte) {
	a.stride = 1
	for _, word := range words {
		for _, b := range word {
			if a.class[b] == 0 && a.stride < 256 {
				a.class[b] = uint8(a.stride)
				a.stride++
			}
		}
	}
}

// link fills in, breadth first, where a state goes on when a word breaks off.
func link(nodes []node) {
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for b := range 256 {
			child := nodes[at].next[b]
			over := nodes[nodes[at].fail].next[b]
			switch {
			case child == 0:
				nodes[at].next[b] = over
				continue
			case at != 0:
				nodes[child].fail = over
				nodes[child].hits = append(nodes[child].hits, nodes[over].hits...)
			}
			queue = append(queue, child)
		}
	}
}

// pack writes the table, with the states that have hits last.
func (a *automaton) pack(nodes []node) {
	order := make([]uint32, len(nodes))
	a.next = make([]uint32, len(nodes)*int(a.stride))
	a.hits, a.depth = make([][]int32, len(nodes)), make([]uint8, len(nodes))
	var n uint32
	for _, withHits := range []bool{false, true} {
		if withHits {
			a.accept = n * a.stride
		}
		for i := range nodes {
			if (len(nodes[i].hits) > 0) == withHits {
				order[i] = n * a.stride
				a.hits[n], a.depth[n] = nodes[i].hits, nodes[i].deep
				n++
			}
		}
	}
	for i := range nodes {
		for b, to := range nodes[i].next {
			a.next[order[i]+uint32(a.class[b])] = order[to]
		}
	}
}
