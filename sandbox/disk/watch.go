package disk

import (
	"context"
	"errors"
	"time"
)

// Area is one or more trees with a limit that they share.
type Area struct {
	Name string
	Dirs []string // host directories; one that is not there takes nothing
	// Limit is what the area may take; a zero field is no limit.
	Limit Size
}

// Config is what a Watch watches.
type Config struct {
	Areas []Area
	// Every is the time between two looks; zero is 250 ms, which with the
	// walk leaves a large part of five seconds to end a command in.
	Every time.Duration
}

const defaultEvery = 250 * time.Millisecond

// How much of the time may go into walking. A walk that the growth of the file
// system demands may come soon; one that nothing demands may not cost.
const (
	demandedRest = 3  // the rest after a demanded walk, in walks: at most a quarter of the time
	routineRest  = 19 // the same for the others: at most a twentieth
)

// Watch looks at areas again and again. What an area takes at the start is
// never held against the command that runs then: where it is more than the
// limit, the limit becomes what it takes, and only growth beyond it counts. So
// a repository that is too large as it was checked out can be worked in, if
// hardly, and a command may shrink what another left.
//
// A look is cheap: it asks the file system how much it holds. An area is
// walked only if, with all that the file system has gained since the last walk,
// it could be beyond its limit, or if a routine walk is due, since what others
// free on the same file system hides what is gained.
type Watch struct {
	every time.Duration
	areas []*state
}

// NewWatch makes a Watch; nothing happens before Prime or Run.
func NewWatch(c Config) *Watch {
	w := &Watch{every: c.Every}
	if w.every <= 0 {
		w.every = defaultEvery
	}
	for _, a := range c.Areas {
		w.areas = append(w.areas, &state{area: a, limit: a.Limit})
	}
	return w
}

// Prime measures what is there at the start. Run does it if it has not been
// done; calling it before the command starts keeps what the command writes at
// once from passing as what was there. The error is ctx's.
func (w *Watch) Prime(ctx context.Context) error {
	for _, s := range w.areas {
		if !s.primed {
			s.prime(ctx)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Run watches until ctx ends. It calls over, from this goroutine, once each
// time that an area goes beyond its limit, with the area and what it takes (at
// least: counting ends there). Only one Run at a time.
func (w *Watch) Run(ctx context.Context, over func(Area, Size)) {
	if err := w.Prime(ctx); err != nil {
		return
	}
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for {
		for _, s := range w.areas {
			if s.look(ctx) {
				over(s.area, s.size)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Sizes tells what each area took when it was last walked, by name. It must
// not be called while Run runs.
func (w *Watch) Sizes() map[string]Size {
	sizes := map[string]Size{}
	for _, s := range w.areas {
		sizes[s.area.Name] = s.size
	}
	return sizes
}

// state is what a Watch knows of an area.
type state struct {
	area   Area
	limit  Size // the area's, raised to what was there
	primed bool
	first  volume // the file systems at the start
	hidden int64  // what could not be looked into at the start
	size   Size   // at the last walk
	then   volume // the file systems before that walk
	cost   time.Duration
	walked time.Time // the end of that walk
	fired  bool
}

func (s *state) prime(ctx context.Context) {
	s.walk(ctx, Size{})
	if ctx.Err() != nil {
		return // not measured: the next one begins again
	}
	s.first, s.hidden = s.then, s.size.Hidden
	if s.limit.Bytes > 0 {
		s.limit.Bytes = max(s.limit.Bytes, s.size.Bytes)
	}
	if s.limit.Files > 0 {
		s.limit.Files = max(s.limit.Files, s.size.Files)
	}
	s.primed = true
}

// walk measures the area. Too many levels are as bad as too many bytes.
func (s *state) walk(ctx context.Context, stop Size) (tooDeep bool) {
	began := time.Now()
	s.then = volumeOf(s.area.Dirs)
	size, err := measure(ctx, s.area.Dirs, stop)
	if ctx.Err() == nil {
		s.size = size
	}
	s.walked = time.Now()
	s.cost = s.walked.Sub(began)
	return errors.Is(err, ErrTooDeep)
}

// look walks the area if it must and reports whether it has just gone beyond
// its limit.
func (s *state) look(ctx context.Context) bool {
	if s.limit.Bytes <= 0 && s.limit.Files <= 0 {
		return false
	}
	now := volumeOf(s.area.Dirs)
	rest := s.cost * routineRest
	if s.couldExceed(now) {
		rest = s.cost * demandedRest
	}
	if time.Since(s.walked) < rest {
		return false
	}
	tooDeep := s.walk(ctx, s.limit)
	if ctx.Err() != nil {
		return false
	}
	was := s.fired
	s.fired = tooDeep || s.size.Exceeds(s.limit) || s.hides(now)
	return s.fired && !was
}

// couldExceed reports whether the area is beyond its limit if all that its
// file systems have gained since the last walk is in it.
func (s *state) couldExceed(now volume) bool {
	gained := now.since(s.then)
	return Size{Bytes: s.size.Bytes + gained.bytes, Files: s.size.Files + gained.files}.Exceeds(s.limit)
}

// hides reports that more has been closed to the walk than at the start while
// the file systems gained a whole limit: a command of the worker's own account
// can take its permission away with a chmod.
func (s *state) hides(now volume) bool {
	gained := now.since(s.first)
	return s.size.Hidden > s.hidden && Size{Bytes: gained.bytes, Files: gained.files}.Exceeds(s.limit)
}
