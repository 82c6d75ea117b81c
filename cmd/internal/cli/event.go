package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/cmd/internal/wire"
	"github.com/greenwright/greenwright/vcs"
)

func newEvent(g *globals) *cobra.Command {
	c := &cobra.Command{Use: "event", Short: "Look at webhook events", Args: unknownCommand, RunE: showHelp}
	c.AddCommand(newExplain(g))
	return c
}

// maxPayload is the cap of both forges.
const maxPayload = 25 << 20

func newExplain(g *globals) *cobra.Command {
	var forge, event, permission, self string
	c := &cobra.Command{
		Use: "explain --forge github|gitlab [--event NAME] FILE|-", Short: "Say what serve would do about a stored payload",
		Args: misuse(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error {
			opts := wire.ExplainOptions{Forge: vcs.ForgeName(forge), Event: event}
			var err error
			if opts.Permission, err = vcs.ParsePermission(permission); err != nil {
				return &exitError{code: exitMisuse, err: fmt.Errorf("--permission: %w", err)}
			}
			if opts.Self, err = parseSelf(self); err != nil {
				return &exitError{code: exitMisuse, err: err}
			}
			cfg, err := g.load()
			if err != nil {
				return err
			}
			body, err := readPayload(c, args[0])
			if err != nil {
				return &exitError{code: exitMisuse, err: err}
			}
			explanation, err := wire.Explain(cfg, opts, body)
			if err != nil {
				return &exitError{code: exitMisuse, err: fmt.Errorf("the payload cannot be read: %w", err)}
			}
			enc := json.NewEncoder(c.OutOrStdout())
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			return enc.Encode(explanation)
		},
	}
	c.Flags().StringVar(&forge, "forge", "github", "the forge that sent it")
	c.Flags().StringVar(&event, "event", "", "the event's name, as in X-GitHub-Event or X-Gitlab-Event; GitLab's payloads tell it")
	c.Flags().StringVar(&permission, "permission", "none", "what the forge would say of the actor: admin, maintain, write, triage, read or none")
	c.Flags().StringVar(&self, "self", "", "our own account, as LOGIN:ID")
	return c
}

func parseSelf(s string) (vcs.Actor, error) {
	if s == "" {
		return vcs.Actor{}, nil
	}
	i := strings.LastIndexByte(s, ':')
	if i <= 0 {
		return vcs.Actor{}, fmt.Errorf("--self %q: want LOGIN:ID", s)
	}
	id, err := strconv.ParseInt(s[i+1:], 10, 64)
	if err != nil || id <= 0 {
		return vcs.Actor{}, fmt.Errorf("--self %q: want LOGIN:ID with a number", s)
	}
	return vcs.Actor{ID: id, Login: s[:i], Kind: vcs.KindBot}, nil
}

func readPayload(c *cobra.Command, name string) ([]byte, error) {
	r := c.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		r = f
	}
	body, err := io.ReadAll(io.LimitReader(r, maxPayload+1))
	if err == nil && len(body) > maxPayload {
		err = errors.New("the payload is over 25 MB, which no forge sends")
	}
	return body, err
}
