package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/cmd/internal/wire"
)

func newDoctor(g *globals) *cobra.Command {
	var asJSON bool
	var look wire.HookCheck
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
			hooks, err := wire.DoctorHooks(c.Context(), cfg, look)
			if err != nil {
				return &exitError{code: exitMisuse, err: err}
			}
			return report(c, append(wire.Doctor(c.Context(), cfg, log), hooks...), asJSON)
		},
	}
	c.Flags().StringSliceVar(&look.Projects, "project", nil, "look at the hooks of these GitLab projects too, by full path")
	c.Flags().StringSliceVar(&look.Groups, "group", nil, "look at the hooks of these GitLab groups too, by full path")
	c.Flags().BoolVar(&look.Enable, "enable-hooks", false, "switch on the hooks that GitLab has switched off")
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
