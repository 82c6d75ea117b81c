package box

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/process"
)

// sink takes a command's output, up to its limit.
type sink struct {
	onOutput, onStderr func([]byte)
	stdout, stderr     io.Writer // through the filter, if there is one
	filters            []io.Closer
	limit              int64
	active             chan struct{} // something came
	over               chan struct{} // closed at the limit

	mu      sync.Mutex
	ring    process.Ring // under mu
	file    *os.File     // under mu
	name    string
	reached bool // under mu
	err     error
}

func newSink(cmd sandbox.Cmd, spec sandbox.Spec) (*sink, error) {
	s := &sink{onOutput: cmd.OnOutput, onStderr: cmd.OnStderr, limit: spec.Limits.OutputBytes, name: cmd.Artifact, active: make(chan struct{}, 1), over: make(chan struct{})}
	s.stdout = s.filtered(spec, func(p []byte) { s.keep(p, false) })
	s.stderr = s.stdout
	if cmd.OnStderr != nil {
		s.stderr = s.filtered(spec, func(p []byte) { s.keep(p, true) })
	}
	if cmd.Artifact == "" {
		return s, nil
	}
	f, err := os.OpenFile(cmd.Artifact, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the output file: %w", err)
	}
	s.file = f
	return s, nil
}

// writerFunc is a function as an io.Writer.
type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) {
	f(p)
	return len(p), nil
}

func (s *sink) filtered(spec sandbox.Spec, keep writerFunc) io.Writer {
	if spec.Filter == nil {
		return keep
	}
	w := spec.Filter(keep)
	s.filters = append(s.filters, w)
	return w
}

// take passes a piece on.
func (s *sink) take(p []byte, stderr bool) {
	select {
	case s.active <- struct{}{}:
	default:
	}
	w := s.stdout
	if stderr {
		w = s.stderr
	}
	if _, err := w.Write(p); err != nil {
		s.fail(fmt.Errorf("filtering the output: %w", err))
	}
}

// flush gets out what the filters hold back.
func (s *sink) flush() {
	for _, f := range s.filters {
		if err := f.Close(); err != nil {
			s.fail(fmt.Errorf("filtering the output: %w", err))
		}
	}
	s.filters = nil
}

func (s *sink) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
}

// keep keeps and shows a piece; beyond the limit it is thrown away, so that
// the command is not blocked before it is ended.
func (s *sink) keep(p []byte, stderr bool) {
	if !s.store(p) {
		return
	}
	switch {
	case stderr && s.onStderr != nil:
		s.onStderr(p)
	case s.onOutput != nil:
		s.onOutput(p)
	}
}

func (s *sink) store(p []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reached {
		return false
	}
	_, _ = s.ring.Write(p)
	if s.file != nil && s.err == nil {
		if _, err := s.file.Write(p); err != nil {
			s.err = fmt.Errorf("writing the output file: %w", err)
		}
	}
	if s.ring.Total() >= s.limit {
		s.reached = true
		close(s.over)
	}
	return true
}

func (s *sink) output() sandbox.Output {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.ring.Output()
	out.Artifact = s.name
	return out
}

func (s *sink) close() {
	s.flush()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return
	}
	if err := s.file.Close(); err != nil && s.err == nil {
		s.err = fmt.Errorf("closing the output file: %w", err)
	}
	s.file = nil
}
