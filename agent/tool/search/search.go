// Package search is the tool that finds text in the files of the workspace.
//
// It sits under agent/tool, searches in process with Go's regexp over a
// [workspace.Workspace], and tells it which lines the model was shown. The time
// of a match is the program's size times the line's length, so both are bounded
// and a hostile pattern cannot stall it.
//
// It gives what ripgrep gives for the same files (a test asks ripgrep), but
// for four things: \w, \d and \b know ASCII only, as RE2 has them; a carriage
// return before a line end is no part of the line; files over 2 MB are passed
// over and counted; and of a very long line a large pattern is only looked for
// at the beginning, which is said too.
package search

import (
	"context"
	_ "embed"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/ignore"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

//go:embed search.md
var description string

// The sizes of a search (RUNTIME 1.5 and the table in 1.1).
const (
	maxShown     = 50 // matches
	maxPerFile   = 3
	contextLines = 1
	maxLineBytes = 500
	maxFileBytes = 2 << 20 // larger files are data, not source
	maxPattern   = 1_000
)

type args struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path,omitempty"`
	Glob       string `json:"glob,omitempty"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Literal    bool   `json:"literal,omitempty"`
	Word       bool   `json:"word,omitempty"`
	PerFile    int    `json:"per_file,omitempty"`
	All        bool   `json:"all,omitempty"`
}

// New makes the search_code tool over ws. The Data of its result is a [Found].
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
	f, failed := s.prepare(ctx, a)
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
	if err := s.walk(ctx, p, f); err != nil {
		if !ended(err) {
			return workspace.Result(err)
		}
		f.incomplete = true
	}
	hidden := Found{}
	if f.found.Matches == 0 && !a.All && !f.incomplete {
		hidden = s.ignored(ctx, p, a)
	}
	return f.result(a.Pattern, hidden)
}

// prepare checks the arguments.
func (s searcher) prepare(ctx context.Context, a args) (*finding, *tool.Result) {
	re, failed := compile(a)
	if failed != nil {
		return nil, failed
	}
	f := &finding{ctx: ctx, ws: s.ws, re: re, perFile: maxPerFile, all: a.All, byDir: make(map[string]int)}
	f.literal = prefix(a, re)
	if a.PerFile > 0 {
		f.perFile = a.PerFile
	}
	if a.Glob != "" {
		glob, err := ignore.ParseGlob(a.Glob)
		if err != nil {
			res := tool.Failf(tool.CodeInvalidArgs, "glob: %v", err)
			return nil, &res
		}
		f.glob = glob
	}
	return f, nil
}

// ended says whether a walk was cut short rather than failed.
func ended(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, workspace.ErrWalkLimit)
}

// The bounds of the look at ignored files, which can be many (node_modules).
const (
	maxHidden     = 100 // matches
	maxHiddenTime = 2 * time.Second
)

// ignored counts matches in ignored files, when there are no others: that is
// worth a word, not a listing.
func (s searcher) ignored(ctx context.Context, p workspace.Path, a args) Found {
	a.All = true
	ctx, cancel := context.WithTimeout(ctx, maxHiddenTime)
	defer cancel()
	f, failed := s.prepare(ctx, a)
	if failed != nil {
		return Found{}
	}
	f.quiet = true
	_ = s.walk(ctx, p, f) // what it found by then is what is told
	return f.found
}

// walk searches one file, or all below a directory.
func (s searcher) walk(ctx context.Context, p workspace.Path, f *finding) error {
	err := s.ws.Walk(ctx, p.Real, f.all, func(e workspace.Entry) error {
		if e.Info.Mode().IsRegular() && f.glob.Match(e.Path) {
			f.entry(e)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if f.quiet && f.found.Matches >= maxHidden {
			return workspace.SkipAll
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
	return ctx.Err()
}

func dirOf(name string) string {
	if dir := path.Dir(name); dir != "." {
		return dir + "/"
	}
	return "./"
}

// cut shows at most maxLineBytes of a line, round the match if that is late.
func cut(line string, match []int) (string, bool) {
	if len(line) <= maxLineBytes {
		return line, false
	}
	from := 0
	if match != nil && match[1] > maxLineBytes {
		from = max(0, min(match[0]-maxLineBytes/4, len(line)-maxLineBytes))
	}
	text := strings.ToValidUTF8(line[from:min(len(line), from+maxLineBytes)], "")
	if from > 0 {
		text = "…" + text
	}
	return text + "… [cut]", true
}
