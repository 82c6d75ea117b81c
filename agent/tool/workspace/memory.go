package workspace

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// Keep gives what the model was shown of which file, for [tool.Keeper]: by
// path the SHA-256 of the content as shown, how many own edits there were, and
// the lines, as in "<sum> 2 0-40,60-75" (zero-based, the end excluded).
func (w *Workspace) Keep() map[string]string { return w.reads.keepAll() }

// Restore takes what [Workspace.Keep] gave. A file whose content now is the
// one that was shown counts as shown in those lines; any other is not read.
func (w *Workspace) Restore(kept map[string]string) {
	w.reads.forgetAll()
	for path, cell := range kept {
		m, err := parseMark(cell)
		if err != nil {
			continue
		}
		p, err := w.Resolve(path)
		if err != nil || p.Real != path {
			continue
		}
		f, err := w.Read(p)
		if err != nil {
			continue
		}
		text, err := Decode(f.Bytes)
		if err != nil || sumOf(text.Body) != m.sum {
			continue
		}
		w.reads.restore(path, text.Body, m)
	}
}

func (r *Reads) keepAll() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]string, len(r.byPath))
	for path, s := range r.byPath {
		out[path] = s.mark()
	}
	return out
}

func (r *Reads) forgetAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byPath, r.kept = make(map[string]*shown), 0
}

func (r *Reads) restore(path, body string, m mark) {
	for _, span := range m.spans {
		r.Show(path, body, span[0], span[1])
	}
	if len(m.spans) == 0 {
		r.Show(path, body, 0, 0)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.byPath[path].edits = m.edits
}

// mark is a cell as read.
type mark struct {
	sum   string
	edits int
	spans [][2]int
}

// mark writes the cell of a file.
func (s *shown) mark() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", s.sum, s.edits)
	sep := byte(' ')
	for from := 0; from < len(s.seen); from++ {
		if !s.seen[from] {
			continue
		}
		to := from
		for to < len(s.seen) && s.seen[to] {
			to++
		}
		b.WriteByte(sep)
		b.WriteString(strconv.Itoa(from) + "-" + strconv.Itoa(to))
		sep, from = ',', to
	}
	return b.String()
}

func parseMark(cell string) (mark, error) {
	sum, rest, _ := strings.Cut(cell, " ")
	edits, spans, some := strings.Cut(rest, " ")
	n, err := strconv.Atoi(edits)
	if err != nil || n < 0 {
		return mark{}, fmt.Errorf("reading the number of edits of %q", cell)
	}
	m := mark{sum: sum, edits: n}
	if !some {
		return m, nil
	}
	for part := range strings.SplitSeq(spans, ",") {
		a, b, _ := strings.Cut(part, "-")
		from, err1 := strconv.Atoi(a)
		to, err2 := strconv.Atoi(b)
		if err1 != nil || err2 != nil || from < 0 || to < from {
			return mark{}, fmt.Errorf("reading the lines of %q", cell)
		}
		m.spans = append(m.spans, [2]int{from, to})
	}
	return m, nil
}

// sumOf names a content.
func sumOf(body string) string {
	sum := sha256.Sum256([]byte(body))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
