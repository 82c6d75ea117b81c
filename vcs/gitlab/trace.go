package gitlab

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/greenwright/greenwright/vcs"
	"github.com/greenwright/greenwright/vcs/gitlabwire"
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

// stepsOf reads the commands that a log shows. The last one is how the job
// ended; those before it went well, for a script ends at its first failure.
func stepsOf(log io.Reader, end vcs.Conclusion) ([]vcs.CheckStep, error) {
	steps := []vcs.CheckStep{}
	r := bufio.NewReader(log)
	for len(steps) < maxSteps {
		line, err := readLine(r)
		text, after := gitlabwire.Unmarked(line)
		if after {
			break
		}
		if cmd, found := gitlabwire.Echoed(text); found {
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
