package edit

import (
	"context"
	_ "embed"
	"errors"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

//go:embed apply_patch.md
var patchDescription string

// maxPatchBytes is the largest patch that is read. Patches that succeed are
// far smaller: from 4 KB up most of them fail (RUNTIME 2).
const maxPatchBytes = 1 << 20

type patchArgs struct {
	Patch   string `json:"patch"`
	Confirm bool   `json:"confirm_large_delete,omitempty"`
}

// NewPatch makes the apply_patch tool over ws.
func NewPatch(ws *workspace.Workspace) tool.Tool {
	t := tool.Typed(tool.Spec{
		Name:        "apply_patch",
		Description: patchDescription,
		Tier:        tool.TierPatch,
		Effect:      tool.EffectWrite,
	}, patcher{ws: ws}.run)
	return forgetting(ws, t, forgetPatch)
}

type patcher struct{ ws *workspace.Workspace }

func (t patcher) run(ctx context.Context, a patchArgs) tool.Result {
	if len(a.Patch) > maxPatchBytes {
		return tool.Failf(tool.CodeFileTooLarge, "the patch has %d bytes, over the limit of %d", len(a.Patch), maxPatchBytes).
			Suggest("send it in pieces")
	}
	patch, err := ParsePatch(a.Patch)
	if err != nil {
		return refusal("", err)
	}
	defer t.ws.LockAll(t.paths(patch))()
	work, cancel := context.WithTimeout(ctx, workLimit)
	defer cancel()
	p := newPlanner(work, t.ws, patch)
	if failed := p.plan(patch); failed != nil {
		return t.refused(failed)
	}
	if failed := t.guard(p.order, a.Confirm); failed != nil {
		return *failed
	}
	return t.commit(ctx, p.order)
}

// paths are what the patch may touch, resolved, for the locks.
func (t patcher) paths(patch Patch) []string {
	var all []string
	for _, f := range patch.Files {
		for _, name := range []string{f.Path, f.To, f.Alias} {
			if p, err := t.ws.Resolve(name); err == nil {
				all = append(all, p.Real)
			}
			if p, err := t.ws.ResolveEntry(name); err == nil {
				all = append(all, p.Real)
			}
		}
	}
	return all
}

func (t patcher) refused(failed *planError) tool.Result {
	r, ok := errors.AsType[*RefusalError](failed.err)
	if ok && failed.slot != nil && failed.slot.kind == workspace.KindFile && !t.ws.Reads().Known(failed.slot.path.Real) &&
		(r.Code == tool.CodeNoMatch || r.Code == tool.CodeConflict) {
		return nothingDone(notRead(failed.slot.path))
	}
	return nothingDone(refusal(failed.name, failed.err))
}

// nothingDone says so: a model that knows other patch tools expects the first
// files to be changed.
func nothingDone(r tool.Result) tool.Result {
	r.Message += " (nothing of the patch was applied)"
	return r
}

// refusal turns an error into a result.
func refusal(name string, err error) tool.Result {
	r, ok := errors.AsType[*RefusalError](err)
	if !ok {
		return workspace.Result(err)
	}
	res := tool.Failf(r.Code, "%s", r.Message)
	if name != "" {
		res = tool.Failf(r.Code, "%s: %s", name, r.Message)
	}
	res = res.WithDetail(r.Detail)
	for _, h := range r.Hints {
		res = res.Suggest("%s", h)
	}
	return res
}

// guard refuses what the model has not seen or may not have meant.
func (t patcher) guard(slots []*slot, confirmed bool) *tool.Result {
	for _, s := range slots {
		if s.state != slotText || s.source == nil || s.rounds == 0 {
			continue
		}
		base, err := workspace.Decode(s.source.before)
		if err != nil {
			res := workspace.Result(err)
			return &res
		}
		if _, failed := checkSeen(t.ws, s.source.path, base.Body, touched(s.changes(base.Body), base.Body)); failed != nil {
			res := nothingDone(*failed)
			return &res
		}
		if failed := largeDelete(s.path.Name, base.Body, s.text.Body, confirmed); failed != nil {
			res := nothingDone(*failed)
			return &res
		}
	}
	return nil
}

// changes are the changed lines relative to the source's body.
func (s *slot) changes(base string) []workspace.Change {
	if s.rounds == 1 {
		return s.exact
	}
	return lineChanges(base, s.text.Body)
}

// touched widens an insertion to the line before it, or after it at the start:
// the model must have seen where it puts something.
func touched(changes []workspace.Change, body string) []workspace.Change {
	total := len(workspace.SplitLines(body))
	out := make([]workspace.Change, len(changes))
	for i, c := range changes {
		if c.Old == 0 && total > 0 {
			c = workspace.Change{From: max(c.From-1, 0), Old: 1, New: c.New + 1}
		}
		out[i] = c
	}
	return out
}

func (t patcher) commit(ctx context.Context, slots []*slot) tool.Result {
	list := fileChanges(slots)
	if len(list) == 0 {
		return tool.Failf(tool.CodeNoChange, "the files already read like this")
	}
	effects, err := t.ws.Commit(ctx, list)
	if err != nil {
		return nothingDone(workspace.Result(err))
	}
	text, faults := reportPatch(t.ws, slots)
	t.remember(slots)
	res := tool.OKText(text)
	res.Effects, res.Data = effects, Edited{Syntax: faults}
	return res
}

// fileChanges is what is to be written.
func fileChanges(slots []*slot) []workspace.FileChange {
	renamed := make(map[*slot]bool)
	for _, s := range slots {
		if s.state == slotRenamed {
			renamed[s.source] = true
		}
	}
	var list []workspace.FileChange
	for _, s := range slots {
		c := workspace.FileChange{Path: s.path}
		if s.kind == workspace.KindFile || s.kind == workspace.KindLink {
			c.Before = s.before
		}
		switch s.state {
		case slotKept:
			continue
		case slotGone:
			if c.Gone = true; renamed[s] || s.kind == workspace.KindNothing {
				continue
			}
		case slotRenamed:
			c.From, c.Before = s.source.path.Real, s.bytes
		case slotText, slotBytes:
			c.Content, c.Mode = s.now(), s.mode
			if s.source != nil {
				c.Like = s.source.path.Real
			}
			if s.unchanged(c.Content) {
				s.state = slotKept
				continue
			}
		}
		list = append(list, c)
	}
	return list
}

func (s *slot) unchanged(content []byte) bool {
	return s.source == s && s.mode == 0 && string(content) == string(s.before)
}

// remember tells the ledger what the model has now seen.
func (t patcher) remember(slots []*slot) {
	reads := t.ws.Reads()
	var moves [][2]string
	for _, s := range slots {
		if s.source != nil && s.source != s && !s.copied && s.state != slotGone && s.state != slotKept {
			moves = append(moves, [2]string{s.source.path.Real, s.path.Real})
		}
	}
	reads.Move(moves...)
	for _, s := range slots {
		switch {
		case s.state == slotGone && !movedFrom(moves, s.path.Real):
			reads.Drop(s.path.Real)
		case s.state == slotText && s.source == nil:
			reads.Drop(s.path.Real)
			reads.Show(s.path.Real, s.text.Body, 0, len(workspace.SplitLines(s.text.Body)))
		case s.state == slotText && s.rounds > 0:
			if base, err := workspace.Decode(s.source.before); err == nil {
				reads.Edited(s.path.Real, base.Body, s.text.Body, s.changes(base.Body))
			}
		}
	}
}

func movedFrom(moves [][2]string, real string) bool {
	for _, m := range moves {
		if m[0] == real {
			return true
		}
	}
	return false
}
