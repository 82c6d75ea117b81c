package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/ignore"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

//go:embed list_files.md
var listDescription string

// maxListed is how many entries one call shows.
const maxListed = 500

type listArgs struct {
	Path  string `json:"path,omitempty"`
	Glob  string `json:"glob,omitempty"`
	Depth int    `json:"depth,omitempty"`
	All   bool   `json:"all,omitempty"`
}

// NewList makes the list_files tool over ws.
func NewList(ws *workspace.Workspace) tool.Tool {
	l := lister{ws: ws}
	return tool.Typed(tool.Spec{
		Name:        "list_files",
		Description: listDescription,
		Schema:      tool.SchemaFor[listArgs](func(s *jsonschema.Schema) { tool.Range("depth", 1, 100)(s) }),
		Tier:        tool.TierRead,
		Effect:      tool.EffectRead,
	}, l.list)
}

type lister struct{ ws *workspace.Workspace }

func (l lister) list(ctx context.Context, a listArgs) tool.Result {
	if a.Path == "" {
		a.Path = "."
	}
	p, err := l.ws.Resolve(a.Path)
	if err != nil {
		return workspace.Result(err)
	}
	show := &listing{args: a, base: p.Real}
	if a.Glob != "" {
		if show.glob, err = ignore.ParseGlob(a.Glob); err != nil {
			return tool.Failf(tool.CodeInvalidArgs, "glob: %v", err)
		}
	}
	err = l.ws.Walk(ctx, p.Real, a.All, show.visit)
	if err != nil && !errors.Is(err, workspace.ErrWalkLimit) {
		return workspace.Result(err)
	}
	return show.result(p, errors.Is(err, workspace.ErrWalkLimit))
}

// listing collects what one call shows.
type listing struct {
	args  listArgs
	base  string
	glob  *ignore.Glob
	lines []string
	more  int
}

func (s *listing) visit(e workspace.Entry) error {
	rel := e.Path
	if s.base != "." {
		rel = strings.TrimPrefix(e.Path, s.base+"/")
	}
	isDir := e.Info.IsDir()
	if s.args.Depth > 0 && strings.Count(rel, "/") >= s.args.Depth {
		return nil
	}
	if s.glob != nil && (isDir || !s.glob.Match(rel)) {
		return nil
	}
	if isDir && s.args.Depth == 0 && s.glob == nil {
		return nil // its files name it
	}
	if len(s.lines) == maxListed {
		s.more++
		return nil
	}
	s.lines = append(s.lines, label(e))
	return nil
}

func label(e workspace.Entry) string {
	name := outline.Quote(e.Path)
	switch mode := e.Info.Mode(); {
	case mode.IsDir():
		return outline.Quote(e.Path + "/")
	case mode.IsRegular():
		return name
	case mode&fs.ModeSymlink != 0:
		return name + " (symlink)"
	}
	return name + " (special)"
}

func (s *listing) result(p workspace.Path, limited bool) tool.Result {
	if len(s.lines) == 0 {
		return tool.OKText(fmt.Sprintf("No files in %s that match.", p.Name))
	}
	text := strings.Join(s.lines, "\n")
	if s.more > 0 {
		text += fmt.Sprintf("\n[… %d more: list a smaller directory or use glob]", s.more)
	}
	if limited {
		text += fmt.Sprintf("\n[the walk stopped at %d entries]", workspace.MaxWalked)
	}
	return tool.OKText(text)
}

// sameName finds up to three files called like name's last element.
func sameName(ctx context.Context, ws *workspace.Workspace, name string) []string {
	want := path.Base(name)
	var found []string
	// The walk is local and bounded, and its errors only cost the suggestion.
	_ = ws.Walk(ctx, ".", false, func(e workspace.Entry) error {
		if path.Base(e.Path) == want && !e.Info.IsDir() {
			found = append(found, outline.Quote(e.Path))
		}
		if len(found) == 3 {
			return workspace.SkipAll
		}
		return nil
	})
	return found
}
