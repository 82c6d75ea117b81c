package edit

import (
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// source finds the file to change: what was there, unless a part of the patch
// has taken it, else what the patch has put there. Name is how it is called.
func (p *planner) source(f FilePatch) (*slot, error) {
	name := f.Path
	path, err := p.ws.Resolve(name)
	if err != nil {
		return nil, err
	}
	if p.missing(path) && f.Alias != "" && f.Alias != f.Path {
		if other, err := p.ws.Resolve(f.Alias); err == nil && !p.missing(other) {
			path = other
		}
	}
	if p.missing(path) {
		r := refusef(tool.CodeFileNotFound, "%s does not exist", name)
		r.Hints = p.ws.Twins(path)
		return nil, r
	}
	return p.slot(path), nil
}

func (p *planner) missing(path workspace.Path) bool {
	s := p.slots[path.Real]
	if s == nil {
		return p.ws.Kind(path) == workspace.KindNothing
	}
	return s.state == slotGone || s.state == slotKept && s.kind == workspace.KindNothing
}

// hunks applies the hunks of f to what the slot holds.
func (p *planner) hunks(s *slot, f FilePatch) (workspace.Text, Patched, error) {
	text, err := p.content(s)
	if err != nil {
		return text, Patched{}, err
	}
	done, err := ApplyHunks(p.ctx, f.Path, text.Body, f.Hunks, p.unified)
	if err != nil {
		return text, done, err
	}
	if text.Encoding == workspace.Raw && (len(done.Steps) > 0 || !asciiHunks(f.Hunks)) {
		return text, done, refusef(tool.CodeNotUTF8, "%s is not UTF-8: only plain ASCII lines, exactly as they are, can be changed in it", f.Path)
	}
	for _, h := range f.Hunks {
		if r := unwritable(text.Body, h.added()); r != nil {
			return text, done, r
		}
		if line, found := placeholder(h.removed(), h.added()); found {
			return text, done, &RefusalError{Code: tool.CodePlaceholder, Message: "the patch adds a placeholder instead of code: " + visible(line),
				Hints: []string{"write out what belongs there, or leave the lines alone"}}
		}
	}
	text.Body = done.Body
	return text, done, nil
}

func asciiHunks(hunks []Hunk) bool {
	for _, h := range hunks {
		for _, l := range h.Lines {
			if !isASCII(l.Text) {
				return false
			}
		}
	}
	return true
}

func (p *planner) update(f FilePatch) (*slot, error) {
	s, err := p.source(f)
	if err != nil {
		return s, err
	}
	text, done, err := p.hunks(s, f)
	if err != nil {
		return s, err
	}
	if s.fresh() {
		if s.state != slotKept {
			return s, refusef(tool.CodeParse, "the patch puts another file at %s and changes the one there; make it two patches", f.Path)
		}
		s.used, s.source = true, s
	}
	s.state, s.text = slotText, text
	s.applied(done, f)
	return s, nil
}

// move gives a file another path, with or without a change of its content.
func (p *planner) move(f FilePatch) (*slot, error) {
	if len(f.Hunks) == 0 && f.Mode == 0 && f.Action == ActionMove {
		return p.rename(f)
	}
	entry, err := p.ws.ResolveEntry(f.Path)
	if err != nil {
		return nil, err
	}
	if p.ws.Kind(entry) == workspace.KindLink {
		return nil, refusef(tool.CodeSymlinkRefused, "%s is a symlink: move it, or change the file that it leads to, but not both at once", f.Path)
	}
	from, err := p.source(f)
	if err != nil {
		return from, err
	}
	if p.unified && from.kind == workspace.KindFile && from.used {
		// The parts of a diff are about the two trees, not about one another:
		// a file that another part changes or moves is moved as it was.
		if err := p.load(from); err != nil {
			return from, err
		}
		from = &slot{path: from.path, kind: from.kind, before: from.before, loaded: true}
	}
	text, done, err := p.hunks(from, f)
	if err != nil && (len(f.Hunks) > 0 || !isBinary(err)) {
		return from, err
	}
	content, rounds, exact := from.now(), from.rounds, from.exact
	source := from.take(f.Action == ActionCopy)
	to, err := p.destination(f.To)
	if err != nil {
		return from, err
	}
	to.state, to.text, to.source, to.copied = slotText, text, source, f.Action == ActionCopy
	if len(f.Hunks) == 0 {
		to.state, to.bytes = slotBytes, content
	}
	to.rounds, to.exact = rounds, exact
	to.applied(done, f)
	return from, nil
}

// rename moves an entry as it is: a file of any content, or a link.
func (p *planner) rename(f FilePatch) (*slot, error) {
	path, err := p.ws.ResolveEntry(f.Path)
	if err != nil {
		return nil, err
	}
	from := p.slot(path)
	switch {
	case p.missing(path):
		return from, refusef(tool.CodeFileNotFound, "%s does not exist", f.Path)
	case from.kind == workspace.KindDirectory:
		return from, refusef(tool.CodeIsDirectory, "%s is a directory", f.Path)
	case from.kind == workspace.KindSpecial:
		return from, refusef(tool.CodeProtectedPath, "%s is a %s", f.Path, from.kind)
	}
	entry := from.fresh() || from.state == slotRenamed
	if from.fresh() {
		if err := p.load(from); err != nil {
			return from, err
		}
	}
	content, rounds, exact := from.now(), from.rounds, from.exact
	source := from.take(false)
	to, err := p.destination(f.To)
	if err != nil {
		return from, err
	}
	to.source, to.rounds, to.exact = source, rounds, exact
	to.state, to.bytes = slotBytes, content
	if entry {
		to.state = slotRenamed
	}
	return from, nil
}
