package edit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

//go:embed edit_file.md
var editDescription string

type editArgs struct {
	Path     string `json:"path" jsonschema:"file, relative to the workspace"`
	Old      string `json:"old_string" jsonschema:"the text to replace, exactly as it is in the file"`
	New      string `json:"new_string" jsonschema:"the text to put in its place"`
	All      bool   `json:"replace_all,omitempty" jsonschema:"replace every place"`
	Expected int    `json:"expected_count,omitempty" jsonschema:"how many places there should be"`
}

// NewEdit makes the edit_file tool over ws.
func NewEdit(ws *workspace.Workspace) tool.Tool {
	e := editor{ws: ws}
	return tool.Typed(tool.Spec{
		Name:        "edit_file",
		Description: editDescription,
		Schema:      tool.SchemaFor[editArgs](func(s *jsonschema.Schema) { tool.Range("expected_count", 1, 10_000)(s) }),
		Tier:        tool.TierPatch,
		Effect:      tool.EffectWrite,
	}, e.edit)
}

type editor struct{ ws *workspace.Workspace }

// target is the file of one edit.
type target struct {
	path workspace.Path
	file workspace.File
	text workspace.Text
}

func (e editor) edit(_ context.Context, a editArgs) tool.Result {
	p, err := e.ws.Resolve(a.Path)
	if err != nil {
		return workspace.Result(err)
	}
	defer e.ws.Lock(p.Real)()
	t, failed := e.load(p)
	if failed != nil {
		return *failed
	}
	if t.text.Encoding == workspace.Raw && (!isASCII(a.Old) || !isASCII(a.New)) {
		return tool.Failf(tool.CodeNotUTF8, "%s is not UTF-8: only plain ASCII text can be replaced in it", p.Name)
	}
	applied, err := Apply(t.text.Body, Request{
		Old: a.Old, New: a.New, All: a.All, Expected: a.Expected, Bytes: t.text.Encoding == workspace.Raw,
	})
	if err != nil {
		return e.refused(t, err)
	}
	moved, failed := e.checkSeen(t, applied)
	if failed != nil {
		return *failed
	}
	return e.write(t, applied, moved)
}

func (e editor) load(p workspace.Path) (target, *tool.Result) {
	f, err := e.ws.Read(p)
	if err != nil {
		res := workspace.Result(err)
		if res.Code == tool.CodeFileNotFound {
			res = res.Suggest("write_file to create it")
		}
		return target{}, &res
	}
	text, err := workspace.Decode(f.Bytes)
	if err != nil {
		res := workspace.Result(err)
		return target{}, &res
	}
	return target{path: p, file: f, text: text}, nil
}

// refused turns a refusal into a result; a file that was never shown says so
// rather than that the text is not in it.
func (e editor) refused(t target, err error) tool.Result {
	r, ok := errors.AsType[*RefusalError](err)
	if !ok {
		return workspace.Result(err)
	}
	if r.Code == tool.CodeNoMatch && !e.ws.Reads().Known(t.path.Real) {
		return notRead(t.path)
	}
	res := tool.Failf(r.Code, "%s: %s", t.path.Name, r.Message).WithDetail(r.Detail)
	for _, h := range r.Hints {
		res = res.Suggest("%s", h)
	}
	return res
}

func notRead(p workspace.Path) tool.Result {
	return tool.Failf(tool.CodeNotRead, "the lines to change of %s have not been read", p.Name).
		Suggest("read_file with a range that covers them")
}

// checkSeen refuses lines that the model has not seen as they are now. moved
// says that the rest of the file changed since.
func (e editor) checkSeen(t target, a Applied) (moved bool, failed *tool.Result) {
	for _, c := range a.Changes {
		switch e.ws.Reads().Covers(t.path.Real, t.text.Body, c.From, c.From+c.Old) {
		case workspace.NotRead:
			res := notRead(t.path)
			return false, &res
		case workspace.Stale:
			res := tool.Failf(tool.CodeStaleFile, "%s changed since you read it, in the lines to change", t.path.Name).
				Suggest("read_file again")
			return false, &res
		case workspace.Moved:
			moved = true
		case workspace.Fresh:
		}
	}
	return moved, nil
}

func (e editor) write(t target, a Applied, moved bool) tool.Result {
	effect, err := e.ws.Replace(t.path, t.text.Encode(a.Body))
	if err != nil {
		return workspace.Result(err)
	}
	e.ws.Reads().Edited(t.path.Real, t.text.Body, a.Body, a.Changes)
	res := tool.OKText(report(t, a, moved))
	res.Effects = []tool.FileEffect{effect}
	return res
}

// report says what was done, everything unusual, and shows the difference.
func report(t target, a Applied, moved bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Edited %s", t.path.Name)
	if len(a.Changes) > 1 {
		fmt.Fprintf(&b, " at %d places", len(a.Changes))
	}
	if t.path.Linked() {
		b.WriteString(", a symlink to " + t.path.Real)
	}
	if t.file.Links > 1 {
		fmt.Fprintf(&b, "; it had %d hard links, the others keep the old content", t.file.Links)
	}
	b.WriteString(".\n")
	if a.Step != StepExact {
		fmt.Fprintf(&b, "old_string was not in the file exactly; it was matched by %s.\n", a.Step)
	}
	if moved {
		b.WriteString("The file had changed elsewhere since you read it.\n")
	}
	b.WriteString(shownDiff(t.text.Body, a.Body, a.Changes))
	return b.String()
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
