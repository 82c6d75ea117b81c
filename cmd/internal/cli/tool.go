package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/cmd/internal/wire"
)

func newTool(g *globals) *cobra.Command {
	c := &cobra.Command{
		Use: "tool", Short: "Use a run's tools by hand: what a model sees", Args: unknownCommand, RunE: showHelp,
		Long: "Calls the tools of a run by hand, by exactly the code that a run uses, to see what a model sees.",
	}
	c.AddCommand(newToolList(g), newToolCall(g), newToolSession(g))
	return c
}

func newToolList(g *globals) *cobra.Command {
	var asJSON bool
	var opts wire.ToolOptions
	c := &cobra.Command{
		Use: "list", Short: "List the tools", Args: misuse(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return withTools(c.Context(), g, opts, func(t *wire.Tools) error { return listTools(c.OutOrStdout(), t.Specs(), asJSON) })
		},
	}
	c.Flags().StringVar(&opts.Workspace, "workspace", ".", "directory that they would work on")
	c.Flags().BoolVar(&asJSON, "json", false, "print names, descriptions and schemas as JSON Lines, as a model gets them")
	return c
}

// tiers are the tiers' names for people.
func tierText(t tool.Tier) string {
	switch t {
	case tool.TierRead:
		return "read"
	case tool.TierPatch:
		return "patch"
	case tool.TierTest:
		return "test"
	case tool.TierRun:
		return "run"
	}
	return fmt.Sprint(int(t))
}

func listTools(out io.Writer, specs []tool.Spec, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(out)
		for _, s := range specs {
			line := struct {
				Name        string `json:"name"`
				Tier        string `json:"tier"`
				Effect      string `json:"effect"`
				Description string `json:"description"`
				Schema      any    `json:"schema"`
			}{s.Name, tierText(s.Tier), string(s.Effect), s.Description, s.Schema}
			if err := enc.Encode(line); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "NAME\tTIER\tEFFECT\tWHAT IT DOES")
	for _, s := range specs {
		first, _, _ := strings.Cut(strings.ReplaceAll(s.Description, "\n", " "), ". ")
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Name, tierText(s.Tier), s.Effect, strings.TrimSuffix(strings.TrimSpace(first), "."))
	}
	return w.Flush()
}

func newToolCall(g *globals) *cobra.Command {
	var opts wire.ToolOptions
	c := &cobra.Command{
		Use: "call --workspace DIR NAME JSON", Short: "Call one tool and print its result as JSON",
		Long: "Calls one tool and prints its result as one line of JSON; `text` in it is what a model would see.\n\n" +
			"Exit code: 0 the tool did it, 1 it refused or failed, 2 misuse. Commands run in the configured sandbox.",
		Example: `  greenwright tool call --workspace . read_file '{"path": "README.md", "limit": 20}'` + "\n" +
			`  greenwright tool call --workspace . --assume-read edit_file '{"path": "a.go", "old_string": "x", "new_string": "y"}'`,
		Args: misuse(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, args []string) error {
			return withTools(c.Context(), g, opts, func(t *wire.Tools) error {
				res := t.Run(c.Context(), tool.Call{Name: args[0], Args: json.RawMessage(args[1])})
				if err := printResult(c.OutOrStdout(), nil, res); err != nil {
					return err
				}
				if !res.OK {
					return &exitError{code: exitFailed}
				}
				return nil
			})
		},
	}
	toolFlags(c, &opts)
	return c
}

func toolFlags(c *cobra.Command, opts *wire.ToolOptions) {
	c.Flags().StringVar(&opts.Workspace, "workspace", "", "directory to work on (required)")
	c.Flags().BoolVar(&opts.AssumeRead, "assume-read", false, "take every file as read, so that it may be changed at once")
}

