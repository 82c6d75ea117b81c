package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/cmd/internal/wire"
)

func newServe(g *globals) *cobra.Command {
	role := string(wire.RoleAll)
	c := &cobra.Command{
		Use: "serve", Short: "Receive webhooks and work on them", Args: misuse(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			switch wire.Role(role) {
			case wire.RoleAll, wire.RoleReceiver, wire.RoleWorker:
			default:
				return &exitError{code: exitMisuse, err: fmt.Errorf("--role %q: want all, receiver or worker", role)}
			}
			cfg, err := g.load()
			if err != nil {
				return err
			}
			log, err := wire.Logger(cfg.Log, c.ErrOrStderr())
			if err != nil {
				return &exitError{code: exitMisuse, err: err}
			}
			if err := cfg.ValidateServe(); err != nil {
				return &exitError{code: exitMisuse, err: err}
			}
			if role != string(wire.RoleAll) && cfg.Redis.URL == "" {
				return &exitError{code: exitMisuse, err: fmt.Errorf("--role %s: set GREENWRIGHT_REDIS_URL: the roles share nothing but Redis, and a private one would be seen by this process alone", role)}
			}
			return wire.Serve(c.Context(), cfg, wire.Role(role), g.version, log, nil)
		},
	}
	c.Flags().StringVar(&role, "role", role, "what this process does: all, receiver or worker")
	return c
}
