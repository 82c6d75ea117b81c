package files

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/ignore"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

//go:embed find_files.md
var findDescription string

const (
	maxFound        = 200 // paths shown
	maxFoundFolders = 30  // folders counted one by one
	maxNearNames    = 5_000
)

type findArgs struct {
	Pattern string `json:"pattern" jsonschema:"glob, such as *_test.go, src/**/*.{ts,tsx} or Makefile"`
	Path    string `json:"path,omitempty"`
	All     bool   `json:"all,omitempty"`
}

// NewFind makes the find_files tool over ws.
func NewFind(ws *workspace.Workspace) tool.Tool {
	f := finder{ws: ws}
	return tool.Typed(tool.Spec{
		Name:        "find_files",
		Description: findDescription,
		Tier:        tool.TierRead,
		Effect:      tool.EffectRead,
	}, f.find)
}

type finder struct{ ws *workspace.Workspace }

func (f finder) find(ctx context.Context, a findArgs) tool.Result {
	if a.Path == "" {
		a.Path = "."
	}
	p, err := f.ws.Resolve(a.Path)
	if err != nil {
		return workspace.Result(err)
	}
	glob, err := ignore.ParseGlob(strings.TrimPrefix(a.Pattern, workspace.Mount+"/"))
	if err != nil {
		return tool.Failf(tool.CodeInvalidArgs, "pattern: %v", err)
	}
	s := &sweep{base: p.Real, glob: glob}
	err = f.ws.Walk(ctx, p.Real, a.All, s.visit)
	if err != nil && !errors.Is(err, workspace.ErrWalkLimit) {
		return workspace.Result(err)
	}
	if len(s.found) == 0 {
		return f.nothing(ctx, a, s)
	}
	return s.result(errors.Is(err, workspace.ErrWalkLimit))
}

// sweep collects the paths of one call.
type sweep struct {
	base  string
	glob  *ignore.Glob
	found []string
	names []string // of other files, for suggestions
}

// visit takes files and symlinks; the glob is tried on the path from the
// directory searched and from the root.
func (s *sweep) visit(e workspace.Entry) error {
	if e.Info.IsDir() {
		return nil
	}
	rel := e.Path
	if s.base != "." {
		rel = strings.TrimPrefix(e.Path, s.base+"/")
	}
	if s.glob.Match(rel) || (rel != e.Path && s.glob.Match(e.Path)) {
		s.found = append(s.found, e.Path)
	} else if len(s.names) < maxNearNames {
		s.names = append(s.names, e.Path)
	}
	return nil
}

func (s *sweep) result(limited bool) tool.Result {
	var b strings.Builder
	noun := "files"
	if len(s.found) == 1 {
		noun = "file"
	}
	fmt.Fprintf(&b, "%d %s", len(s.found), noun)
	if len(s.found) > maxFound {
		fmt.Fprintf(&b, ", %d shown", maxFound)
	}
	for _, name := range s.found[:min(len(s.found), maxFound)] {
		b.WriteString("\n" + outline.Quote(name))
	}
	if len(s.found) > maxFound {
		b.WriteString("\nBy folder:\n" + folders(s.found))
	}
	if limited {
		fmt.Fprintf(&b, "\n[the walk stopped at %d entries: look below a directory]", workspace.MaxWalked)
	}
	return tool.OKText(b.String())
}

// folders counts paths by folder, the fullest first.
func folders(paths []string) string {
	count := make(map[string]int)
	for _, p := range paths {
		count[path.Dir(p)]++
	}
	order := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		if d := count[b] - count[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var b strings.Builder
	for _, d := range order[:min(len(order), maxFoundFolders)] {
		fmt.Fprintf(&b, "%6d %s/\n", count[d], outline.Quote(d))
	}
	if more := len(order) - maxFoundFolders; more > 0 {
		fmt.Fprintf(&b, "       and %d folders more\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// nothing says what comes near: ignored files that match, similar names.
func (f finder) nothing(ctx context.Context, a findArgs, s *sweep) tool.Result {
	text := fmt.Sprintf("No file matches %q.", a.Pattern)
	if !a.All {
		hidden := &sweep{base: s.base, glob: s.glob}
		_ = f.ws.Walk(ctx, s.base, true, hidden.visit) // what it met by then is told
		if len(hidden.found) > 0 {
			text += fmt.Sprintf(" But %d that .gitignore ignores do, such as %s: set all to see them.", len(hidden.found), outline.Quote(hidden.found[0]))
		}
	}
	near := nearest(a.Pattern, s.names)
	if len(near) > 0 {
		text += "\nNearest names: " + strings.Join(near, ", ")
	}
	res := tool.OKText(text)
	res.Suggestions = near
	return res
}

// nearest are up to three paths whose last element is like the pattern's.
func nearest(pattern string, paths []string) []string {
	want := strings.Trim(path.Base(pattern), "*?[]{}!")
	if want == "" || want == "." {
		return nil
	}
	byName := make(map[string]string, len(paths))
	var names []string
	for _, p := range paths {
		if base := path.Base(p); byName[base] == "" {
			byName[base] = p
			names = append(names, base)
		}
	}
	var out []string
	for _, n := range tool.Nearest(want, names, 3) {
		out = append(out, outline.Quote(byName[n]))
	}
	return out
}
