package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/cmd/internal/wire"
)

func newPrune(g *globals) *cobra.Command {
	var dry, asJSON bool
	c := &cobra.Command{
		Use: "prune", Short: "Remove what is older than the retention rules keep",
		Long: "Removes journals, snapshots and mirrors by age and size, as retention in the configuration says. Runs that are live, or\n" +
			"whose journal has no end, are never touched. `serve` does the same every hour.",
		Args: misuse(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := g.load()
			if err != nil {
				return err
			}
			log, err := wire.Logger(cfg.Log, c.ErrOrStderr())
			if err != nil {
				return &exitError{code: exitMisuse, err: err}
			}
			gone, err := wire.Prune(c.Context(), cfg, dry, log)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(gone)
			}
			return showPruned(c.OutOrStdout(), gone, dry)
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only say what would go")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// showPruned prints a line for each thing that went or would go.
func showPruned(w io.Writer, gone wire.Pruned, dry bool) error {
	said := "removed"
	if dry {
		said = "would be removed"
	}
	if len(gone.Runs)+len(gone.Mirrors) == 0 {
		_, err := fmt.Fprintln(w, "nothing is too old or too much")
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(kind, what string, last time.Time, bytes int64, why string) {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", kind, what, last.UTC().Format(time.DateOnly), units.BytesSize(float64(bytes)), why)
	}
	_, _ = fmt.Fprintln(table, "WHAT\tOF\tLAST USED\tSIZE\tWHY")
	for _, d := range gone.Runs {
		kind := "run"
		if len(d.Names) > 0 {
			kind = "snapshots"
		}
		row(kind, string(d.Run), d.Time, d.Bytes, d.Why)
	}
	for _, m := range gone.Mirrors {
		row("mirror", m.Name, m.Used, m.Bytes, "not used, or all mirrors are too large")
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s %s\n", units.BytesSize(float64(gone.Bytes())), said)
	return err
}
