package edit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

//go:embed write_file.md
var writeDescription string

// A write that leaves less than this share of a file with more than so many
// lines must say that it means to (RUNTIME 2, Bytes).
const (
	largeFileLines  = 100
	keepShareOfFile = 0.4
)

type writeArgs struct {
	Path      string `json:"path"`
	Content   string `json:"content"`
	Overwrite bool   `json:"overwrite,omitempty"`
	Confirm   bool   `json:"confirm_large_delete,omitempty"`
}

// NewWrite makes the write_file tool over ws.
func NewWrite(ws *workspace.Workspace) tool.Tool {
	w := writer{ws: ws}
	t := tool.Typed(tool.Spec{
		Name:        "write_file",
		Description: writeDescription,
		Tier:        tool.TierPatch,
		Effect:      tool.EffectWrite,
	}, w.run)
	return forgetting(ws, t, func(a writeArgs, lose func(name, text string)) { lose(a.Path, a.Content) })
}

type writer struct{ ws *workspace.Workspace }

func (w writer) run(ctx context.Context, a writeArgs) tool.Result {
	p, err := w.ws.Resolve(a.Path)
	if err != nil {
		return workspace.Result(err)
	}
	defer w.ws.Lock(p.Real)()
	f, err := w.ws.Read(p)
	fault, isFault := errors.AsType[*workspace.FaultError](err)
	switch {
	case err == nil:
		return w.overwrite(ctx, p, f, a)
	case isFault && fault.Code == tool.CodeFileNotFound:
		if line, found := placeholder("", a.Content); found {
			return isPlaceholder(line)
		}
		if r := unwritable("", a.Content); r != nil {
			return refusal(p.Name, r)
		}
		return w.put(ctx, p, workspace.Text{Encoding: workspace.UTF8}, a.Content, nil)
	}
	return workspace.Result(err)
}

func isPlaceholder(line string) tool.Result {
	return tool.Failf(tool.CodePlaceholder, "the content holds a placeholder instead of code: %s", visible(line)).
		Suggest("write out what belongs there")
}

// overwrite replaces a file that the model has seen whole.
func (w writer) overwrite(ctx context.Context, p workspace.Path, f workspace.File, a writeArgs) tool.Result {
	if !a.Overwrite {
		return tool.Failf(tool.CodeFileExists, "%s exists", p.Name).
			Suggest("edit_file to change a part of it, or set overwrite after reading it")
	}
	text, err := workspace.Decode(f.Bytes)
	if err != nil {
		return workspace.Result(err)
	}
	if text.Encoding == workspace.Raw {
		return tool.Failf(tool.CodeNotUTF8, "%s is not UTF-8 and would be re-encoded", p.Name)
	}
	switch w.ws.Reads().Covers(p.Real, text.Body, 0, len(workspace.SplitLines(text.Body))) {
	case workspace.NotRead:
		return tool.Failf(tool.CodeNotRead, "%s has not been read whole", p.Name).Suggest("read_file first")
	case workspace.Stale, workspace.Moved:
		return stale(w.ws, p, text.Body)
	case workspace.Fresh:
	}
	if r := unwritable(text.Body, a.Content); r != nil {
		return refusal(p.Name, r)
	}
	if line, found := placeholder(text.Body, a.Content); found {
		return isPlaceholder(line)
	}
	if failed := largeDelete(p.Name, text.Body, a.Content, a.Confirm); failed != nil {
		return *failed
	}
	content := sameEnds(text.Body, a.Content)
	if text.Body == content {
		return tool.Failf(tool.CodeNoChange, "%s already has this content", p.Name)
	}
	return w.put(ctx, p, text, content, f.Bytes)
}

// sameEnds gives content the line ends of a file whose lines all end in CRLF.
func sameEnds(old, content string) string {
	lines := strings.Count(old, "\n")
	if lines == 0 || strings.Count(old, "\r\n") != lines {
		return content
	}
	return strings.ReplaceAll(normalise(content), "\n", "\r\n")
}

// put writes the file. A nil before is a file that does not exist yet.
func (w writer) put(ctx context.Context, p workspace.Path, text workspace.Text, content string, before []byte) tool.Result {
	data := text.Encode(content)
	effects, err := w.ws.Commit(ctx, []workspace.FileChange{{Path: p, Content: data, Before: before}})
	if err != nil {
		return workspace.Result(err)
	}
	lines, verb := len(workspace.SplitLines(content)), "Created"
	if before != nil {
		verb = "Replaced"
		w.ws.Reads().Edited(p.Real, text.Body, content, lineChanges(text.Body, content))
	}
	w.ws.Reads().Show(p.Real, content, 0, lines)
	faults := newFaults(p.Name, before, data)
	said := fmt.Sprintf("%s %s: %d lines, %d bytes.\n", verb, p.Name, lines, len(data))
	res := tool.OKText(said + tellTwins(w.ws, p) + tellFaults(faults))
	res.Effects, res.Data = effects, Edited{Syntax: faults}
	return res
}
