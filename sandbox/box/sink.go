package box

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/output"
)

// sink takes a command's output, up to its limit.
type sink struct {
	onOutput, onStderr func([]byte)
	stdout, stderr     io.Writer // through the filter, if there is one
	filters            []io.Closer
	limit              int64
	active             chan struct{} // something came
	over               chan struct{} // closed beyond the limit
	broken             bool          // a callback has panicked: none is called any more

	mu      sync.Mutex
	ring    output.Ring // under mu
	file    *os.File    // under mu
	name    string
	reached bool  // under mu
	err     error // under mu; the first one
}

func newSink(cmd sandbox.Cmd, spec sandbox.Spec) (*sink, error) {
	s := &sink{onOutput: cmd.OnOutput, onStderr: cmd.OnStderr, limit: spec.Limits.OutputBytes, name: cmd.Artifact, active: make(chan struct{}, 1), over: make(chan struct{})}
	if cmd.Artifact != "" {
		f, err := os.OpenFile(cmd.Artifact, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return nil, fmt.Errorf("creating the output file: %w", err)
		}
		s.file = f
	}
	s.stdout = s.filtered(spec, func(p []byte) { s.keep(p, false) })
	s.stderr = s.stdout
	if cmd.OnStderr != nil {
		s.stderr = s.filtered(spec, func(p []byte) { s.keep(p, true) })
	}
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
	if len(p) == 0 {
		return
	}
	select {
	case s.active <- struct{}{}:
	default:
	}
	w := s.stdout
	if stderr {
		w = s.stderr
	}
	if s.broken {
		return
	}
	s.guarded(func() error {
		_, err := w.Write(p)
		return err
	})
}

// flush gets out what the filters hold back.
func (s *sink) flush() {
	for _, f := range s.filters {
		s.guarded(f.Close)
	}
	s.filters = nil
}

// guarded calls what is not this package's: a filter, and behind it OnOutput.
// A panic there is the caller's fault and becomes its error: in the goroutine
// of a command, where the caller cannot recover it, it would end the worker.
func (s *sink) guarded(f func() error) {
	defer func() {
		if r := recover(); r != nil {
			s.broken = true
			s.fail(fmt.Errorf("handing on the output: panic: %v\n%s", r, debug.Stack()))
		}
	}()
	if err := f(); err != nil {
		s.fail(fmt.Errorf("filtering the output: %w", err))
	}
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
	p = s.store(p)
	switch {
	case len(p) == 0 || s.broken:
	case stderr && s.onStderr != nil:
		s.onStderr(p)
	case s.onOutput != nil:
		s.onOutput(p)
	}
}

// store gives what of a piece is within the limit.
func (s *sink) store(p []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reached {
		return nil
	}
	if room := s.limit - s.ring.Total(); int64(len(p)) > room {
		p = p[:room]
		s.reached = true
		close(s.over)
	}
	_, _ = s.ring.Write(p)
	if s.file != nil && s.err == nil {
		if _, err := s.file.Write(p); err != nil {
			s.err = fmt.Errorf("writing the output file: %w", err)
		}
	}
	return p
}

// full reports whether there was more than the limit.
func (s *sink) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reached
}

// fault is the first error.
func (s *sink) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
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
