package edit

import (
	"encoding/json"
	"strings"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// forgetful is a tool of this package. It is a [tool.Forgetter]: what a call
// wrote counts as seen only as long as the call is in the model's view. Lines
// that a lenient step wrote otherwise than the call has them keep their mark.
type forgetful struct {
	tool.Tool
	forget func(args json.RawMessage)
}

// Forget implements [tool.Forgetter].
func (f forgetful) Forget(args json.RawMessage) { f.forget(args) }

// forgetting decodes the arguments for forget and finds the files.
func forgetting[A any](ws *workspace.Workspace, t tool.Tool, forget func(a A, lose func(name, text string))) tool.Tool {
	lose := func(name, text string) {
		if p, err := ws.Resolve(name); err == nil {
			ws.Reads().ForgetText(p.Real, text)
		}
	}
	return forgetful{Tool: t, forget: func(raw json.RawMessage) {
		var a A
		if json.Unmarshal(raw, &a) == nil {
			forget(a, lose)
		}
	}}
}

// forgetPatch takes back the lines that a patch added.
func forgetPatch(a patchArgs, lose func(name, text string)) {
	patch, err := ParsePatch(a.Patch)
	if err != nil {
		return
	}
	for _, f := range patch.Files {
		name := f.Path
		if f.To != "" {
			name = f.To
		}
		lose(name, f.Content)
		for _, h := range f.Hunks {
			for _, run := range h.addedRuns() {
				lose(name, run)
			}
		}
	}
}

// addedRuns are the new lines of a hunk that stand together.
func (h Hunk) addedRuns() []string {
	var runs []string
	var b strings.Builder
	for _, l := range append(h.Lines[:len(h.Lines):len(h.Lines)], HunkLine{Op: ' '}) {
		switch {
		case l.Op == '+':
			b.WriteString(strings.TrimSuffix(l.Text, "\r") + "\n")
		case l.Op == ' ' && b.Len() > 0:
			runs = append(runs, b.String())
			b.Reset()
		}
	}
	return runs
}
