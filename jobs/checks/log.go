package checks

import (
	"regexp"
	"strings"

	"github.com/greenwright/greenwright/vcs/gitlabwire"
)

// stamp is what GitHub puts before each line of a log.
var stamp = regexp.MustCompile(`(?m)^\x{FEFF}?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z `)

// groupMark heads the part of GitHub's log that belongs to a step.
const groupMark = "##[group]Run "

// Excerpt cuts the part of the first failed step out of a job's log, without
// the forge's time stamps; the whole log when there is no such part.
func Excerpt(log string) string {
	if gitlabwire.IsTrace(log) {
		return gitlabwire.Excerpt(log)
	}
	log = stamp.ReplaceAllString(log, "")
	end := strings.Index(log, "##[error]")
	if end < 0 {
		return log
	}
	end += lineEnd(log[end:])
	begin := strings.LastIndex(log[:end], groupMark)
	return log[max(begin, 0):end]
}

// lineEnd is the length of the first line.
func lineEnd(s string) int {
	if nl := strings.IndexByte(s, '\n'); nl >= 0 {
		return nl
	}
	return len(s)
}
