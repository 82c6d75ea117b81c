package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs/journal"
)

// exitDiffers says that a replayed run gave other results.
const exitDiffers = 3

func newReplay(g *globals) *cobra.Command {
	var step int
	var opts wire.ReplayOptions
	c := &cobra.Command{
		Use: "replay RUN|JOB|FILE", Short: "Print a run as it happened, or do its calls again",
		Long: "Prints a run as it happened, from its journal: in the archive, still live, or in a file. --step prints one step in full.\n\n" +
			"--from-step does the calls from a step on again: on the run's commit, with its files as they were before that step, in a fresh\n" +
			"sandbox, with the run's own tools, and with a model that says what the journal's model said. It prints which results differ.\n" +
			"The commit comes from --repo, else from the mirror in the data directory; the files from the archive. No forge and no model is\n" +
			"asked for anything. Set-up commands are not run. Durations, times and the names of kept states are not compared, nor are calls\n" +
			"whose worker was lost.\n\n" +
			"Exit code: 0 printed, or all results are the same; 1 it could not be done; 2 misuse; 3 some results differ.",
		Args: misuse(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if step < 0 || opts.From < 0 || step > 0 && opts.From > 0 || opts.Repo != "" && opts.From == 0 {
				return &exitError{code: exitMisuse, err: errors.New("replay: want --step N, or --from-step N (with --repo), N from 1")}
			}
			return withRuns(c, g, func(ctx context.Context, r *wire.Runs) error {
				played, err := r.Played(ctx, args[0])
				if err != nil {
					return err
				}
				if opts.From > 0 {
					return replayFrom(ctx, c, r, played, opts)
				}
				return printPlayed(c.OutOrStdout(), played, step)
			})
		},
	}
	c.Flags().IntVar(&step, "step", 0, "print this step only, in full")
	c.Flags().IntVar(&opts.From, "from-step", 0, "do the calls from this step on again")
	c.Flags().StringVar(&opts.Repo, "repo", "", "a checkout that has the run's commit")
	return c
}

// The lines and columns that a replay shows of a text.
const (
	shownLines   = 6
	shownColumns = 160
	shownArgs    = 100
)

// printPlayed prints a run, or one step of it in full.
func printPlayed(out io.Writer, played wire.Played, step int) error {
	if step > played.Steps {
		return &exitError{code: exitMisuse, err: fmt.Errorf("--step %d: the run has %d steps", step, played.Steps)}
	}
	p := player{out: out, full: step > 0}
	for i, rec := range played.Records {
		if step > 0 && played.Step[i] != step {
			continue
		}
		if p.begin.IsZero() {
			p.begin = played.Records[0].Time
		}
		if err := p.print(rec, played.Step[i]); err != nil {
			return err
		}
	}
	return nil
}

// player prints records one after the other.
type player struct {
	out   io.Writer
	full  bool
	begin time.Time
	step  int // the last whose beginning was said
}

func (p *player) print(rec journal.Record, step int) error {
	d := describe(rec)
	if d.dull && !p.full {
		return nil
	}
	var b strings.Builder
	if step > p.step {
		p.step = step
		fmt.Fprintf(&b, "── step %d\n", step)
	}
	fmt.Fprintf(&b, "%8.1fs  %s", rec.Time.Sub(p.begin).Seconds(), oneLine(tame(d.head), shownColumns))
	body := strings.TrimSpace(tame(d.body))
	switch {
	case body == "":
	case p.full:
		b.WriteString("\n" + indent(body))
	case strings.HasPrefix(d.head, "→ "):
		b.WriteString(" " + oneLine(body, shownArgs))
	default:
		b.WriteString("\n" + indent(shortened(body, shownLines, shownColumns)))
	}
	_, err := fmt.Fprintln(p.out, b.String())
	return err
}

// replayFrom does calls again and prints what came of them.
func replayFrom(ctx context.Context, c *cobra.Command, r *wire.Runs, played wire.Played, opts wire.ReplayOptions) error {
	out := c.OutOrStdout()
	opts.Say = func(format string, args ...any) { sayTo(c.ErrOrStderr(), format, args...) }
	opts.Told = func(d wire.Replayed) { printReplayed(out, d) }
	sum, err := r.Replay(ctx, played, opts, slog.New(slog.DiscardHandler))
	if err != nil {
		if ctx.Err() != nil {
			return &exitError{code: exitInterrupted, err: errors.New("interrupted")}
		}
		return err
	}
	sayTo(out, "%s: %d the same, %d different, %d not compared", plural(sum.Same+sum.Different+sum.Passed, "call"), sum.Same, sum.Different, sum.Passed)
	if sum.Different > 0 {
		return &exitError{code: exitDiffers}
	}
	return nil
}

// printReplayed prints one result.
func printReplayed(out io.Writer, d wire.Replayed) {
	how := "equal"
	switch {
	case d.Passed != "":
		how = "not compared: " + d.Passed
	case d.Diff != "":
		how = "differs"
	}
	sayTo(out, "step %d  %s %s  %s", d.Step, oneLine(tame(d.Name), shownArgs), oneLine(tame(d.Args), shownArgs), tame(how))
	if d.Diff != "" {
		sayTo(out, "%s", indent(shortened(tame(d.Diff), 2*shownLines, shownColumns)))
	}
}
