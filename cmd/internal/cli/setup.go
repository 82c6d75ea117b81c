package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/vcs"
)

func newSetup(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "setup", Short: "Prepare a forge for serve", Args: unknownCommand, RunE: showHelp}
	c.AddCommand(newSetupGitLab(g))
	return c
}

func newSetupGitLab(g *globals) *cobra.Command {
	var opts wire.GitLabSetup
	var tokenFile string
	var asJSON bool
	c := &cobra.Command{
		Use:   "gitlab --project GROUP/NAME|--group GROUP",
		Short: "Create or repair a hook, and say which scope or role is missing",
		Args:  misuse(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := g.load()
			if err != nil {
				return err
			}
			if opts.Token, err = readToken(tokenFile); err != nil {
				return &exitError{code: exitMisuse, err: err}
			}
			findings, err := wire.SetupGitLab(c.Context(), cfg, opts)
			if err != nil {
				return &exitError{code: exitMisuse, err: err}
			}
			return report(c, findings, asJSON)
		},
	}
	c.Flags().StringVar(&opts.Project, "project", "", "the project's full path")
	c.Flags().StringVar(&opts.Group, "group", "", "the group's full path; its hook is for all projects in it (GitLab Premium)")
	c.Flags().StringVar(&opts.URL, "url", "", "where GitLab reaches this server (default public_url)")
	c.Flags().StringVar(&tokenFile, "token-file", "", "make the hook with this token of a maintainer (of an owner, for a group) instead of the configured one")
	c.Flags().BoolVar(&opts.DryRun, "dry-run", false, "say what would be done to the hook")
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return c
}

// maxToken bounds the file of a token.
const maxToken = 4 << 10

// readToken reads a token's file; none is no token.
func readToken(file string) (vcs.Secret, error) {
	if file == "" {
		return "", nil
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(io.LimitReader(f, maxToken))
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", errors.New("--token-file: the file is empty")
	}
	return vcs.Secret(token), nil
}

// report prints findings; one that is a failure makes the command fail.
func report(c *cobra.Command, findings []wire.Finding, asJSON bool) error {
	var err error
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
}
