package cli

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/cmd/internal/wire"
)

// headPattern is a record's hash.
var headPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

func newAudit(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "audit", Short: "Check the audit record of runs", Args: unknownCommand, RunE: showHelp}
	var head string
	var asJSON bool
	verify := &cobra.Command{
		Use: "verify RUN|FILE", Short: "Say whether a journal is whole, and where it breaks",
		Long: "Checks a journal byte for byte: the hash of every record, and that each follows the one before. RUN is looked up in the\n" +
			"archive (artifacts), FILE is the path of a journal.\n\n" +
			"Exit code: 0 whole, 1 broken or cut off, 2 it could not be looked at.",
		Args: misuse(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			if head != "" && !headPattern.MatchString(head) {
				return &exitError{code: exitMisuse, err: fmt.Errorf("--head %q is no hash: want the 64 digits that the thread was told", head)}
			}
			report, err := wire.Audit(c.Context(), g.load, args[0], head, slog.New(slog.DiscardHandler))
			if err != nil {
				return &exitError{code: exitMisuse, err: err}
			}
			if asJSON {
				err = json.NewEncoder(c.OutOrStdout()).Encode(report)
			} else {
				_, err = fmt.Fprintln(c.OutOrStdout(), report.Words())
			}
			if err == nil && !report.Whole() {
				return &exitError{code: exitFailed}
			}
			return err
		},
	}
	verify.Flags().StringVar(&head, "head", "", "the hash that its last record should have")
	verify.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(verify)
	return c
}
