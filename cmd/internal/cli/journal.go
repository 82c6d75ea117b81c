package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/jobs/journal"
)

func newJournal() *cobra.Command {
	c := &cobra.Command{Use: "journal", Short: "Look at the audit record of runs", Args: unknownCommand, RunE: showHelp}
	c.AddCommand(&cobra.Command{
		Use: "verify FILE", Short: "Check a journal's hash chain", Args: misuse(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			records, err := journal.LoadFile(args[0])
			if err != nil {
				return &exitError{code: exitFailed, err: err}
			}
			if err := whole(args[0], records); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%d records, whole; head %s\n", len(records), records[len(records)-1].Hash)
			return err
		},
	}, &cobra.Command{
		Use: "report FILE", Short: "Print the audit summary of a journal", Args: misuse(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			records, err := journal.LoadFile(args[0])
			if err != nil {
				return &exitError{code: exitFailed, err: err}
			}
			if len(records) == 0 {
				return whole(args[0], records)
			}
			report, err := journal.Fold(records)
			if err != nil {
				return &exitError{code: exitFailed, err: err}
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), report.Markdown())
			return err
		},
	})
	return c
}

// whole refuses a journal that has no end: its run lives, was killed, or the
// last records were cut off.
func whole(name string, records []journal.Record) error {
	if len(records) == 0 {
		return &exitError{code: exitFailed, err: fmt.Errorf("%s holds no record", name)}
	}
	if last := records[len(records)-1]; last.Type != journal.TypeEnded {
		return &exitError{code: exitFailed, err: fmt.Errorf("%s: the %d records hold together, but the last is no end: the run lives, was killed, or records were cut off", name, len(records))}
	}
	return nil
}
