package box

import (
	"fmt"
	"os"
	"sync"

	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/process"
)

// sink takes a command's output, up to its limit.
type sink struct {
	onOutput, onStderr func([]byte)
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

func newSink(cmd sandbox.Cmd, limit int64) (*sink, error) {
	s := &sink{onOutput: cmd.OnOutput, onStderr: cmd.OnStderr, limit: limit, name: cmd.Artifact, active: make(chan struct{}, 1), over: make(chan struct{})}
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

// take keeps a piece; beyond the limit it is thrown away, so that the command
// is not blocked before it is ended.
func (s *sink) take(p []byte, stderr bool) {
	if !s.keep(p) {
		return
	}
	switch {
	case stderr && s.onStderr != nil:
		s.onStderr(p)
	case s.onOutput != nil:
		s.onOutput(p)
	}
	select {
	case s.active <- struct{}{}:
	default:
	}
}

func (s *sink) keep(p []byte) bool {
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
