package outline

import (
	"math"
	"path"
	"strings"
)

// The weights of a reference (RUNTIME 1.5, after aider's repository map).
const (
	weightNamed     = 10.0 // the task names it
	weightCompound  = 10.0 // a long name of several words says what it is for
	weightPrivate   = 0.1
	weightScattered = 0.1  // declared in more than scattered files
	weightFromNamed = 50.0 // the reference is in a file that the task names
	scattered       = 5
	tooScattered    = 50 // declared in so many files that it tells nothing
	compoundLength  = 8

	damping    = 0.85 // of PageRank (Brin and Page, 1998)
	iterations = 30
)

// edge is the references from one file to another.
type edge struct {
	to     int32
	weight float64
}

// ranking is the files ordered by how much the rest refers to them.
type ranking struct {
	x     *Index
	task  *mentions
	edges [][]edge
	total []float64
	rank  []float64
}

// ranks runs PageRank over the files, drawn to those that the task names.
func (x *Index) ranks(task *mentions) *ranking {
	r := &ranking{x: x, task: task, edges: make([][]edge, len(x.files)), total: make([]float64, len(x.files))}
	into := make(map[int32]int)
	for i := range x.files {
		clear(into)
		r.each(i, func(_ *name, to int32, w float64) {
			k, ok := into[to]
			if !ok {
				k = len(r.edges[i])
				into[to] = k
				r.edges[i] = append(r.edges[i], edge{to: to})
			}
			r.edges[i][k].weight += w
			r.total[i] += w
		})
	}
	r.run()
	return r
}

// each calls visit for what file i refers to, in a fixed order.
func (r *ranking) each(i int, visit func(n *name, to int32, weight float64)) {
	f := r.x.files[i]
	from := 1.0
	if r.task.files[f.path] {
		from = weightFromNamed
	}
	for k, id := range f.facts.refs.ids {
		n := r.x.names[id]
		if n == nil || len(n.files) > tooScattered {
			continue
		}
		w := from * r.weight(n) * math.Sqrt(float64(f.facts.refs.n[k]))
		for _, to := range n.files {
			if int(to) != i && visible(n.text, f.path, r.x.files[to].path) {
				visit(n, to, w)
			}
		}
	}
}

func (r *ranking) weight(n *name) float64 {
	w := 1.0
	if r.task.names[n.text] {
		w *= weightNamed
	}
	if isCompound(n.text) {
		w *= weightCompound
	}
	if strings.HasPrefix(n.text, "_") || isLower(n.text[0]) && isGo(r.x.files[n.files[0]].path) {
		w *= weightPrivate
	}
	if len(n.files) > scattered {
		w *= weightScattered
	}
	return w
}

// visible says whether code in from can mean the name declared in to: in Go, a
// name in lower case is known in its own directory only.
func visible(name, from, to string) bool {
	return !isLower(name[0]) || !isGo(to) || isGo(from) && path.Dir(from) == path.Dir(to)
}

func isGo(name string) bool { return strings.HasSuffix(name, ".go") }

// isCompound says whether a name is long and of several words.
func isCompound(s string) bool {
	if len(s) < compoundLength {
		return false
	}
	inner := strings.Trim(s, "_")
	if strings.Contains(inner, "_") {
		return true
	}
	for i := 1; i < len(inner); i++ {
		if c := inner[i]; c >= 'A' && c <= 'Z' && isLower(inner[i-1]) {
			return true
		}
	}
	return false
}

// run iterates the ranks. Files without references give theirs to all.
func (r *ranking) run() {
	n := len(r.edges)
	if n == 0 {
		return
	}
	start := r.start()
	r.rank = append([]float64(nil), start...)
	for range iterations {
		next := make([]float64, n)
		lost := 0.0
		for i, out := range r.edges {
			if r.total[i] == 0 {
				lost += r.rank[i]
				continue
			}
			for _, e := range out {
				next[e.to] += damping * r.rank[i] * e.weight / r.total[i]
			}
		}
		for i := range next {
			next[i] += (1 - damping + damping*lost) * start[i]
		}
		r.rank = next
	}
}

// start is where the walk begins: anywhere, but sooner in what the task names.
func (r *ranking) start() []float64 {
	p := make([]float64, len(r.edges))
	sum := 0.0
	for i, f := range r.x.files {
		p[i] = 1
		if r.task.files[f.path] {
			p[i] += float64(len(p)) / float64(1+len(r.task.files))
		}
		switch classOf(f.path) {
		case classTest:
			p[i] *= 0.5
		case classForeign, classOther:
			p[i] *= 0.1
		case classSource:
		}
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// scored is a declaration with its part of its file's rank.
type scored struct {
	file  int32
	name  *name
	score float64
}

// declarations spreads the ranks over what is referred to.
func (r *ranking) declarations() []scored {
	type key struct {
		file int32
		name *name
	}
	at := make(map[key]int)
	var out []scored
	for i := range r.edges {
		if r.total[i] == 0 {
			continue
		}
		share := r.rank[i] / r.total[i]
		r.each(i, func(n *name, to int32, w float64) {
			k, ok := at[key{to, n}]
			if !ok {
				k = len(out)
				at[key{to, n}] = k
				out = append(out, scored{file: to, name: n})
			}
			out[k].score += share * w
		})
	}
	return out
}
