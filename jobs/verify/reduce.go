package verify

import (
	"fmt"
	"regexp"
	"strings"
)

// How much of a command's output goes into records, prompts and reports.
const (
	headLines  = 30
	tailLines  = 60
	maxLine    = 400
	maxReduced = 8 << 10
)

// terminal matches escape sequences (ECMA-48 CSI and OSC, and lone escapes).
var terminal = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?`)

// Reduce makes output fit to be read: no escapes, no control characters, long
// lines cut, the head and the tail with a notice of what is between.
func Reduce(output string) string {
	output = strings.ToValidUTF8(terminal.ReplaceAllString(output, ""), "\uFFFD")
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if n := len(lines) - headLines - tailLines; n > 0 {
		head, tail := lines[:headLines], lines[len(lines)-tailLines:]
		lines = append(append(append([]string{}, head...), fmt.Sprintf("[… %d lines left out …]", n)), tail...)
	}
	for i, l := range lines {
		lines[i] = cleanLine(l)
	}
	out := strings.Join(lines, "\n")
	if len(out) > maxReduced {
		out = strings.ToValidUTF8(out[:maxReduced/3], "") + "\n[… cut …]\n" + strings.ToValidUTF8(out[len(out)-2*maxReduced/3:], "")
	}
	return out
}

// cleanLine applies carriage returns, drops control characters and cuts.
func cleanLine(l string) string {
	l = strings.TrimRight(l, "\r")
	if i := strings.LastIndexByte(l, '\r'); i >= 0 {
		l = l[i+1:]
	}
	l = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, l)
	if len(l) > maxLine {
		l = strings.ToValidUTF8(l[:maxLine], "") + " […]"
	}
	return l
}
