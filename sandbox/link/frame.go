package link

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Kind says what a frame holds.
type Kind byte

// From the guest.
const (
	Stdout Kind = 'o'
	Stderr Kind = 'e'
	Exited Kind = 'x' // an Exit; the last frame
)

// From the host.
const (
	Terminate Kind = 't' // ask the command to end
	Kill      Kind = 'k' // end it and all that it started
)

// MaxFrame bounds a frame's payload.
const MaxFrame = 64 << 10

const frameHead = 5

// Writer writes frames; it is safe for concurrent use.
type Writer struct {
	mu  sync.Mutex
	dst io.Writer
	buf []byte // under mu
}

// NewWriter writes to dst.
func NewWriter(dst io.Writer) *Writer { return &Writer{dst: dst} }

// Write writes one frame; p is at most MaxFrame bytes.
func (w *Writer) Write(kind Kind, p []byte) error {
	if len(p) > MaxFrame {
		return fmt.Errorf("%w: a frame of %d bytes", ErrTooLong, len(p))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf[:0], byte(kind))
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(p))) //nolint:gosec // bounded above
	w.buf = append(w.buf, p...)
	_, err := w.dst.Write(w.buf)
	return err
}

// WriteExit writes the last frame.
func (w *Writer) WriteExit(e Exit) error {
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding an exit: %w", err)
	}
	return w.Write(Exited, body)
}

// Reader reads frames. It is used by one goroutine.
type Reader struct {
	src io.Reader
	buf []byte
}

// NewReader reads from src.
func NewReader(src io.Reader) *Reader { return &Reader{src: src, buf: make([]byte, MaxFrame)} }

// Next gives the next frame; its payload is valid until the next call.
func (r *Reader) Next() (Kind, []byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r.src, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > MaxFrame {
		return 0, nil, fmt.Errorf("%w: a frame of %d bytes", ErrTooLong, n)
	}
	p := r.buf[:n]
	if _, err := io.ReadFull(r.src, p); err != nil {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return Kind(head[0]), p, nil
}

// ParseExit reads the payload of an Exited frame.
func ParseExit(p []byte) (Exit, error) {
	var e Exit
	if err := json.Unmarshal(p, &e); err != nil {
		return e, fmt.Errorf("decoding an exit: %w", err)
	}
	return e, nil
}
