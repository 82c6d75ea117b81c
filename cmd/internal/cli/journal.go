package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/jobs/journal"
)

func newJournal() *cobra.Command {
	c := &cobra.Command{Use: "journal", Short: "Look at the audit record of runs", Args: misuse(cobra.NoArgs)}
	c.AddCommand(&cobra.Command{
		Use: "verify FILE", Short: "Check a journal's hash chain", Args: misuse(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			records, err := journal.LoadFile(args[0])
			if err != nil {
				return &exitError{code: exitFailed, err: err}
			}
			if len(records) == 0 {
				return &exitError{code: exitFailed, err: fmt.Errorf("%s holds no record", args[0])}
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
