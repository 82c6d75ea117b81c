// Package jsonstream posts a JSON request and reads an answer that comes as a
// stream of JSON values: one a line, or one an event (text/event-stream).
//
// It sits under agent/model and serves the drivers that have no SDK (ollama,
// gemini); the others take their request bodies from it ([Body]). It knows no vendor: what the values mean, and what an error means,
// is the driver's to say.
//
// Invariants: sizes are bounded, of an error's body as of a value of the
// stream; the response is closed by Close, whatever was read of it; a value is
// valid until the next call of Next.
package jsonstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

const (
	// maxValue is the largest value of a stream: a reply may come in one, and
	// JSON's escapes make it longer than what is kept of it (model.MaxReplyBytes).
	maxValue = 16 << 20
	// maxErrorBody is how much of an error's body is read.
	maxErrorBody = 64 << 10
)

// ErrTooLarge is the end of a stream whose next value is over 16 MB.
var ErrTooLarge = errors.New("a value of the stream is too large")

// StatusError is an answer that is no success.
type StatusError struct {
	Status int
	Header http.Header
	Body   []byte // its first 64 KB
}

// Error names the status; the body is the driver's to read.
func (e *StatusError) Error() string { return fmt.Sprintf("status %d", e.Status) }

// Stream is an answer. It is not safe for concurrent use.
type Stream struct {
	body  io.ReadCloser
	lines *bufio.Scanner
	event bool // text/event-stream, else one value a line
	data  []byte
	large bool // the next value is over maxValue
}

// Post sends body as JSON with the headers given and returns the stream of a
// successful answer, a *[StatusError] for any other, and the client's error
// when there is no answer. A nil client is [http.DefaultClient].
func Post(ctx context.Context, client *http.Client, url string, header http.Header, body any) (*Stream, error) {
	data, err := Encode(body)
	if err != nil {
		return nil, fmt.Errorf("writing the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("sending the request: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		// A body that breaks off is as good as what came of it.
		text, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		return nil, &StatusError{Status: res.StatusCode, Header: res.Header, Body: bytes.TrimSpace(text)}
	}
	return newStream(res), nil
}

func newStream(res *http.Response) *Stream {
	s := &Stream{body: res.Body, lines: bufio.NewScanner(res.Body)}
	s.lines.Buffer(nil, maxValue)
	s.event = bytes.HasPrefix([]byte(res.Header.Get("Content-Type")), []byte("text/event-stream"))
	return s
}

// Next reads the next value and says whether there is one. Comments, empty
// lines and all fields of an event but its data are passed over.
func (s *Stream) Next() bool {
	s.data = s.data[:0]
	for s.lines.Scan() {
		line := s.lines.Bytes()
		if !s.event {
			if len(bytes.TrimSpace(line)) > 0 {
				s.data = line
				return true
			}
			continue
		}
		if value, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			if s.large = len(s.data)+len(value) > maxValue; s.large {
				return false
			}
			s.data = append(s.data, bytes.TrimPrefix(value, []byte(" "))...)
			s.data = append(s.data, '\n')
			continue
		}
		if len(line) == 0 && len(s.data) > 0 {
			return true
		}
	}
	return false // an event without its empty line did not end
}

// Data is the value that Next read.
func (s *Stream) Data() []byte { return bytes.TrimSpace(s.data) }

// Err is why Next returned false: nil at the end of the stream.
func (s *Stream) Err() error {
	err := s.lines.Err()
	if s.large || errors.Is(err, bufio.ErrTooLong) {
		return ErrTooLarge
	}
	if err != nil {
		return fmt.Errorf("reading the stream: %w", err)
	}
	return nil
}

// Close releases the answer.
func (s *Stream) Close() error { return s.body.Close() }
