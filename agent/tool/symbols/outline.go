package symbols

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

//go:embed outline.md
var outlineDescription string

const (
	// maxOutline is the budget of one outline in bytes, a map's (RUNTIME 1.5).
	maxOutline    = outline.MapBytes
	maxFileShown  = 500 // symbols of one file
	maxFolderRows = 200
)

type outlineArgs struct {
	Path string `json:"path,omitempty"`
}

// NewOutline makes the outline tool over r.
func NewOutline(r *Repository) tool.Tool {
	return tool.Typed(tool.Spec{
		Name:        "outline",
		Description: outlineDescription,
		Tier:        tool.TierRead,
		Effect:      tool.EffectRead,
	}, r.outline)
}

func (r *Repository) outline(ctx context.Context, a outlineArgs) tool.Result {
	if a.Path == "" {
		a.Path = "."
	}
	p, err := r.ws.Resolve(a.Path)
	if err != nil {
		return workspace.Result(err)
	}
	f, err := r.ws.Read(p)
	if err == nil {
		return ofFile(p, f)
	}
	if fault, ok := errors.AsType[*workspace.FaultError](err); !ok || fault.Code != tool.CodeIsDirectory {
		return workspace.Result(err)
	}
	return r.ofDirectory(ctx, p)
}

// ofFile shows every symbol of a file with its lines.
func ofFile(p workspace.Path, f workspace.File) tool.Result {
	text, err := workspace.Decode(f.Bytes)
	if err != nil {
		return workspace.Result(err)
	}
	lines := len(workspace.SplitLines(text.Body))
	name := outline.Quote(p.Name)
	if !outline.Supported(p.Name) {
		return tool.OKText(fmt.Sprintf("%s, %d lines: files like it have no outline; read it with read_file.", name, lines))
	}
	symbols := outline.Of(p.Name, []byte(text.Body))
	if len(symbols) == 0 {
		return tool.OKText(fmt.Sprintf("%s, %d lines: it declares nothing.", name, lines))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d lines, %d symbols\n", name, lines, len(symbols))
	shown := 0
	for _, s := range symbols {
		row := row(s)
		if b.Len()+len(row) > maxOutline || shown == maxFileShown {
			break
		}
		b.WriteString(row)
		shown++
	}
	if more := len(symbols) - shown; more > 0 {
		fmt.Fprintf(&b, "[… %d symbols more, from line %d on]\n", more, symbols[shown].From)
	}
	return tool.OKText(b.String())
}

// row is a symbol with its lines; members are indented.
func row(s outline.Symbol) string {
	indent := ""
	if s.Parent != "" {
		indent = "  "
	}
	return fmt.Sprintf("%6d-%-6d│%s%s\n", s.From, s.To, indent, signature(s))
}

// signature is a symbol's declaration, or its name where that is missing.
func signature(s outline.Symbol) string {
	if s.Signature == "" {
		return s.Name
	}
	return s.Signature
}

// ofDirectory shows the files below a directory as richly as the budget
// allows: top declarations, their names, file names with counts, folders.
func (r *Repository) ofDirectory(ctx context.Context, p workspace.Path) tool.Result {
	x, err := r.Index(ctx)
	if err != nil {
		return workspace.Result(err)
	}
	d := directory{x: x}
	prefix := p.Real + "/"
	if p.Real == "." {
		prefix = ""
	}
	for _, name := range x.Paths() {
		if strings.HasPrefix(name, prefix) {
			d.files = append(d.files, name)
		}
	}
	note := ""
	if left := x.LeftOut().String(); left != "" {
		note = "[" + left + "]\n"
	}
	if len(d.files) == 0 {
		return tool.OKText(fmt.Sprintf("No files in %s. %s", outline.Quote(p.Name), note))
	}
	head := fmt.Sprintf("%s, %s\n", outline.Quote(p.Name), plural(len(d.files), "file"))
	for _, level := range []func() string{d.declarations, d.names, d.counts} {
		if text := level(); len(head)+len(text)+len(note) <= maxOutline {
			return tool.OKText(head + text + note)
		}
	}
	return tool.OKText(head + d.folders(strings.Count(prefix, "/")+1) + note)
}

type directory struct {
	x     *outline.Index
	files []string
}

// top are the symbols that no other holds.
func (d directory) top(name string) []outline.Symbol {
	var out []outline.Symbol
	for _, s := range d.x.Symbols(name) {
		if s.Parent == "" {
			out = append(out, s)
		}
	}
	return out
}

func (d directory) declarations() string {
	var b strings.Builder
	for _, name := range d.files {
		b.WriteString(outline.Quote(name) + "\n" + outline.Lines(d.top(name)))
		if b.Len() > maxOutline {
			break
		}
	}
	return b.String()
}

func (d directory) names() string {
	var b strings.Builder
	for _, name := range d.files {
		b.WriteString(outline.Quote(name))
		for i, s := range d.top(name) {
			sep := ", "
			if i == 0 {
				sep = ": "
			}
			b.WriteString(sep + s.Name)
		}
		b.WriteByte('\n')
		if b.Len() > maxOutline {
			break
		}
	}
	return b.String()
}

func (d directory) counts() string {
	var b strings.Builder
	for _, name := range d.files {
		fmt.Fprintf(&b, "%s (%d symbols)\n", outline.Quote(name), len(d.x.Symbols(name)))
		if b.Len() > maxOutline {
			break
		}
	}
	return b.String()
}

// folders counts files and symbols down to a depth.
func (d directory) folders(depth int) string {
	type count struct{ files, symbols int }
	counts := make(map[string]count)
	var order []string
	for _, name := range d.files {
		dir := path.Dir(name)
		if parts := strings.SplitN(dir, "/", depth+2); len(parts) > depth+1 {
			dir = strings.Join(parts[:depth+1], "/")
		}
		c, known := counts[dir]
		if !known {
			order = append(order, dir)
		}
		counts[dir] = count{c.files + 1, c.symbols + len(d.x.Symbols(name))}
	}
	var b strings.Builder
	for i, dir := range order {
		if i == maxFolderRows || b.Len() > maxOutline-200 {
			fmt.Fprintf(&b, "[… %d folders more]\n", len(order)-i)
			break
		}
		fmt.Fprintf(&b, "%s/ (%d files, %d symbols)\n", outline.Quote(dir), counts[dir].files, counts[dir].symbols)
	}
	return b.String() + "[too much for one outline: name a smaller directory or a file]\n"
}
