package output

import (
	"bytes"
	"sync"

	"github.com/greenwright/greenwright/sandbox"
)

// How much output is kept in memory. The first error of a build is in its
// head, the verdict in its tail.
const (
	HeadBytes = 64 << 10
	TailBytes = 192 << 10
)

// Ring keeps the head and the tail of a stream in bounded memory. The zero
// value is ready. It is not safe for concurrent use.
type Ring struct {
	head  []byte
	tail  []byte // a ring once full
	next  int    // where the next byte goes in a full tail
	total int64
	lines int64
	last  byte
}

// Write never fails.
func (r *Ring) Write(p []byte) (int, error) {
	n := len(p)
	if n == 0 {
		return 0, nil
	}
	r.total += int64(n)
	r.lines += int64(bytes.Count(p, []byte{'\n'}))
	r.last = p[n-1]
	if room := HeadBytes - len(r.head); room > 0 {
		k := min(room, len(p))
		r.head = append(r.head, p[:k]...)
		p = p[k:]
	}
	r.writeTail(p)
	return n, nil
}

func (r *Ring) writeTail(p []byte) {
	if len(p) > TailBytes {
		p = p[len(p)-TailBytes:]
	}
	if room := TailBytes - len(r.tail); room > 0 {
		k := min(room, len(p))
		r.tail = append(r.tail, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(r.tail[r.next:], p)
		r.next = (r.next + k) % TailBytes
		p = p[k:]
	}
}

// Total is the number of bytes written.
func (r *Ring) Total() int64 { return r.total }

// Output gives what is kept.
func (r *Ring) Output() sandbox.Output {
	tail := make([]byte, 0, len(r.tail))
	tail = append(tail, r.tail[r.next:]...)
	tail = append(tail, r.tail[:r.next]...)
	lines := r.lines
	if r.total > 0 && r.last != '\n' {
		lines++
	}
	return sandbox.Output{
		Head: bytes.Clone(r.head), Tail: tail, TotalBytes: r.total, TotalLines: lines,
		Dropped: r.total - int64(len(r.head)) - int64(len(tail)),
	}
}

// tailBytes is what a Tail keeps.
const tailBytes = 4 << 10

// Tail is a writer that keeps the end of what a program said, for the text of
// an error. It is safe for concurrent use.
type Tail struct {
	mu  sync.Mutex
	buf []byte // under mu
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if n := len(t.buf) - tailBytes; n > 0 {
		t.buf = append(t.buf[:0], t.buf[n:]...)
	}
	return len(p), nil
}

// String is what is kept.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
