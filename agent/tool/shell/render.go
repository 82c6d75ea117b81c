package shell

import (
	"fmt"
	"path"
	"regexp"
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

// workspaceMount is where the sandbox sees the workspace; models use it in
// absolute paths.
const workspaceMount = "/workspace"

// cleanDir makes dir relative to the workspace.
func cleanDir(dir string) (string, bool) {
	if rest, ok := strings.CutPrefix(dir, workspaceMount); ok && (rest == "" || rest[0] == '/') {
		dir = strings.TrimLeft(rest, "/")
	}
	if path.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return "", false
	}
	dir = path.Clean(dir)
	if dir == "." {
		return "", true
	}
	return dir, dir != ".." && !strings.HasPrefix(dir, "../")
}

// render returns the output as shown and whether something is missing.
func render(e tool.Execution) (string, bool) {
	lost := e.TotalBytes - int64(len(e.Head)) - int64(len(e.Tail))
	if lost > 0 {
		return cutOutput(tool.Clean(string(e.Head)), tool.Clean(string(e.Tail)), lost), true
	}
	whole := tool.Clean(string(e.Head) + string(e.Tail))
	if len(whole) <= shownHead+shownTail {
		return whole, false
	}
	return cutOutput(whole, "", 0), true
}

// cutOutput shows the start of head and the end of what follows it, and
// between them the lines that look like failures. lost bytes lie between head
// and tail; without a tail, head is the whole output.
func cutOutput(head, tail string, lost int64) string {
	start := startOf(head, shownHead)
	rest := head[len(start):]
	end := endOf(rest, shownTail)
	middle := rest[:len(rest)-len(end)]
	if lost > 0 {
		end = endOf(tail, shownTail)
		middle = rest + "\n" + tail[:len(tail)-len(end)]
	}
	var b strings.Builder
	b.WriteString(start)
	fmt.Fprintf(&b, "[… %d bytes left out", int64(len(middle))+lost)
	if found := failures(middle, strings.Count(start, "\n"), lost == 0); found != "" {
		b.WriteString("; lines of them that look like failures:\n" + found + "… end of the output:")
	}
	b.WriteString("]\n" + end)
	return b.String()
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

// failures picks lines of s that look like failures. They carry their number
// when it is known; before is how many lines come ahead of s.
func failures(s string, before int, numbered bool) string {
	pattern := regexp.MustCompile(`(?i)\b(error|fail(ed|ure)?|fatal|panic|exception|traceback|assert(ion)?|undefined|cannot|not found)\b|^(---|FAIL|E\s)`)
	var b strings.Builder
	found := 0
	for i, line := range strings.Split(s, "\n") {
		if found == maxMiddleLines || b.Len() > maxMiddleBytes {
			break
		}
		if !pattern.MatchString(line) {
			continue
		}
		if len(line) > maxMiddleLine {
			line = strings.ToValidUTF8(line[:maxMiddleLine], "") + "…"
		}
		if numbered {
			fmt.Fprintf(&b, "%d: ", before+i+1)
		}
		b.WriteString(line + "\n")
		found++
	}
	return b.String()
}
