package edit

import (
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// maxShownChanges is how many places of an edit are shown.
const maxShownChanges = 10

// shownDiff shows the changed lines with three lines around them, numbered as
// in the new file.
func shownDiff(oldBody, newBody string, changes []workspace.Change) string {
	before, after := workspace.SplitLines(oldBody), workspace.SplitLines(newBody)
	var b strings.Builder
	shift := 0
	for i, c := range changes {
		if i == maxShownChanges {
			fmt.Fprintf(&b, "… and %d more places\n", len(changes)-i)
			break
		}
		at := c.From + shift
		writeLines(&b, ' ', after, at-contextLines, at)
		writeLines(&b, '-', before, c.From, c.From+c.Old)
		writeLines(&b, '+', after, at, at+c.New)
		writeLines(&b, ' ', after, at+c.New, at+c.New+contextLines)
		shift += c.New - c.Old
	}
	return b.String()
}

func writeLines(b *strings.Builder, mark byte, lines []string, from, to int) {
	const most = 80
	from, to = max(from, 0), min(to, len(lines))
	for i := from; i < to; i++ {
		if i-from == most {
			fmt.Fprintf(b, "… %d lines more\n", to-i)
			return
		}
		fmt.Fprintf(b, "%c%5d│%s\n", mark, i+1, shorten(workspace.ShowLine(lines[i])))
	}
}

// lineChanges finds the changed runs of lines between two bodies.
func lineChanges(before, after string) []workspace.Change {
	a, b := workspace.SplitLines(before), workspace.SplitLines(after)
	pairs, _ := align(a, b, maxAligned)
	var list []workspace.Change
	at, j := 0, 0
	for j <= len(b) {
		start := j
		for j < len(b) && pairs[j] < 0 {
			j++
		}
		next := len(a)
		if j < len(b) {
			next = pairs[j]
		}
		if j > start || next > at {
			list = append(list, workspace.Change{From: at, Old: next - at, New: j - start})
		}
		at = next + 1
		j++
	}
	return list
}