func newToolSession(g *globals) *cobra.Command {
	var opts wire.ToolOptions
	c := &cobra.Command{
		Use: "session --workspace DIR", Short: "Call tools one after the other: JSON Lines in, JSON Lines out",
		Long: "Reads calls as JSON Lines, {\"name\": …, \"arguments\": {…}} with an optional \"id\", and prints one result a line, in order.\n" +
			"What a run remembers between calls (what was read, processes that live on) lasts until the input ends.",
		Example: `  printf '%s\n' '{"name":"read_file","arguments":{"path":"a.go"}}' | greenwright tool session --workspace .`,
		Args:    misuse(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error {
			return withTools(c.Context(), g, opts, func(t *wire.Tools) error {
				return session(c.Context(), t, c.InOrStdin(), c.OutOrStdout())
			})
		},
	}
	toolFlags(c, &opts)
	return c
}

// withTools opens the tools, uses them and closes them.
func withTools(ctx context.Context, g *globals, opts wire.ToolOptions, use func(*wire.Tools) error) error {
	if opts.Workspace == "" {
		return &exitError{code: exitMisuse, err: errors.New("--workspace DIR is missing: the directory to work on")}
	}
	cfg, err := g.load()
	if err != nil {
		return err
	}
	t, err := wire.OpenTools(cfg, opts, slog.New(slog.DiscardHandler))
	if err != nil {
		return &exitError{code: exitMisuse, err: err}
	}
	err = use(t)
	if closeErr := t.Close(ctx); closeErr != nil {
		return errors.Join(err, closeErr)
	}
	return err
}

// maxCallLine bounds one line of a session: the largest file that can be
// written, in JSON.
const maxCallLine = 32 << 20

// session answers calls until the input ends, and keeps the state of the files
// after each that may have changed them.
func session(ctx context.Context, tools *wire.Tools, in io.Reader, out io.Writer) error {
	if err := tools.Keep(ctx, "start"); err != nil {
		return err
	}
	lines := scan(ctx, in)
	for n := 1; ; n++ {
		line, more := lines.next(ctx)
		if !more {
			break
		}
		if len(line) == 0 {
			continue
		}
		id, res := answer(ctx, tools.Registry, line)
		if err := printResult(out, id, res); err != nil {
			return err
		}
		if err := tools.Keep(ctx, fmt.Sprintf("after line %d", n)); err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return &exitError{code: exitInterrupted, err: errors.New("interrupted")}
	case errors.Is(lines.err, bufio.ErrTooLong):
		return &exitError{code: exitMisuse, err: fmt.Errorf("a line of the input is longer than %d MB", maxCallLine>>20)}
	}
	return lines.err
}

// scanned are lines that are read beside the one who uses them, so that an
// interrupt is heard while nothing comes.
type scanned struct {
	lines chan []byte
	err   error // valid when lines is closed
}

func scan(ctx context.Context, in io.Reader) *scanned {
	s := &scanned{lines: make(chan []byte)}
	go func() { // ends with the input, or with the process
		defer close(s.lines)
		r := bufio.NewScanner(in)
		r.Buffer(make([]byte, 0, 64<<10), maxCallLine)
		for r.Scan() {
			select {
			case s.lines <- bytes.TrimSpace(bytes.Clone(r.Bytes())):
			case <-ctx.Done():
				return
			}
		}
		s.err = r.Err()
	}()
	return s
}

func (s *scanned) next(ctx context.Context) (line []byte, more bool) {
	select {
	case line, more = <-s.lines:
		return line, more
	case <-ctx.Done():
		return nil, false
	}
}

func answer(ctx context.Context, tools *tool.Registry, line []byte) (id json.RawMessage, res tool.Result) {
	var call struct {
		ID   json.RawMessage `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"arguments"`
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	err := dec.Decode(&call)
	if err == nil && dec.More() {
		err = errors.New("something follows the object")
	}
	if err != nil {
		res = tool.Failf(tool.CodeInvalidArgs, `a line is {"id": …, "name": …, "arguments": {…}}: %v`, err)
		res.Text = string(res.Code) + ": " + res.Message
		return call.ID, res
	}
	if len(call.Args) == 0 {
		call.Args = json.RawMessage("{}")
	}
	return call.ID, tools.Run(ctx, tool.Call{Name: call.Name, Args: call.Args})
}

// printResult writes one line.
func printResult(out io.Writer, id json.RawMessage, res tool.Result) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode(struct {
		ID json.RawMessage `json:"id,omitempty"`
		tool.Result
	}{id, res})
}
