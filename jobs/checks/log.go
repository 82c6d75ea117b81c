package checks

import (
	"regexp"
	"strings"
)

// stamp is what GitHub puts before each line of a log.
var stamp = regexp.MustCompile(`(?m)^\x{FEFF}?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z `)

// gitlabStamp is what newer GitLab runners put there: time, stream, and whether
// the line goes on.
var gitlabStamp = regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z [0-9a-fA-F]{2}[OE]\+? ?`)

// section is the mark around a part of a GitLab log.
var section = regexp.MustCompile(`section_(?:start|end):\d+:[\w.-]+(?:\[[^\]]*\])?\r\x1b\[0K`)

// afterScript begins the part of a GitLab log whose commands run whatever
// happened.
var afterScript = regexp.MustCompile(`(?m)(?:^|\x1b\[0K)(section_start:\d+:after_script(?:\[[^\]]*\])?\r)`)

// echo begins the line by which a GitLab runner shows a command: bold green.
const echo = "\x1b[32;1m$ "

// groupMark heads the part of GitHub's log that belongs to a step.
const groupMark = "##[group]Run "

// Excerpt cuts the part of the first failed step out of a job's log, without
// the forge's time stamps; the whole log when there is no such part.
func Excerpt(log string) string {
	if section.MatchString(log) || strings.Contains(log, echo) {
		return gitlabExcerpt(log)
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

// gitlabExcerpt ends with the command that failed: what comes after it in
// after_script does not count.
func gitlabExcerpt(log string) string {
	log = gitlabStamp.ReplaceAllString(log, "")
	if at := afterScript.FindStringSubmatchIndex(log); at != nil {
		failed := ""
		if i := strings.LastIndex(log, "ERROR: Job failed"); i > at[2] {
			failed = log[i : i+lineEnd(log[i:])]
		}
		log = log[:at[2]] + failed
	}
	log = section.ReplaceAllString(log, "")
	begin := strings.LastIndex(log, echo)
	end := len(log)
	if i := strings.LastIndex(log, "ERROR: Job failed"); i > begin {
		end = i + lineEnd(log[i:])
	}
	return log[max(begin, 0):end]
}

// lineEnd is the length of the first line.
func lineEnd(s string) int {
	if nl := strings.IndexByte(s, '\n'); nl >= 0 {
		return nl
	}
	return len(s)
}
