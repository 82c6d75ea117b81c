package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	units "github.com/docker/go-units"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/sandbox"
	"github.com/greenwright/greenwright/sandbox/egress"
)

// The exit codes of `sandbox exec` besides the command's own, as timeout(1)
// and shells have them.
const (
	exitTimedOut = 124
	exitSandbox  = 125 // the sandbox itself could not do it
	exitKilled   = 137
)

func newSandbox(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "sandbox", Short: "Use the sandbox by hand", Args: unknownCommand, RunE: showHelp}
	c.AddCommand(newSandboxExec(g))
	return c
}

// What limits can be.
const (
	leastMemory = 32 << 20
	leastPids   = 32
	mostCPUs    = 4096
)

// execFlags are the flags as they are typed.
type execFlags struct {
	driver, workspace, image, memory, workspaceSize string
	allow, allowPrivate, env                        []string
	pids                                            int
	cpus                                            float64
	timeout                                         time.Duration
	verbose                                         bool
}

func newSandboxExec(g *globals) *cobra.Command {
	var f execFlags
	c := &cobra.Command{
		Use: "exec [flags] -- COMMAND [ARGUMENT]...", Short: "Run one command in the very sandbox that a run gets",
		Long: "Runs one command in the very sandbox that a run gets, with its output passed through.\n\n" +
			"Exit code: the command's own; 124 when its time was over, 137 when it was ended for another limit, 125 when no sandbox could be had.",
		Example: "  greenwright sandbox exec -- go version\n" +
			"  greenwright sandbox exec --workspace . --memory 512MiB --timeout 30s -v -- make test\n" +
			"  greenwright sandbox exec --allow proxy.golang.org --allow sum.golang.org -- go mod download",
		Args: misuse(cobra.MinimumNArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return execInSandbox(c, g, f, args) },
	}
	fl := c.Flags()
	fl.StringVar(&f.driver, "driver", "", "auto, runsc, bwrap (default as configured)")
	fl.StringVar(&f.workspace, "workspace", "", "directory shown at /workspace, writable (default an empty one)")
	fl.StringArrayVar(&f.allow, "allow", nil, "host, *.suffix or preset that may be connected to, with :port where it is not 443; may be given several times")
	fl.StringArrayVar(&f.allowPrivate, "allow-private", nil, "host of --allow that may have a private address")
	fl.StringVar(&f.memory, "memory", "", "limit of memory, e.g. 512MiB")
	fl.StringVar(&f.workspaceSize, "workspace-size", "", "limit of what the workspace takes on disk, e.g. 2GiB")
	fl.IntVar(&f.pids, "pids", 0, "limit of processes and threads")
	fl.Float64Var(&f.cpus, "cpus", 0, "limit of processors, e.g. 1.5")
	fl.DurationVar(&f.timeout, "timeout", 0, "limit of time, e.g. 30s")
	fl.StringVar(&f.image, "image", "", "container image to show instead of the host's /usr; also oci:DIR and docker-archive:FILE")
	fl.StringArrayVar(&f.env, "env", nil, "NAME=value; may be given several times")
	fl.BoolVarP(&f.verbose, "verbose", "v", false, "print connections that were refused, and as the last line on standard error how it ended and what it used")
	return c
}

func execInSandbox(c *cobra.Command, g *globals, f execFlags, args []string) error {
	opts, err := f.options()
	if err != nil {
		return &exitError{code: exitMisuse, err: err}
	}
	cfg, err := g.load()
	if err != nil {
		return err
	}
	if f.driver != "" {
		cfg.Sandbox.Driver = f.driver
		if err := cfg.Validate(); err != nil {
			return &exitError{code: exitMisuse, err: err}
		}
	}
	opts.Cmd.Argv, opts.Cmd.Network = args, !opts.Egress.Empty()
	stdout, stderr := &passing{to: c.OutOrStdout()}, &passing{to: c.ErrOrStderr()}
	opts.Cmd.OnOutput, opts.Cmd.OnStderr = stdout.write, stderr.write
	if in := c.InOrStdin(); in != os.Stdin || !term.IsTerminal(int(os.Stdin.Fd())) {
		opts.Cmd.Stdin = in
	}
	if f.verbose {
		opts.Told = func(d egress.Decision) {
			if d.Verdict == egress.Refused {
				sayTo(c.ErrOrStderr(), "greenwright: refused %s: %s", net.JoinHostPort(d.Host, strconv.Itoa(int(d.Port))), d.Reason)
			}
		}
	}
	res, err := wire.Exec(c.Context(), cfg, opts, slog.New(slog.DiscardHandler))
	if err != nil {
		return &exitError{code: exitSandbox, err: err}
	}
	if stdout.err != nil {
		return &exitError{code: exitSandbox, err: fmt.Errorf("passing the output on: %w", stdout.err)}
	}
	stderr.endLine()
	err = endExec(c.Context(), res)
	var exit *exitError
	if f.verbose && errors.As(err, &exit) && exit.err != nil { // the usage is the last line
		sayTo(c.ErrOrStderr(), "greenwright: %v", exit.err)
		err = &exitError{code: exit.code}
	}
	if f.verbose {
		sayTo(c.ErrOrStderr(), "%s", howEnded(res))
	}
	return err
}

