package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/cmd/internal/wire"
)

func newDoctor(g *globals) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor", Short: "Check what serve needs, each with a remedy", Args: misuse(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := g.load()
			if err != nil {
				return err
			}
			log, err := wire.Logger(cfg.Log, c.ErrOrStderr())
			if err != nil {
				return &exitError{code: exitMisuse, err: err}
			}
			findings := wire.Doctor(c.Context(), cfg, log)
			if asJSON {
				err = json.NewEncoder(c.OutOrStdout()).Encode(findings)
			} else {
				err = printFindings(c, findings)
			}
			for _, f := range findings {
				if f.Severity == wire.Failure {
					return &exitError{code: exitFailed, err: err}
				}
			}
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return c
}

func printFindings(c *cobra.Command, findings []wire.Finding) error {
	for _, f := range findings {
		if _, err := fmt.Fprintf(c.OutOrStdout(), "%-8s %s: %s\n", f.Severity, f.Name, f.Detail); err != nil {
			return err
		}
		if f.Remedy != "" {
			if _, err := fmt.Fprintf(c.OutOrStdout(), "         → %s\n", f.Remedy); err != nil {
				return err
			}
		}
	}
	return nil
}
