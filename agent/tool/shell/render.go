package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/greenwright/greenwright/agent/tool"
)

// What of an output is shown (RUNTIME 1.8).
const (
	shownHead      = 4 << 10
	shownTail      = 12 << 10
	maxMiddleLines = 40
	maxMiddleBytes = 8 << 10
	maxMiddleLine  = 400
)

// ShownBytes is how long an output may be and still be shown whole.
const ShownBytes = shownHead + shownTail

// Opener is implemented by executors that keep whole outputs: Open gives the
// one that an Execution's Artifact names, or an error that says why it is no
// longer kept.
type Opener interface {
	Open(id string) (io.ReadSeekCloser, error)
}

// render returns the output as shown and whether something is missing. whole
// opens all of it; it may be nil.
func render(e tool.Execution, whole func() (io.ReadSeekCloser, error)) (string, bool) {
	head, tail := tool.Clean(string(e.Head)), tool.Clean(string(e.Tail))
	lost := e.TotalBytes - int64(len(e.Head)) - int64(len(e.Tail))
	if lost <= 0 {
		head, tail = tool.Clean(string(e.Head)+string(e.Tail)), ""
		if len(head) <= ShownBytes {
			return head, false
		}
	}
	return newCut(head, tail, lost, e.TotalLines).show(whole), true
}

// cut is an output without its middle. lost bytes are missing between before
// and after; lines are counted from 1.
type cut struct {
	start, end    string
	before, after string // what is left out of what is kept
	lost          int64
	first, last   int64 // the lines that are left out
}

// newCut shows the start of head and the end of what follows it. Without
// anything lost, head is the whole output.
func newCut(head, tail string, lost, lines int64) cut {
	c := cut{start: startOf(head, shownHead), lost: max(lost, 0)}
	rest := head[len(c.start):]
	if lost > 0 {
		c.end = endOf(tail, shownTail)
		c.before, c.after = rest, tail[:len(tail)-len(c.end)]
	} else {
		c.end = endOf(rest, shownTail)
		c.before = rest[:len(rest)-len(c.end)]
		lines = int64(lineCount(head))
	}
	c.first = int64(strings.Count(c.start, "\n")) + 1
	c.last = lines - int64(lineCount(c.end))
	return c
}

func lineCount(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

func (c cut) show(whole func() (io.ReadSeekCloser, error)) string {
	found := failures{first: c.first, last: c.last}
	if c.lost == 0 || whole == nil || c.scan(whole, &found) != nil {
		found = failures{first: c.first, last: c.last}
		found.text(c.before, c.first)
		found.text(c.after, c.last-int64(lineCount(c.after))+1)
	}
	var b strings.Builder
	b.WriteString(c.start)
	if !strings.HasSuffix(c.start, "\n") {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "[… %d bytes left out", int64(len(c.before)+len(c.after))+c.lost)
	if found.count > 0 {
		b.WriteString("; lines of them that look like failures:\n" + found.shown.String() + "… and then:")
	}
	b.WriteString("]\n" + c.end)
	return b.String()
}

// scan looks for failures in the whole output.
func (c cut) scan(whole func() (io.ReadSeekCloser, error), found *failures) error {
	r, err := whole()
	if err != nil {
		return fmt.Errorf("opening the output: %w", err)
	}
	defer func() { _ = r.Close() }()
	lines := bufio.NewReaderSize(r, 64<<10)
	for n := int64(1); n <= c.last && !found.full(); n++ {
		line, err := lines.ReadSlice('\n')
		found.line(line, n)
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a very long line is passed over
			_, err = lines.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the output: %w", err)
		}
	}
	return nil
}

func startOf(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if nl := strings.LastIndexByte(s[:n], '\n'); nl >= 0 {
		return s[:nl+1]
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func endOf(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[len(s)-n]) {
		n--
	}
	s = s[len(s)-n:]
	if nl := strings.IndexByte(s, '\n'); nl >= 0 && nl < len(s)-1 {
		return s[nl+1:]
	}
	return s
}
