package workspace

import "strings"

// What is kept of contents, for saying what changed: enough for ordinary
// source files, little beside the limits of a worker.
const (
	maxKeptFile = 128 << 10 // bytes of one content
	maxKeptAll  = 8 << 20   // bytes of all
	maxPast     = 4         // contents before own edits of one file
)

// keep counts a content; the caller holds mu.
func (r *Reads) keep(body string) string {
	if len(body) > maxKeptFile || r.kept+len(body) > maxKeptAll {
		return ""
	}
	r.kept += len(body)
	return body
}

// drop uncounts a content; the caller holds mu.
func (r *Reads) drop(body string) { r.kept -= len(body) }

// forgetFile removes an entry with what is kept for it; the caller holds mu.
func (r *Reads) forgetFile(path string) {
	if s := r.byPath[path]; s != nil {
		r.drop(s.body)
		for _, p := range s.past {
			r.drop(p)
		}
		delete(r.byPath, path)
	}
}

// Move carries what was shown along with files that got another path: pairs
// of the old and the new one, all at once, so that two files may change places.
func (r *Reads) Move(pairs ...[2]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	carried := make(map[string]*shown)
	for _, p := range pairs {
		if s := r.byPath[p[0]]; s != nil {
			carried[p[1]] = s
			delete(r.byPath, p[0])
		}
	}
	for _, p := range pairs {
		r.forgetFile(p[1])
	}
	for to, s := range carried {
		r.byPath[to] = s
	}
}

// Drop forgets a file that is gone.
func (r *Reads) Drop(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetFile(path)
}

// Last is the content of a file as it was last shown or edited, where it is
// still known.
func (r *Reads) Last(path string) (body string, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byPath[path]
	if s == nil || (s.body == "" && len(s.lines) > 0) {
		return "", false
	}
	return s.body, true
}

// Removed says which of the model's own edits of a file, counted from 1, took
// a text out of it.
func (r *Reads) Removed(path, text string) (edit int, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.byPath[path]
	if s == nil || text == "" {
		return 0, false
	}
	for i := len(s.past) - 1; i >= 0; i-- {
		if strings.Contains(s.past[i], text) {
			return s.edits - (len(s.past) - 1 - i), true
		}
	}
	return 0, false
}
