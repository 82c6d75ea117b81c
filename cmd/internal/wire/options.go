package wire

import (
	"time"

	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/jobs/runner"
)

// Option changes how a process of `serve` works.
type Option func(*server)

// WithPace sets how often workers give signs of life.
func WithPace(p runner.Pace) Option { return func(s *server) { s.pace = p } }

// WithClock sets where the program's own parts take the time from; the queue's
// library has the machine's.
func WithClock(now func() time.Time) Option { return func(s *server) { s.now = now } }

// WithJournals decorates where runs write their records.
func WithJournals(decorate func(journal.Sink) journal.Sink) Option {
	return func(s *server) { s.journals = decorate }
}
