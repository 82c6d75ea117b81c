package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/greenwright/greenwright/vcs"
)

// Options are what a demonstration may be given; Greenwright and Out are
// required.
type Options struct {
	// Greenwright is the path of the built binary.
	Greenwright string
	// Forge is what is simulated, one of Forges; empty is GitHub.
	Forge vcs.ForgeName
	// Keep leaves the directory for a look afterwards.
	Keep bool
	// Out is written to by one goroutine.
	Out io.Writer
	// Color allows ANSI colour.
	Color bool
	// Environ is the environment, as os.Environ gives it.
	Environ []string
}

// The guards against hanging. A run without a model takes some twenty seconds;
// a model may need several turns.
const (
	limit      = 3 * time.Minute
	modelLimit = 15 * time.Minute
)

// errHung is the cause when a guard ends the demonstration.
var errHung = errors.New("it took too long: something hangs")

// Run plays the demonstration. Its error names everything that did not come,
// and where the server's log is; it wraps context.Canceled when ctx ended.
func Run(ctx context.Context, opts Options) error {
	model := chooseModel(opts.Environ)
	allowed := limit
	if model.name != "" {
		allowed += modelLimit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, allowed, errHung)
	defer cancel()
	out := newPrinter(opts.Out, opts.Color, time.Now)
	s := &stage{opts: opts, out: out, model: model}
	err := s.open(ctx)
	if err == nil {
		err = s.play(ctx)
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
		out.line("\nStopping: %s at the most.", stopWait)
	}
	return s.clear(errors.Join(err, s.stop(ctx)))
}

// clear removes the directory, or says why it is still there.
func (s *stage) clear(err error) error {
	switch {
	case s.dir == "":
		return err
	case err != nil && s.server != nil && !errors.Is(err, context.Canceled):
		s.out.tail(s.serverLog())
		return fmt.Errorf("%w\n\nthe server's log is %s (the directory is left for a look)", err, s.serverLog())
	case s.opts.Keep:
		s.out.line("Kept for a look: %s", s.dir)
		return err
	}
	if rmErr := os.RemoveAll(s.dir); rmErr != nil {
		return errors.Join(err, fmt.Errorf("removing the demonstration's directory: %w", rmErr))
	}
	return err
}
