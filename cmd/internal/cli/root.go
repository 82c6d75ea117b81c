package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/cmd/internal/config"
)

// The exit codes; those of `run` are in run.go.
const (
	exitOK     = 0
	exitFailed = 1
	exitMisuse = 2
)

// exitError carries an exit code. Its text, if any, is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// globals are the flags that every subcommand has.
type globals struct {
	config  string
	version string
	unsafe  bool
}

func (g *globals) load() (config.Config, error) {
	c, err := config.Load(g.config, func(c *config.Config) { c.Sandbox.Unsafe = g.unsafe })
	if err != nil {
		return c, &exitError{code: exitMisuse, err: err}
	}
	return c, nil
}

// Main runs the program and gives its exit code.
func Main(ctx context.Context, version string, args []string, out, errOut io.Writer) int {
	keepSmall()
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRoot(version)
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	var exit *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		if text := exit.Error(); text != "" {
			_, _ = fmt.Fprintln(errOut, "greenwright:", text)
		}
		return exit.code
	}
	_, _ = fmt.Fprintln(errOut, "greenwright:", err)
	return exitFailed
}

// gcPercent lets the heap grow by half of what lives before it is collected,
// instead of by all: a worker is sized by its memory, and spends its time on
// waiting for models and commands. GOGC in the environment has its way.
const gcPercent = 50

func keepSmall() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

func newRoot(version string) *cobra.Command {
	g := &globals{version: version}
	root := &cobra.Command{
		Use: "greenwright", Short: "A self-hosted bot that turns red into green", SilenceUsage: true, SilenceErrors: true,
		Version: version, Args: unknownCommand, RunE: showHelp,
	}
	root.PersistentFlags().StringVar(&g.config, "config", "", "configuration file (default "+config.FileName+" where there is one)")
	root.PersistentFlags().BoolVar(&g.unsafe, "i-know-this-is-unsafe", false, "confirm sandbox.driver: none, which lets commands loose on this machine")
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &exitError{code: exitMisuse, err: fmt.Errorf("%w (see %s --help)", err, c.CommandPath())}
	})
	root.AddCommand(newServe(g), newRun(g), newDoctor(g), newSetup(g), newEvent(g), newJournal(), newAudit(g), newPrune(g), newRuns(g), newReplay(g), newSandbox(g), newTool(g), newVersion(g))
	return root
}

// showHelp is what a command that only has subcommands does.
func showHelp(c *cobra.Command, _ []string) error { return c.Help() }

// unknownCommand refuses a subcommand that is not there.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	c.SuggestionsMinimumDistance = 2 // cobra sets it only on its own way
	err := fmt.Errorf("there is no command %q (see %s --help)", args[0], c.CommandPath())
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("there is no command %q: did you mean %q?", args[0], near[0])
	}
	return &exitError{code: exitMisuse, err: err}
}

// misuse makes argument faults exit with 2.
func misuse(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return &exitError{code: exitMisuse, err: fmt.Errorf("%w (see %s --help)", err, c.CommandPath())}
		}
		return nil
	}
}
