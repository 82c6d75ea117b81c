package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

func newVersion(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: misuse(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "greenwright %s (%s, %s/%s)\n", g.version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
