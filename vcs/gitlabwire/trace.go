package gitlabwire

import (
	"regexp"
	"strings"
)

// Runners echo each command before they run it, in bold green
// (gitlab.com/gitlab-org/gitlab-runner, shells: "echo with a command").
const (
	echoStart = "\x1b[32;1m$ "
	echoEnd   = "\x1b[0;m"
	// collapsed is added to the first line of a command that has several.
	collapsed = " # collapsed multi-line command"
	// clearLine stands after a section's mark, and before what a runner says.
	clearLine = "\x1b[0K"
	// failure is a runner's last word of a job that is red.
	failure = "ERROR: Job failed"
	// afterScript is the section whose commands run whatever happened.
	afterScript = "after_script"
)

// stamp is what newer runners put before each line: time, stream, kind.
var stamp = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z [0-9a-fA-F]{2}[OE]\+? ?`)

// section is the mark of a section at the beginning of what is left of a line;
// several can follow each other.
var section = regexp.MustCompile(`^section_(start|end):[0-9]+:([\w.-]+)(?:\[[^\]]*\])?\r`)

// IsTrace reports a log of a GitLab runner.
func IsTrace(log string) bool {
	return strings.Contains(log, echoStart) || strings.Contains(log, "\r"+clearLine)
}

// Unmarked is a line without the runner's marks at its beginning; after reports
// that the commands of after_script begin with it.
func Unmarked(line string) (text string, after bool) {
	line = strings.TrimPrefix(stamp.ReplaceAllString(line, ""), clearLine)
	for {
		m := section.FindStringSubmatch(line)
		if m == nil {
			return line, after
		}
		after = after || m[1] == "start" && m[2] == afterScript
		line = strings.TrimPrefix(line[len(m[0]):], clearLine)
		line = strings.TrimPrefix(line, clearLine) // a section's title has one of its own
	}
}

// Echoed is the command that an unmarked line shows, of several lines the first.
func Echoed(text string) (command string, found bool) {
	command, found = strings.CutPrefix(text, echoStart)
	if !found {
		return "", false
	}
	command, _, _ = strings.Cut(command, echoEnd)
	command = strings.TrimSuffix(strings.TrimRight(command, "\r\n"), collapsed)
	return command, command != ""
}

// Excerpt cuts the part of the command that failed out of a log: what comes
// after it in after_script does not count, but for the runner's last word.
func Excerpt(log string) string {
	var kept []string
	begin, end, after := 0, 0, false
	for line := range strings.Lines(log) {
		text, from := Unmarked(line)
		after = after || from
		last := strings.Contains(text, failure)
		if after && !last {
			continue
		}
		if _, echoed := Echoed(text); echoed && !after {
			begin, end = len(kept), 0
		}
		kept = append(kept, text)
		if last {
			end = len(kept)
		}
	}
	if end == 0 {
		return strings.Join(kept[begin:], "")
	}
	return strings.TrimRight(strings.Join(kept[begin:end], ""), "\r\n")
}
