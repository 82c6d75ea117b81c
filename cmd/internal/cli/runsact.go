package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/cmd/internal/plaintext"
	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/jobs"
)

// newRunsActs are the requests that a thread knows as commands.
func newRunsActs(g *globals) []*cobra.Command {
	stop := &cobra.Command{Use: "stop JOB", Short: "End a job within seconds, also when its worker is dead", Args: misuse(cobra.ExactArgs(1)), RunE: g.act(jobs.VerbStop, textAfter)}
	approve := &cobra.Command{Use: "approve JOB [ID]", Short: "Approve what a run asks for", Args: misuse(cobra.RangeArgs(1, 2)), RunE: g.act(jobs.VerbApprove, approvalText(nil))}
	var why string
	deny := &cobra.Command{Use: "deny JOB [ID] --why TEXT", Short: "Refuse what a run asks for; one denial vetoes", Args: misuse(cobra.RangeArgs(1, 2)), RunE: g.act(jobs.VerbDeny, approvalText(&why))}
	deny.Flags().StringVar(&why, "why", "", "the reason, which the model is told")
	retry := &cobra.Command{Use: "retry JOB [TEXT]", Short: "Do an ended job again, from the start", Args: misuse(cobra.MinimumNArgs(1)), RunE: g.act(jobs.VerbRetry, textAfter)}
	goOn := &cobra.Command{Use: "continue JOB [TEXT]", Short: "Begin a job with the files and findings of one that has ended", Args: misuse(cobra.MinimumNArgs(1)), RunE: g.act(jobs.VerbContinue, textAfter)}
	unlock := &cobra.Command{Use: "unlock JOB", Short: "Forget a job that nobody works on and that keeps its thread", Args: misuse(cobra.ExactArgs(1)), RunE: g.act(jobs.VerbUnlock, textAfter)}
	budget := &cobra.Command{
		Use: "budget JOB AMOUNT", Short: "Raise the budget of a job's thread, in US dollars", Args: misuse(cobra.ExactArgs(2)), RunE: g.act(jobs.VerbBudget, textAfter),
		Example: "  greenwright runs budget acme/widgets#7 +2",
	}
	return []*cobra.Command{stop, approve, deny, retry, goOn, unlock, budget}
}

// textAfter is what stands behind the job.
func textAfter(args []string) (string, error) { return strings.Join(args[1:], " "), nil }

// approvalText is an approval's id, if any, and a reason.
func approvalText(why *string) func(args []string) (string, error) {
	return func(args []string) (string, error) {
		var words []string
		if len(args) > 1 {
			if _, err := strconv.ParseUint(args[1], 10, 32); err != nil {
				return "", fmt.Errorf("approval %q: want its number, see greenwright runs show", args[1])
			}
			words = append(words, args[1])
		}
		if why != nil && *why != "" {
			words = append(words, *why)
		}
		return strings.Join(words, " "), nil
	}
}

// act carries a request out, with the text that textOf makes of the arguments.
func (g *globals) act(verb jobs.Verb, textOf func(args []string) (string, error)) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		text, err := textOf(args)
		if err != nil {
			return &exitError{code: exitMisuse, err: err}
		}
		return withRuns(c, g, func(ctx context.Context, r *wire.Runs) error {
			a, err := r.Do(ctx, wire.Ask{Verb: verb, Name: args[0], Text: text, By: wire.Operator(os.Getenv("USER"))})
			if err != nil {
				return err
			}
			said := tame(strings.TrimSpace(plaintext.Readable(a.Text)))
			if a.Refused {
				return &exitError{code: exitFailed, err: errors.New(said)}
			}
			if said == "" {
				said = silently(verb, a.Job)
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), said)
			return err
		})
	}
}

// silently is what is said of a request of which a thread shows the effect.
func silently(verb jobs.Verb, job jobs.JobID) string {
	if verb == jobs.VerbStop {
		return fmt.Sprintf("Job %s is stopped, or will be within seconds.", job)
	}
	return fmt.Sprintf("Job %s begins.", job)
}

func newRunsMaintenance(g *globals) *cobra.Command {
	var off bool
	c := &cobra.Command{
		Use: "maintenance [TEXT|--off]", Short: "Hold new jobs back, and tell those who ask why; or say whether they are",
		Example: "  greenwright runs maintenance 'moving the database'\n  greenwright runs maintenance --off",
		RunE: func(c *cobra.Command, args []string) error {
			text := strings.TrimSpace(strings.Join(args, " "))
			if off && text != "" || len(args) > 0 && text == "" {
				return &exitError{code: exitMisuse, err: errors.New("maintenance: give a text, or --off, or nothing to ask whether it is on")}
			}
			return withRuns(c, g, func(ctx context.Context, r *wire.Runs) error {
				if off || text != "" {
					if err := r.SetMaintenance(ctx, text); err != nil {
						return err
					}
				}
				now, on, err := r.Maintenance(ctx)
				if err != nil {
					return err
				}
				if !on {
					sayTo(c.OutOrStdout(), "maintenance is off: jobs begin")
					return nil
				}
				sayTo(c.OutOrStdout(), "maintenance is on, no new job begins: %s", oneLine(tame(now), maxShown))
				return nil
			})
		},
	}
	c.Flags().BoolVar(&off, "off", false, "end it")
	return c
}