// options are the flags, parsed.
func (f execFlags) options() (wire.ExecOptions, error) {
	opts := wire.ExecOptions{Workspace: f.workspace, Image: f.image}
	opts.Limits = sandbox.Limits{Processes: f.pids, CPUs: f.cpus}
	opts.Cmd.Timeout = f.timeout
	if f.timeout > 0 {
		opts.Cmd.Idle = f.timeout + time.Second // the timeout alone decides
	}
	var faults []error
	for _, size := range []struct {
		flag, text string
		into       *int64
	}{{"--memory", f.memory, &opts.Limits.MemoryBytes}, {"--workspace-size", f.workspaceSize, &opts.Limits.WorkspaceBytes}} {
		if size.text == "" {
			continue
		}
		n, err := units.RAMInBytes(size.text)
		if err != nil || n <= 0 {
			faults = append(faults, fmt.Errorf("%s: %q: want a size such as 512MiB", size.flag, size.text))
		}
		if size.flag == "--memory" && n > 0 && n < leastMemory {
			faults = append(faults, fmt.Errorf("--memory: %q: want at least %s, which the sandbox itself may need", size.text, units.BytesSize(leastMemory)))
		}
		*size.into = n
	}
	if f.pids != 0 && f.pids < leastPids {
		faults = append(faults, fmt.Errorf("--pids: %d: want at least %d: the sandbox itself takes some", f.pids, leastPids))
	}
	if f.timeout < 0 {
		faults = append(faults, errors.New("--timeout must not be negative"))
	}
	if !(f.cpus >= 0 && f.cpus <= mostCPUs) { // also what is no number
		faults = append(faults, fmt.Errorf("--cpus: %v: want between 0 and %d", f.cpus, mostCPUs))
	}
	for _, kv := range f.env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			faults = append(faults, fmt.Errorf("--env: %q: want NAME=value", kv))
		}
	}
	opts.Cmd.Env = f.env
	var err error
	if opts.Egress, err = egress.Parse(f.allow, f.allowPrivate); err != nil {
		faults = append(faults, fmt.Errorf("--allow: %w", err))
	}
	return opts, errors.Join(faults...)
}

// passing passes output on and remembers what became of it.
type passing struct {
	to   io.Writer
	err  error // the first
	last byte
}

func (p *passing) write(b []byte) {
	if _, err := p.to.Write(b); err != nil && p.err == nil {
		p.err = err
	}
	if len(b) > 0 {
		p.last = b[len(b)-1]
	}
}

// endLine keeps what the program says itself on a line of its own.
func (p *passing) endLine() {
	if p.last != 0 && p.last != '\n' {
		p.write([]byte{'\n'})
	}
}

// howEnded is the last line of -v.
func howEnded(res sandbox.Result) string {
	how := string(res.Cause)
	switch {
	case res.Signal != "" && res.Cause == sandbox.Exited:
		how += " by signal " + res.Signal
	case res.Cause == sandbox.Exited:
		how += " " + strconv.Itoa(res.ExitCode)
	}
	line := fmt.Sprintf("greenwright: %s after %s; cpu %s", how, res.Duration.Round(time.Millisecond), res.Usage.CPU.Round(time.Millisecond))
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"peak memory", res.Usage.PeakMemory}, {"written", res.Usage.BytesWritten}, {"output", res.Output.TotalBytes}} {
		if u.bytes > 0 { // else nothing, or not known
			line += ", " + u.name + " " + units.BytesSize(float64(u.bytes))
		}
	}
	return line
}

// endExec turns the end into the exit code.
func endExec(ctx context.Context, res sandbox.Result) error {
	switch res.Cause {
	case sandbox.Exited:
		if res.ExitCode == 0 {
			return nil
		}
		return &exitError{code: res.ExitCode}
	case sandbox.TimedOut, sandbox.IdleTimeout:
		return &exitError{code: exitTimedOut, err: errors.New("the command's time was over")}
	case sandbox.Canceled:
		if ctx.Err() != nil {
			return &exitError{code: exitInterrupted, err: errors.New("interrupted")}
		}
	case sandbox.OutOfMemory, sandbox.OutputLimit, sandbox.DiskLimit, sandbox.Lost:
	}
	return &exitError{code: exitKilled, err: fmt.Errorf("the command was ended: %s", causeText(res.Cause))}
}

func causeText(c sandbox.Cause) string {
	switch c {
	case sandbox.OutOfMemory:
		return "it used more memory than its limit"
	case sandbox.OutputLimit:
		return "it wrote more output than its limit"
	case sandbox.DiskLimit:
		return "it wrote more to disk than its limit"
	case sandbox.Lost:
		return "it brought the sandbox to its end"
	case sandbox.Exited, sandbox.TimedOut, sandbox.IdleTimeout, sandbox.Canceled:
	}
	return string(c)
}
