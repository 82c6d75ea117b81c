package shell

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
)

// failures collects lines that look like failures, each with its number, from
// first to last.
type failures struct {
	first, last int64
	count       int
	shown       strings.Builder
}

func (f *failures) full() bool { return f.count == maxMiddleLines || f.shown.Len() > maxMiddleBytes }

// text looks at the lines of a text that begins at line number from.
func (f *failures) text(s string, from int64) {
	for line := range strings.Lines(s) {
		f.line([]byte(line), from)
		from++
	}
}

func (f *failures) line(line []byte, number int64) {
	if f.full() || number < f.first || number > f.last {
		return
	}
	if bytes.IndexByte(line, 0x1b) >= 0 { // colours end in a letter
		line = []byte(tool.Clean(string(line)))
	}
	if !looksFailed(line) {
		return
	}
	text := strings.TrimRight(tool.Clean(string(line)), "\n")
	if len(text) > maxMiddleLine {
		text = strings.ToValidUTF8(text[:maxMiddleLine], "") + "…"
	}
	fmt.Fprintf(&f.shown, "%d: %s\n", number, text)
	f.count++
}

// failed are words of failures in small letters. whole ones are not followed by
// a letter. Ahead of a word there is no letter either, unless it begins with a
// capital, as in TypeError.
var failed = [...]struct {
	text  string
	whole bool
}{
	{"error", true}, {"errors", true}, {"exception", true}, {"fail", false}, {"failed", true}, {"fatal", true}, {"panic", false},
	{"traceback", true}, {"assert", false}, {"undefined", true}, {"unresolved", true}, {"cannot", true}, {"can't", true},
	{"not found", true}, {"not ok", true}, {"no such", true}, {"denied", true}, {"segmentation", true}, {"sigsegv", true}, {"killed", true},
}

// looksFailed reports whether a line looks like a failure. It reads each byte
// once or twice: outputs have up to 64 MB.
func looksFailed(line []byte) bool {
	if bytes.HasPrefix(line, []byte("E  ")) { // pytest
		return true
	}
	for i := range line {
		switch line[i] | 0x20 {
		case 'e', 'f', 'p', 't', 'a', 'u', 'c', 'n', 'd', 's', 'k':
			if failedAt(line, i) {
				return true
			}
		default:
		}
	}
	return false
}

func failedAt(line []byte, at int) bool {
	if at > 0 && letter(line[at-1]) && line[at]&0x20 != 0 {
		return false
	}
	small := line[at] | 0x20
	for _, f := range failed {
		end := at + len(f.text)
		if f.text[0] != small || end > len(line) || !bytes.EqualFold(line[at:end], []byte(f.text)) {
			continue
		}
		if !f.whole || end == len(line) || !letter(line[end]) {
			return true
		}
	}
	return false
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
