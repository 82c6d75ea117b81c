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
	Path     string `json:"path"`
	Old      string `json:"old_string"`
	New      string `json:"new_string"`
	All      bool   `json:"replace_all,omitempty"`
	Expected int    `json:"expected_count,omitempty"`
	Confirm  bool   `json:"confirm_large_delete,omitempty"`
}

// NewEdit makes the edit_file tool over ws.
func NewEdit(ws *workspace.Workspace) tool.Tool {
	e := editor{ws: ws}
	t := tool.Typed(tool.Spec{
		Name:        "edit_file",
		Description: editDescription,
		Schema:      tool.SchemaFor[editArgs](func(s *jsonschema.Schema) { tool.Range("expected_count", 1, 10_000)(s) }),
		Tier:        tool.TierPatch,
		Effect:      tool.EffectWrite,
	}, e.edit)
	return forgetting(ws, t, func(a editArgs, lose func(name, text string)) { lose(a.Path, a.New) })
}

type editor struct{ ws *workspace.Workspace }

// target is the file of one edit.
type target struct {
	path workspace.Path
	file workspace.File
	text workspace.Text
}

func (e editor) edit(ctx context.Context, a editArgs) tool.Result {
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
	work, cancel := context.WithTimeout(ctx, workLimit)
	defer cancel()
	applied, err := Apply(work, t.text.Body, Request{
		Old: a.Old, New: a.New, All: a.All, Expected: a.Expected, Bytes: t.text.Encoding == workspace.Raw, Path: t.path.Name,
	})
	if err != nil {
		return e.refused(t, a, err)
	}
	moved, failed := checkSeen(e.ws, t.path, t.text.Body, applied.Changes)
	if failed != nil {
		return *failed
	}
	if failed := largeDelete(t.path.Name, t.text.Body, applied.Body, a.Confirm); failed != nil {
		return *failed
	}
	return e.write(ctx, t, applied, moved)
}

func (e editor) load(p workspace.Path) (target, *tool.Result) {
	f, err := e.ws.Read(p)
	if err != nil {
		res := workspace.Result(err)
		if res.Code == tool.CodeFileNotFound {
			for _, twin := range e.ws.Twins(p) {
				res = res.Suggest("%s", twin)
			}
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
// rather than that the text is not in it, and text that an own edit took out
// names the edit.
func (e editor) refused(t target, a editArgs, err error) tool.Result {
	r, ok := errors.AsType[*RefusalError](err)
	if ok && r.Code == tool.CodeNoMatch {
		if !e.ws.Reads().Known(t.path.Real) {
			return notRead(t.path)
		}
		if n, found := e.ws.Reads().Removed(t.path.Real, a.Old); found {
			r.Message += fmt.Sprintf(": your edit number %d of this file took it out", n)
		}
	}
	return refusal(t.path.Name, err)
}

func notRead(p workspace.Path) tool.Result {
	return tool.Failf(tool.CodeNotRead, "the lines to change of %s have not been read", p.Name).
		Suggest("read_file with a range that covers them")
}

// checkSeen refuses lines that the model has not seen as they are now. moved
// says that the rest of the file changed since.
func checkSeen(ws *workspace.Workspace, p workspace.Path, body string, changes []workspace.Change) (moved bool, failed *tool.Result) {
	for _, c := range changes {
		switch ws.Reads().Covers(p.Real, body, c.From, c.From+c.Old) {
		case workspace.NotRead:
			res := notRead(p)
			return false, &res
		case workspace.Stale:
			res := stale(ws, p, body)
			return false, &res
		case workspace.Moved:
			moved = true
		case workspace.Fresh:
		}
	}
	return moved, nil
}

// maxStaleLines is how long the difference since a read may be to be shown.
const maxStaleLines = 40

// stale says that somebody else changed the file, and shows what, if short.
func stale(ws *workspace.Workspace, p workspace.Path, body string) tool.Result {
	res := tool.Failf(tool.CodeStaleFile, "%s changed since you read it, in the lines to change: a command or a formatter did it, not an edit of yours", p.Name).
		Suggest("read_file again")
	last, known := ws.Reads().Last(p.Real)
	if !known {
		return res
	}
	diff := shownDiff(last, body, lineChanges(last, body))
	if strings.Count(diff, "\n") > maxStaleLines {
		return res
	}
	return res.WithDetail("What changed since:\n" + diff)
}

func (e editor) write(ctx context.Context, t target, a Applied, moved bool) tool.Result {
	content := t.text.Encode(a.Body)
	effects, err := e.ws.Commit(ctx, []workspace.FileChange{{Path: t.path, Content: content, Before: t.file.Bytes}})
	if err != nil {
		return workspace.Result(err)
	}
	e.ws.Reads().Edited(t.path.Real, t.text.Body, a.Body, a.Changes)
	faults := newFaults(t.path.Name, t.file.Bytes, content)
	res := tool.OKText(report(t, a, moved) + tellTwins(e.ws, t.path) + tellFaults(faults))
	res.Effects, res.Data = effects, Edited{Syntax: faults}
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
