package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/vcs"
)

// Joined is a run's journal so far: the lines that Redis has of it, and in front
// of them, or instead of them where they are fewer, what the archive has. It is
// not checked: see Parse. A run that the archive does not know is no error.
func (a *Archive) Joined(ctx context.Context, run jobs.RunID, live [][]byte) ([][]byte, error) {
	content, err := a.Journal(ctx, run)
	if err != nil && !errors.Is(err, vcs.ErrNotFound) {
		return nil, err
	}
	archived := SplitLines(content)
	if len(live) > 0 && len(live) >= len(archived) && NumberOf(live[0]) == 1 {
		return live, nil
	}
	for _, line := range live {
		if NumberOf(line) > uint64(len(archived)) {
			archived = append(archived, line)
		}
	}
	return archived, nil
}

// SplitLines gives the lines of a journal file, without empty ones.
func SplitLines(content []byte) [][]byte {
	var out [][]byte
	for line := range bytes.Lines(content) {
		if line = bytes.TrimSuffix(line, []byte{'\n'}); len(line) > 0 {
			out = append(out, line)
		}
	}
	return out
}

// NumberOf is a record's place in its journal, 0 for what is none.
func NumberOf(line []byte) uint64 {
	var r struct {
		Seq uint64 `json:"seq"`
	}
	if json.Unmarshal(line, &r) != nil {
		return 0
	}
	return r.Seq
}
