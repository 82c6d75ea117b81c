package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// record is what of a line of the server's log is shown.
type record struct {
	Message  string `json:"msg"`
	Address  string `json:"address"`
	State    string `json:"state"`
	Phase    string `json:"phase"`
	Command  string `json:"command"`
	ExitCode int    `json:"exit_code"`
}

// tail reads a growing log of JSON lines.
type tail struct {
	path string
	at   int64 // up to where it was read, in bytes
}

// maxRead bounds what is read at once; the rest comes with the next call.
const maxRead = 1 << 20

// next gives the records that were added since the last call. Lines that are
// no JSON are skipped: other programs write to the log as well.
func (t *tail) next() ([]record, error) {
	f, err := os.Open(t.path)
	if err != nil {
		return nil, fmt.Errorf("reading the server's log: %w", err)
	}
	defer func() { _ = f.Close() }()
	buf := make([]byte, maxRead)
	n, err := f.ReadAt(buf, t.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the server's log: %w", err)
	}
	end := bytes.LastIndexByte(buf[:n], '\n') + 1
	t.at += int64(end)
	var out []record
	for line := range bytes.Lines(buf[:end]) {
		var r record
		if json.Unmarshal(line, &r) == nil {
			out = append(out, r)
		}
	}
	return out, nil
}
