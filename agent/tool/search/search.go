// Package search is the tool that finds text in the files of the workspace.
//
// It sits under agent/tool, searches in process with Go's regexp (linear in
// the input, so a hostile pattern cannot stall it) over a
// [workspace.Workspace], and tells it which lines the model was shown.
package search

import (
	"context"
	_ "embed"
	"errors"
	"path"
	"regexp"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/ignore"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

//go:embed search.md
var description string

// The sizes of a search (RUNTIME 1.5).
const (
	maxShown     = 50 // matches
	maxPerFile   = 3
	contextLines = 1
	maxLineBytes = 500
	maxFileBytes = 2 << 20 // larger files are data, not source
	maxPattern   = 1_000
)

type args struct {
	Pattern    string `json:"pattern" jsonschema:"regular expression, RE2 syntax"`
	Path       string `json:"path,omitempty" jsonschema:"file or directory, relative to the workspace; default its root"`
	Glob       string `json:"glob,omitempty" jsonschema:"search only files that match, such as *.go"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"match upper and lower case alike"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"take the pattern as plain text"`
	PerFile    int    `json:"per_file,omitempty" jsonschema:"matches shown per file; default 3"`
}

// New makes the search_code tool over ws.
func New(ws *workspace.Workspace) tool.Tool {
	s := searcher{ws: ws}
	return tool.Typed(tool.Spec{
		Name:        "search_code",
		Description: description,
		Schema:      tool.SchemaFor[args](func(s *jsonschema.Schema) { tool.Range("per_file", 1, maxShown)(s) }),
		Tier:        tool.TierRead,
		Effect:      tool.EffectRead,
	}, s.search)
}

type searcher struct{ ws *workspace.Workspace }

func (s searcher) search(ctx context.Context, a args) tool.Result {
	re, failed := compile(a)
	if failed != nil {
		return *failed
	}
	if a.Path == "" {
		a.Path = "."
	}
	p, err := s.ws.Resolve(a.Path)
	if err != nil {
		return workspace.Result(err)
	}
	f := &finding{ws: s.ws, re: re, perFile: maxPerFile, byDir: make(map[string]int)}
	if a.PerFile > 0 {
		f.perFile = a.PerFile
	}
	if a.Glob != "" {
		f.glob = (*ignore.List)(nil).With("", strings.TrimPrefix(a.Glob, "./"))
	}
	err = s.walk(ctx, p, f)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, workspace.ErrWalkLimit) {
		f.incomplete = true
	} else if err != nil {
		return workspace.Result(err)
	}
	return f.result(a.Pattern)
}

// walk searches one file, or all below a directory.
func (s searcher) walk(ctx context.Context, p workspace.Path, f *finding) error {
	err := s.ws.Walk(ctx, p.Real, false, func(e workspace.Entry) error {
		if e.Info.Mode().IsRegular() && e.Info.Size() <= maxFileBytes && f.wants(e.Path) {
			f.file(workspace.Path{Name: e.Path, Real: e.Path})
		}
		return nil
	})
	if fault, ok := errors.AsType[*workspace.FaultError](err); !ok || fault.Code != tool.CodeFileNotFound {
		return err
	}
	if _, err := s.ws.Read(p); err != nil {
		return err
	}
	f.file(p)
	return nil
}

func compile(a args) (*regexp.Regexp, *tool.Result) {
	pattern := a.Pattern
	if a.Literal {
		pattern = regexp.QuoteMeta(pattern)
	}
	if a.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	re, err := regexp.Compile(pattern)
	if a.Pattern == "" || len(a.Pattern) > maxPattern {
		err = errors.New("it is empty or too long")
	}
	if err != nil {
		res := tool.Failf(tool.CodeInvalidArgs, "pattern: %v", err).Suggest("set literal to search for plain text")
		return nil, &res
	}
	return re, nil
}

func (f *finding) wants(name string) bool {
	return f.glob == nil || f.glob.Ignored(name, false)
}

func dirOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir + "/"
	}
	return "./"
}
