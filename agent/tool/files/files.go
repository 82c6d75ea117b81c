// Package files holds the tools that look at files: read_file, list_files and
// find_files.
//
// It sits under agent/tool and sees files only through a
// [workspace.Workspace], which it tells what the model was shown: an edit is
// allowed only to lines that were.
package files

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/greenwright/greenwright/agent/outline"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

//go:embed read_file.md
var readDescription string

// The sizes of a read (RUNTIME 1.5 and the table in 1.1).
const (
	DefaultLines = 400
	MaxLines     = 2_000
	maxLineBytes = 2_000
	maxReadBytes = 60_000
)

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	Symbol string `json:"symbol,omitempty"`
}

// reader is the read_file tool. It is a [tool.Forgetter].
type reader struct {
	tool.Tool
	ws *workspace.Workspace

	mu    sync.Mutex          // guards spans
	spans map[readArgs][2]int // the lines that reads of symbols showed
}

// NewRead makes the read_file tool over ws.
func NewRead(ws *workspace.Workspace) tool.Tool {
	r := &reader{ws: ws, spans: make(map[readArgs][2]int)}
	r.Tool = tool.Typed(tool.Spec{
		Name:        "read_file",
		Description: readDescription,
		Schema:      tool.SchemaFor[readArgs](readBounds),
		Tier:        tool.TierRead,
		Effect:      tool.EffectRead,
		OutputBytes: maxReadBytes + 4_000,
	}, r.read)
	return r
}

func readBounds(s *jsonschema.Schema) {
	tool.Range("offset", 1, 1<<30)(s)
	tool.Range("limit", 1, MaxLines)(s)
}

// span is the zero-based range of lines that a call asks for.
func (a readArgs) span() (from, to int) {
	limit := a.Limit
	if limit == 0 {
		limit = DefaultLines
	}
	from = max(a.Offset-1, 0)
	return from, from + limit
}

func (r *reader) read(ctx context.Context, a readArgs) tool.Result {
	p, err := r.ws.Resolve(a.Path)
	if err != nil {
		return workspace.Result(err)
	}
	f, err := r.ws.Read(p)
	if err != nil {
		return r.missing(ctx, workspace.Result(err), p)
	}
	text, err := workspace.Decode(f.Bytes)
	if err != nil {
		return workspace.Result(err)
	}
	if a.Symbol == "" {
		return r.show(ctx, p, f, text, a)
	}
	span, failed := locate(p, text, a)
	if failed != nil {
		return *failed
	}
	r.remember(a, span)
	return r.show(ctx, p, f, text, readArgs{Path: a.Path, Offset: span[0] + 1, Limit: span[1] - span[0]})
}

// headerRoom is what the line ahead of the lines may take.
const headerRoom = 1_000

func (r *reader) show(ctx context.Context, p workspace.Path, f workspace.File, text workspace.Text, a readArgs) tool.Result {
	lines := workspace.SplitLines(text.Body)
	from, to := a.span()
	if from >= len(lines) && from > 0 {
		return tool.Failf(tool.CodeInvalidArgs, "offset %d is beyond the end: %s has %d lines", a.Offset, p.Name, len(lines))
	}
	to = min(to, len(lines))
	body, to := number(lines, from, to, min(maxReadBytes, max(tool.Room(ctx, maxReadBytes+headerRoom)-headerRoom, headerRoom)))
	r.markShown(p, text.Body, lines, from, to)
	res := tool.OKText(header(p, f, text, lines, from, to) + body)
	if to < len(lines) || from > 0 {
		res.Truncated = &tool.Truncation{BytesTotal: int64(len(f.Bytes)), LinesTotal: int64(len(lines))}
	}
	return res
}

// header says what is shown of what, in one line, with all that is unusual.
func header(p workspace.Path, f workspace.File, text workspace.Text, lines []string, from, to int) string {
	head := fmt.Sprintf("%s, lines %d-%d of %d", outline.Quote(p.Name), min(from+1, to), to, len(lines))
	if p.Linked() {
		head += ", a symlink to " + outline.Quote(p.Real)
	}
	if f.Links > 1 {
		head += fmt.Sprintf(", one of %d hard links", f.Links)
	}
	if text.Encoding != workspace.UTF8 || text.BOM {
		head += ", " + string(text.Encoding)
		if text.BOM {
			head += " with BOM"
		}
	}
	if crlf := strings.Count(text.Body, "\r\n"); crlf > 0 {
		head += fmt.Sprintf(", %d lines end in CRLF", crlf)
	}
	if len(lines) > 0 && !strings.HasSuffix(text.Body, "\n") {
		head += ", no newline at the end"
	}
	return head + "\n"
}

// markShown tells the ledger which lines were shown in full.
func (r *reader) markShown(p workspace.Path, body string, lines []string, from, to int) {
	start := from
	for i := from; i < to; i++ {
		if len(workspace.ShowLine(lines[i])) > maxLineBytes {
			r.ws.Reads().Show(p.Real, body, start, i)
			start = i + 1
		}
	}
	r.ws.Reads().Show(p.Real, body, start, to)
}

// number puts the line numbers in front and stops before the byte limit.
func number(lines []string, from, to, most int) (text string, end int) {
	var b strings.Builder
	for i := from; i < to; i++ {
		line := workspace.ShowLine(lines[i])
		if len(line) > maxLineBytes {
			line = fmt.Sprintf("%s… [%d bytes more]", strings.ToValidUTF8(line[:maxLineBytes], ""), len(line)-maxLineBytes)
		}
		const numbered = 16 // what stands ahead of a line
		if b.Len()+len(line)+numbered > most && i > from {
			fmt.Fprintf(&b, "[… lines from %d on left out: too much for one read]\n", i+1)
			return b.String(), i
		}
		fmt.Fprintf(&b, "%5d│%s\n", i+1, line)
	}
	return b.String(), to
}

// missing adds files of the same name elsewhere to a FILE_NOT_FOUND.
func (r *reader) missing(ctx context.Context, res tool.Result, p workspace.Path) tool.Result {
	if res.Code != tool.CodeFileNotFound {
		return res
	}
	for _, name := range sameName(ctx, r.ws, p.Name) {
		res = res.Suggest("%s", name)
	}
	return res
}

// Forget takes back what a read had shown, when it leaves the model's view.
func (r *reader) Forget(raw json.RawMessage) {
	var a readArgs
	if json.Unmarshal(raw, &a) != nil {
		return
	}
	if p, err := r.ws.Resolve(a.Path); err == nil {
		from, to := r.spanOf(a)
		r.ws.Reads().Forget(p.Real, from, to)
	}
}
