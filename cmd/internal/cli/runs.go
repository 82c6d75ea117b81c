package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/greenwright/greenwright/cmd/internal/plaintext"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
	"github.com/greenwright/greenwright/jobs/journal"
	"github.com/greenwright/greenwright/vcs"
)

func newRuns(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "runs", Short: "See what jobs do, and stop, approve or repeat them", Args: unknownCommand, RunE: showHelp,
		Long: "Looks at jobs and runs, and does to them what people can do in a thread. JOB is a job's id, or its run's; where something is\n" +
			"asked for, a thread (owner/repo#N) will do. The records are those of GREENWRIGHT_REDIS_URL, or of the `serve` that runs over\n" +
			"the data directory; a run in the archive (artifacts) needs neither.\n\n" +
			"Exit code: 0 done, 1 refused or failed, 2 misuse.",
	}
	c.AddCommand(newRunsList(g), newRunsShow(g), newRunsJournal(g), newRunsPatch(g), newRunsMaintenance(g))
	c.AddCommand(newRunsActs(g)...)
	return c
}

// withRuns opens the records, uses and closes them.
func withRuns(c *cobra.Command, g *globals, use func(context.Context, *wire.Runs) error) error {
	cfg, err := g.load()
	if err != nil {
		return err
	}
	cfg.Log.Level = cmp.Or(quiet(cfg.Log.Level), cfg.Log.Level)
	log, err := wire.Logger(cfg.Log, c.ErrOrStderr())
	if err != nil {
		return &exitError{code: exitMisuse, err: err}
	}
	r, err := wire.OpenRuns(c.Context(), cfg, g.version, log)
	if err != nil {
		return &exitError{code: exitFailed, err: err}
	}
	defer r.Close()
	err = use(c.Context(), r)
	var exit *exitError
	if err == nil || errors.As(err, &exit) {
		return err
	}
	code := exitFailed
	if errors.Is(err, vcs.ErrInvalid) {
		code = exitMisuse
	}
	return &exitError{code: code, err: err}
}

// quiet is the level of a log beside an answer: what `serve` says in passing is
// of no interest to whoever asks once.
func quiet(level string) string {
	if level == "info" {
		return "warn"
	}
	return ""
}

func newRunsList(g *globals) *cobra.Command {
	var thread string
	var all, asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List jobs: those that live, then the last that have ended", Args: misuse(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return withRuns(c, g, func(ctx context.Context, r *wire.Runs) error {
				lines, err := r.List(ctx, thread, all)
				if err != nil {
					return err
				}
				if asJSON {
					return json.NewEncoder(c.OutOrStdout()).Encode(lines)
				}
				text, on, err := r.Maintenance(ctx)
				if err != nil {
					return err
				}
				if on {
					sayTo(c.OutOrStdout(), "maintenance: no new job begins: %s", oneLine(tame(text), maxCause))
				}
				return listRuns(c.OutOrStdout(), lines)
			})
		},
	}
	c.Flags().StringVar(&thread, "thread", "", "only those of a thread, as owner/repo#N")
	c.Flags().BoolVar(&all, "all", false, "all that are known (at most 1000), instead of 20 besides those that live")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// maxCause keeps a job to a line.
const maxCause = 80

