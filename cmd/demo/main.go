// Command demo shows Greenwright the whole way on one machine: a simulated
// GitHub, everything else real. See cmd/internal/demo.
//
// It exits with 0 when everything that it shows really came, with 1 when
// something is missing, with 2 when it was called wrongly, and with 130 when it
// was interrupted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/term"

	"github.com/greenwright/greenwright/cmd/internal/demo"
	"github.com/greenwright/greenwright/vcs"
)

// The exit codes.
const (
	exitMissing     = 1
	exitMisuse      = 2
	exitInterrupted = 130
)

func main() { os.Exit(run(context.Background())) }

func run(ctx context.Context) int {
	binary := flag.String("greenwright", "bin/greenwright", "the built program")
	forge := flag.String("forge", string(vcs.GitHub), "the forge that is simulated: github or gitlab")
	keep := flag.Bool("keep", false, "leave the directory with repositories, journals and logs for a look")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "demo: %q is not understood; see -help\n", flag.Arg(0))
		return exitMisuse
	}
	if !slices.Contains(demo.Forges(), vcs.ForgeName(*forge)) {
		fmt.Fprintf(os.Stderr, "demo: -forge %q: want one of %v\n", *forge, demo.Forges())
		return exitMisuse
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := demo.Run(ctx, demo.Options{
		Greenwright: *binary, Forge: vcs.ForgeName(*forge), Keep: *keep, Out: os.Stdout, Color: colorful(os.Stdout), Environ: os.Environ(),
	})
	switch {
	case err == nil:
		return 0
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "demo: interrupted:", err)
		return exitInterrupted
	}
	fmt.Fprintln(os.Stderr, "demo:", err)
	return exitMissing
}

// colorful: on a terminal, unless the person asks for none (no-color.org).
func colorful(f *os.File) bool {
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd()))
}
