package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
)

// The exit codes of `run`.
const (
	exitUnverified  = 3
	exitNoChange    = 4
	exitInterrupted = 130
)

func newRun(g *globals) *cobra.Command {
	var opts wire.RunOptions
	var asJSON, verbose bool
	c := &cobra.Command{
		Use: "run --repo DIR|URL --task TEXT", Short: "Do one job on a checkout, without a forge",
		Long: "Does one job on a checkout: runs the verifying commands, lets the model work in the sandbox, runs them again, and leaves a branch.\n\n" +
			"Exit code: 0 verified, 3 changed but not verified, 4 nothing to change, 1 failed, 130 interrupted.",
		Args: misuse(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			if strings.TrimSpace(opts.Task) == "" {
				return &exitError{code: exitMisuse, err: errors.New("--task is needed: say what should be done, e.g. --task 'make the checks green'")}
			}
			for _, v := range opts.Verify {
				if strings.TrimSpace(v) == "" {
					return &exitError{code: exitMisuse, err: errors.New("--verify is empty: give a command, or leave it out for those of the CI or the build files")}
				}
			}
			cfg, err := g.load()
			if err != nil {
				return err
			}
			if opts.Model != "" {
				cfg.Models.Default = opts.Model
			}
			if err := cfg.Validate(); err != nil {
				return &exitError{code: exitMisuse, err: err}
			}
			log := slog.New(slog.DiscardHandler)
			if verbose {
				if log, err = wire.Logger(cfg.Log, c.ErrOrStderr()); err != nil {
					return &exitError{code: exitMisuse, err: err}
				}
			}
			show := newShow(c.OutOrStdout(), c.ErrOrStderr(), asJSON)
			opts.Watch, opts.Say = show.status, show.say
			res, err := wire.Run(c.Context(), cfg, opts, g.version, log)
			show.done()
			return endRun(c.Context(), show, res, err)
		},
	}
	c.Flags().StringVar(&opts.Repo, "repo", ".", "the checkout, or an URL that is cloned into the working directory first")
	c.Flags().StringVar(&opts.Task, "task", "", "what should be done")
	c.Flags().StringArrayVar(&opts.Verify, "verify", nil, "a command that proves it; may be given several times (default: those of the CI or the build files)")
	c.Flags().StringVar(&opts.Model, "model", "", "the model, as driver/model (default as configured; mechanic/auto needs no key)")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON Lines")
	c.Flags().BoolVar(&verbose, "verbose", false, "print the log as well")
	return c
}

// endRun prints the outcome and turns it into the exit code.
func endRun(ctx context.Context, show shower, res wire.RunResult, err error) error {
	if err != nil {
		if ctx.Err() != nil {
			return &exitError{code: exitInterrupted, err: errors.New("interrupted")}
		}
		show.failed(err)
		return &exitError{code: exitFailed, err: err}
	}
	if err := show.result(res); err != nil {
		return err
	}
	switch res.State {
	case jobs.Verified, jobs.Answered:
		return nil
	case jobs.Unverified:
		return &exitError{code: exitUnverified}
	case jobs.NoChange:
		return &exitError{code: exitNoChange}
	case jobs.Canceled:
		return &exitError{code: exitInterrupted}
	case jobs.Queued, jobs.Preparing, jobs.Baseline, jobs.Working, jobs.Verifying, jobs.Publishing, jobs.Paused, jobs.AwaitingApproval, jobs.NeedsHuman, jobs.Refused, jobs.Failed, jobs.Lapsed:
	}
	return &exitError{code: exitFailed}
}

// sayTo prints a line for a person.
func sayTo(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format+"\n", args...)
}
