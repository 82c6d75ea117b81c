package edit

import (
	"fmt"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/syntax"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// workLimit is how long the search for one edit's places may take (RUNTIME 2).
const workLimit = 2 * time.Second

// Edited is the Data of a result of the tools of this package.
type Edited struct {
	// Syntax are the faults that the edit brought. The files are changed all
	// the same: a change may take two steps. A fault is not repaired by
	// being told, so whoever ends the run should look at it again.
	Syntax []syntax.Fault `json:"syntax,omitempty"`
}

// newFaults compares a file before and after. A nil before is a new file.
func newFaults(path string, before, after []byte) []syntax.Fault {
	return syntax.New(path, before, after)
}

// tellFaults is what the model is told of them.
func tellFaults(faults []syntax.Fault) string {
	if len(faults) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: the edit was made, but it brought syntax errors. Repair them:\n", tool.CodeSyntaxBroken)
	for _, f := range faults {
		fmt.Fprintf(&b, "  %s:%d", f.Path, f.Line)
		if f.Column > 0 {
			fmt.Fprintf(&b, ":%d", f.Column)
		}
		b.WriteString(": " + shorten(visible(f.Message)) + "\n")
	}
	return b.String()
}

// tellTwins warns of a name that some file systems take for another one.
func tellTwins(ws *workspace.Workspace, p workspace.Path) string {
	twins := ws.Twins(p)
	if len(twins) == 0 {
		return ""
	}
	return fmt.Sprintf("Careful: beside %s there is %s, whose name differs only in case or in how its characters are composed.\n",
		p.Name, strings.Join(twins, ", "))
}

// reportPatch says what became of each file.
func reportPatch(ws *workspace.Workspace, slots []*slot) (string, []syntax.Fault) {
	var b strings.Builder
	var faults []syntax.Fault
	moved := make(map[*slot]bool)
	for _, s := range slots {
		moved[s.source] = moved[s.source] || s.source != s && !s.copied
	}
	for _, s := range slots {
		switch s.state {
		case slotKept:
		case slotGone:
			if s.kind != workspace.KindNothing && !moved[s] {
				fmt.Fprintf(&b, "Deleted %s.\n", s.path.Name)
			}
		case slotRenamed, slotBytes:
			fmt.Fprintf(&b, "%s %s.\n", s.verb(), s.path.Name)
			b.WriteString(tellTwins(ws, s.path))
		case slotText:
			b.WriteString(s.report(ws))
			var before []byte
			if s.source != nil {
				before = s.source.before
			}
			faults = append(faults, newFaults(s.path.Name, before, s.now())...)
		}
	}
	b.WriteString(tellFaults(faults))
	return b.String(), faults
}

func (s *slot) verb() string {
	switch {
	case s.source == nil:
		return "Added"
	case s.copied:
		return "Copied " + s.source.path.Name + " to"
	case s.source != s:
		return "Moved " + s.source.path.Name + " to"
	}
	return "Updated"
}

// report is what is said of a file whose text the patch decided.
func (s *slot) report(ws *workspace.Workspace) string {
	var b strings.Builder
	b.WriteString(s.verb() + " " + s.path.Name)
	if s.path.Linked() {
		b.WriteString(", a symlink to " + s.path.Real)
	}
	if s.source != nil && s.source.links > 1 {
		fmt.Fprintf(&b, "; it had %d hard links, the others keep the old content", s.source.links)
	}
	if s.source == nil {
		fmt.Fprintf(&b, ": %d lines", len(workspace.SplitLines(s.text.Body)))
	}
	b.WriteString(".\n")
	for _, step := range s.steps {
		fmt.Fprintf(&b, "Some of the old lines were not in the file exactly; they were matched by %s.\n", step)
	}
	b.WriteString(tellTwins(ws, s.path))
	if s.source == nil || s.rounds == 0 {
		return b.String()
	}
	base, err := workspace.Decode(s.source.before)
	if err != nil {
		return b.String()
	}
	switch ws.Reads().Covers(s.source.path.Real, base.Body, 0, 0) {
	case workspace.Moved, workspace.Stale:
		b.WriteString("The file had changed elsewhere since you read it.\n")
	case workspace.NotRead, workspace.Fresh:
	}
	b.WriteString(shownDiff(base.Body, s.text.Body, s.changes(base.Body)))
	return b.String()
}

// largeDelete refuses an edit that leaves less than two fifths of a file of
// more than a hundred lines unless that is said to be meant (RUNTIME 2, Bytes).
func largeDelete(name, before, after string, confirmed bool) *tool.Result {
	had, left := strings.Count(before, "\n"), strings.Count(after, "\n")
	if confirmed || had <= largeFileLines || float64(left) >= float64(had)*keepShareOfFile {
		return nil
	}
	res := tool.Failf(tool.CodeConflict, "this would leave %d of the %d lines of %s", left, had, name).
		Suggest("set confirm_large_delete if that is meant")
	return &res
}
