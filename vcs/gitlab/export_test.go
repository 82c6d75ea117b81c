package gitlab

import "time"

// WithClock replaces the clock.
func WithClock(now func() time.Time) Option { return func(f *Forge) { f.now = now } }
