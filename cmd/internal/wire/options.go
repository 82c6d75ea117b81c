package wire

import (
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/runner"
)

// Option changes how a process of `serve` works.
type Option func(*server)

// WithPace sets how often workers give signs of life.
func WithPace(p runner.Pace) Option { return func(s *server) { s.pace = p } }

// WithJournals decorates where runs write their records.
func WithJournals(decorate func(journal.Sink) journal.Sink) Option {
	return func(s *server) { s.journals = decorate }
}
