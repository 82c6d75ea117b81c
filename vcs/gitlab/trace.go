package gitlab

import (
	"bufio"
	"errors"
	"io"
	"regexp"
	"strings"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/transport"
)

const (
	// maxTraceLine bounds what is kept of a line of a log; commands are echoed
	// on one.
	maxTraceLine = 64 << 10
	// maxSteps bounds the commands taken from a log, which the job's own output
	// can forge.
	maxSteps = 1000
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
	// afterScript is the section whose commands run whatever happened.
	afterScript = ":after_script"
)

// stamp is what newer runners put before each line: time, stream, kind.
var stamp = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z [0-9a-fA-F]{2}[OE]\+? ?`)

// stepsOf reads the commands that a log shows. The last one is how the job
// ended; those before it went well, for a script ends at its first failure.
func stepsOf(log io.Reader, end vcs.Conclusion) ([]vcs.CheckStep, error) {
	steps := []vcs.CheckStep{}
	r := bufio.NewReader(log)
	for len(steps) < maxSteps {
		line, err := readLine(r)
		if isAfterScript(line) {
			break
		}
		if cmd, found := echoed(line); found {
			steps = append(steps, vcs.CheckStep{Number: len(steps) + 1, Name: cmd, Conclusion: vcs.ConclusionSuccess})
		}
		if errors.Is(err, io.EOF) || errors.Is(err, transport.ErrTooLarge) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(steps) > 0 {
		steps[len(steps)-1].Conclusion = end
	}
	return steps, nil
}

// readLine reads a line without its end, and forgets what of it is too long.
func readLine(r *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		b.Write(part[:min(len(part), maxTraceLine-b.Len())])
		if !errors.Is(err, bufio.ErrBufferFull) {
			return strings.TrimRight(b.String(), "\r\n"), err
		}
	}
}

// bare is a line without the runner's marks at its beginning.
func bare(line string) string {
	line = stamp.ReplaceAllString(line, "")
	for {
		i := strings.Index(line, "\r"+clearLine)
		if i < 0 || !strings.HasPrefix(line, "section_") {
			break
		}
		line = line[i+len("\r"+clearLine):]
	}
	return strings.TrimPrefix(line, clearLine)
}

// echoed is the command that a line shows.
func echoed(line string) (string, bool) {
	cmd, found := strings.CutPrefix(bare(line), echoStart)
	if !found {
		return "", false
	}
	cmd, _, _ = strings.Cut(cmd, echoEnd)
	cmd = strings.TrimSuffix(strings.TrimRight(cmd, "\r"), collapsed)
	return cmd, cmd != ""
}

// isAfterScript reports whether a line begins the section of after_script.
func isAfterScript(line string) bool {
	mark, _, _ := strings.Cut(stamp.ReplaceAllString(line, ""), "\r")
	mark, _, _ = strings.Cut(mark, "[") // a section's options
	return strings.HasPrefix(mark, "section_start:") && strings.HasSuffix(mark, afterScript)
}
