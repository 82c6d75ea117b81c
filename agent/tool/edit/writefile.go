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
	Path      string `json:"path" jsonschema:"file, relative to the workspace"`
	Content   string `json:"content" jsonschema:"the whole content"`
	Overwrite bool   `json:"overwrite,omitempty" jsonschema:"replace the file if it exists"`
	Confirm   bool   `json:"confirm_large_delete,omitempty" jsonschema:"say that removing most of a large file is meant"`
}

// NewWrite makes the write_file tool over ws.
func NewWrite(ws *workspace.Workspace) tool.Tool {
	w := writer{ws: ws}
	return tool.Typed(tool.Spec{
		Name:        "write_file",
		Description: writeDescription,
		Tier:        tool.TierPatch,
		Effect:      tool.EffectWrite,
	}, w.run)
}

type writer struct{ ws *workspace.Workspace }

func (w writer) run(_ context.Context, a writeArgs) tool.Result {
	p, err := w.ws.Resolve(a.Path)
	if err != nil {
		return workspace.Result(err)
	}
	defer w.ws.Lock(p.Real)()
	f, err := w.ws.Read(p)
	fault, isFault := errors.AsType[*workspace.FaultError](err)
	switch {
	case err == nil:
		return w.overwrite(p, f, a)
	case isFault && fault.Code == tool.CodeFileNotFound:
		if line, found := placeholder("", a.Content); found {
			return isPlaceholder(line)
		}
		return w.put(p, workspace.Text{Encoding: workspace.UTF8}, a.Content, "Created")
	}
	return workspace.Result(err)
}

func isPlaceholder(line string) tool.Result {
	return tool.Failf(tool.CodePlaceholder, "the content holds a placeholder instead of code: %s", visible(line)).
		Suggest("write out what belongs there")
}

// overwrite replaces a file that the model has seen whole.
func (w writer) overwrite(p workspace.Path, f workspace.File, a writeArgs) tool.Result {
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
	if !w.ws.Reads().Whole(p.Real, text.Body) {
		return tool.Failf(tool.CodeNotRead, "%s has not been read whole as it is now", p.Name).Suggest("read_file first")
	}
	if line, found := placeholder(text.Body, a.Content); found {
		return isPlaceholder(line)
	}
	before, after := len(workspace.SplitLines(text.Body)), len(workspace.SplitLines(a.Content))
	if before > largeFileLines && float64(after) < float64(before)*keepShareOfFile && !a.Confirm {
		return tool.Failf(tool.CodeConflict, "this would leave %d of the %d lines of %s", after, before, p.Name).
			Suggest("set confirm_large_delete if that is meant")
	}
	return w.put(p, text, sameEnds(text.Body, a.Content), "Replaced")
}

// sameEnds gives content the line ends of a file whose lines all end in CRLF.
func sameEnds(old, content string) string {
	lines := strings.Count(old, "\n")
	if lines == 0 || strings.Count(old, "\r\n") != lines {
		return content
	}
	return strings.ReplaceAll(normalise(content), "\n", "\r\n")
}

func (w writer) put(p workspace.Path, text workspace.Text, content, verb string) tool.Result {
	if text.Body == content && verb == "Replaced" {
		return tool.Failf(tool.CodeNoChange, "%s already has this content", p.Name)
	}
	effect, err := w.ws.Replace(p, text.Encode(content))
	if err != nil {
		return workspace.Result(err)
	}
	lines := len(workspace.SplitLines(content))
	w.ws.Reads().Show(p.Real, content, 0, lines)
	res := tool.OKText(fmt.Sprintf("%s %s: %d lines, %d bytes.", verb, p.Name, lines, len(content)))
	res.Effects = []tool.FileEffect{effect}
	return res
}