func listRuns(out io.Writer, lines []wire.JobLine) error {
	if len(lines) == 0 {
		_, err := fmt.Fprintln(out, "no jobs")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "JOB\tKIND\tTHREAD\tSTATE\tSINCE\tCAUSE\tRUN")
	for _, l := range lines {
		run := string(l.Run)
		if run == "" {
			run = "-"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", l.Job, l.Kind, oneLine(tame(l.Thread), maxCause), l.State, when(l.Since), oneLine(tame(l.Cause), maxCause), run)
	}
	return w.Flush()
}

// when is a time as a person reads it in a list.
func when(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

func newRunsShow(g *globals) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "show JOB|RUN", Short: "Show one job: where it stands, what waits for approval, what it has done", Args: misuse(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return withRuns(c, g, func(ctx context.Context, r *wire.Runs) error {
				v, err := r.Show(ctx, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return json.NewEncoder(c.OutOrStdout()).Encode(v)
				}
				return showJob(c.OutOrStdout(), v)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func showJob(out io.Writer, v wire.JobView) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "%s\t%s\n", name, oneLine(tame(fmt.Sprintf(format, args...)), maxShown))
	}
	if rec := v.Record; rec != nil {
		row("job", "%s", rec.Job.ID)
		row("kind", "%s, asked by %s", rec.Job.Kind, rec.Job.Requester.Login)
		row("thread", "%s#%d", rec.Job.Thread.Repo.FullName(), rec.Job.Thread.Number)
		row("state", "%s since %s: %s", rec.State, when(rec.UpdatedAt), rec.Cause)
		row("run", "%s, taken up %d times", cmp.Or(string(rec.Run), "none yet"), rec.Attempts)
		showHands(row, v)
	}
	for _, s := range v.Spent {
		row("spent", "%s: %s, %d tokens (reserved %s)", s.Scope, journal.Dollars(s.MicroUSD), s.Tokens, journal.Dollars(s.Reserved))
	}
	for _, a := range v.Approvals {
		row("approval "+a.ID, "%s (%s): %s", cmp.Or(string(a.Decision), "waits until "+when(a.Expires)), a.Kind, a.Reason)
	}
	if v.Broken != "" {
		row("journal", "%s", v.Broken)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, a := range v.Approvals {
		if a.Decision == jobs.Waiting {
			sayTo(out, "\napproval %s would do this:\n%s", tame(a.ID), indent(tame(a.Shown)))
		}
	}
	if v.Report == "" {
		return nil
	}
	_, err := fmt.Fprintln(out, "\n"+tame(plaintext.Readable(v.Report)))
	return err
}

// maxShown keeps one fact to a few lines of a terminal.
const maxShown = 300

// showHands says who has the job in hand.
func showHands(row func(name, format string, args ...any), v wire.JobView) {
	switch rec := v.Record; {
	case v.Worker != "":
		row("worker", "%s", v.Worker)
	case !rec.State.Final():
		row("worker", "none")
	}
	if v.StopBy != "" {
		row("stop", "asked for by %s", v.StopBy)
	}
	if v.Record.Into != "" {
		row("into", "it became a message to job %s", v.Record.Into)
	}
	if v.Record.URL != "" {
		row("result", "%s", v.Record.URL)
	}
	if v.Record.Untold != "" {
		row("untold", "its end has not been told in the thread yet")
	}
}

func newRunsJournal(g *globals) *cobra.Command {
	var follow, asJSON bool
	c := &cobra.Command{
		Use: "journal JOB|RUN", Short: "Print a run's journal, a line for each record", Args: misuse(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			return withRuns(c, g, func(ctx context.Context, r *wire.Runs) error {
				return r.Journal(ctx, args[0], follow, func(line []byte) error {
					if asJSON {
						_, err := fmt.Fprintf(c.OutOrStdout(), "%s\n", line)
						return err
					}
					return printRecord(c.OutOrStdout(), line)
				})
			})
		},
	}
	c.Flags().BoolVar(&follow, "follow", false, "go on until the run has ended")
	c.Flags().BoolVar(&asJSON, "json", false, "print the records as they are, JSON Lines")
	return c
}

// printRecord prints one record on one line.
func printRecord(out io.Writer, line []byte) error {
	var rec journal.Record
	if err := json.Unmarshal(line, &rec); err != nil {
		return fmt.Errorf("a record cannot be read (see `greenwright audit verify`): %w", err)
	}
	what := describe(rec)
	_, err := fmt.Fprintf(out, "%4d  %s  %s\n", rec.Seq, rec.Time.UTC().Format("15:04:05.000"), oneLine(tame(what.line()), maxRecord))
	return err
}

// maxRecord keeps a record to about a line of a terminal.
const maxRecord = 160

func newRunsPatch(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "patch JOB|RUN", Short: "Print the change that a run kept and did not publish", Args: misuse(cobra.ExactArgs(1)),
		Long: "Prints the change that a run has kept, as it is, for `git apply`. A model wrote it: read it first.",
		RunE: func(c *cobra.Command, args []string) error {
			return withRuns(c, g, func(ctx context.Context, r *wire.Runs) error {
				patch, err := r.Patch(ctx, args[0])
				if err != nil {
					return err
				}
				if f, ok := c.OutOrStdout().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
					patch = []byte(tame(string(patch)))
				}
				_, err = c.OutOrStdout().Write(patch)
				return err
			})
		},
	}
}
