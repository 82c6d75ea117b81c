package edit

import (
	"context"
	"path"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// planner resolves a patch against the workspace, in memory.
type planner struct {
	ctx     context.Context // of the one call
	ws      *workspace.Workspace
	unified bool
	slots   map[string]*slot
	order   []*slot
	vacated map[string]bool // entries that the patch removes or moves away
}

func newPlanner(ctx context.Context, ws *workspace.Workspace, patch Patch) *planner {
	return &planner{ctx: ctx, ws: ws, unified: patch.Unified, slots: make(map[string]*slot), vacated: make(map[string]bool)}
}

// planError is a refusal on behalf of one file of the patch.
type planError struct {
	slot *slot
	name string
	err  error
}

// plan resolves all parts. Nothing is written.
func (p *planner) plan(patch Patch) *planError {
	for _, f := range patch.Files {
		if f.Action != ActionDelete && f.Action != ActionMove {
			continue
		}
		if e, err := p.ws.ResolveEntry(f.Path); err == nil {
			p.vacated[e.Real] = true
		}
	}
	for _, f := range patch.Files {
		if failed := p.file(f); failed != nil {
			return failed
		}
	}
	return p.nested()
}

// nested refuses a patch that makes a file below another one that it makes.
func (p *planner) nested() *planError {
	made := make(map[string]bool)
	for _, s := range p.order {
		made[s.path.Real] = s.state != slotKept && s.state != slotGone
	}
	for _, s := range p.order {
		for dir := path.Dir(s.path.Real); made[s.path.Real] && dir != "."; dir = path.Dir(dir) {
			if made[dir] {
				return &planError{slot: s, name: s.path.Name, err: refusef(tool.CodeParse, "the patch makes %s a file and a directory", dir)}
			}
		}
	}
	return nil
}

func (p *planner) file(f FilePatch) *planError {
	var s *slot
	var err error
	switch f.Action {
	case ActionAdd:
		s, err = p.add(f)
	case ActionDelete:
		s, err = p.remove(f)
	case ActionUpdate:
		s, err = p.update(f)
	case ActionMove, ActionCopy:
		s, err = p.move(f)
	}
	if err != nil {
		return &planError{slot: s, name: f.Path, err: err}
	}
	return nil
}

func (p *planner) add(f FilePatch) (*slot, error) {
	s, err := p.destination(f.Path)
	if err != nil {
		return s, err
	}
	s.state, s.text, s.source = slotText, workspace.Text{Body: f.Content, Encoding: workspace.UTF8}, nil
	s.mode = f.Mode
	if s.mode == 0 {
		s.mode = 0o644
	}
	if r := unwritable("", f.Content); r != nil {
		return s, r
	}
	if line, found := placeholder("", f.Content); found {
		return s, &RefusalError{Code: tool.CodePlaceholder, Message: "the content holds a placeholder instead of code: " + visible(line),
			Hints: []string{"write out what belongs there"}}
	}
	return s, nil
}

// destination is where a file is added, moved or copied to: nothing may be
// there but what the same patch takes away.
func (p *planner) destination(name string) (*slot, error) {
	path, err := p.ws.ResolveEntry(name)
	if err != nil {
		return nil, err
	}
	if !p.vacated[path.Real] {
		if path, err = p.ws.Resolve(name); err != nil {
			return nil, err
		}
	}
	if p.ws.Dangling(path) {
		return nil, refusef(tool.CodeSymlinkRefused, "%s is a symlink to a file that does not exist", name)
	}
	s := p.slot(path)
	switch {
	case s.state != slotKept && s.state != slotGone:
		return s, refusef(tool.CodeParse, "the patch makes %s twice", name)
	case s.kind == workspace.KindDirectory && p.empties(path):
		return s, nil
	case s.kind == workspace.KindDirectory:
		return s, refusef(tool.CodeIsDirectory, "%s is a directory", name)
	case s.kind != workspace.KindNothing && !p.vacated[path.Real]:
		r := refusef(tool.CodeFileExists, "%s exists", name)
		r.Hints = []string{"update it, or delete it in the same patch"}
		return s, r
	}
	return s, nil
}

// empties says that the patch takes away every file below a directory.
func (p *planner) empties(dir workspace.Path) bool {
	all := true
	err := p.ws.Walk(p.ctx, dir.Real, true, func(e workspace.Entry) error {
		if !e.Info.IsDir() && !p.vacated[e.Path] {
			all = false
			return workspace.SkipAll
		}
		return nil
	})
	return all && err == nil
}

// remove acts on the entry: a link, not what it leads to.
func (p *planner) remove(f FilePatch) (*slot, error) {
	path, err := p.ws.ResolveEntry(f.Path)
	if err != nil {
		return nil, err
	}
	s := p.slot(path)
	switch {
	case s.kind == workspace.KindDirectory:
		return s, refusef(tool.CodeIsDirectory, "%s is a directory", f.Path)
	case s.kind == workspace.KindSpecial:
		return s, refusef(tool.CodeProtectedPath, "%s is a %s", f.Path, s.kind)
	case s.kind == workspace.KindNothing && s.state == slotKept, s.used && s.state == slotGone:
		return s, refusef(tool.CodeFileNotFound, "%s does not exist", f.Path)
	}
	if err := p.whole(s, f); err != nil {
		return s, err
	}
	if s.kind != workspace.KindNothing && !s.used {
		s.used = true
		if s.state == slotKept {
			s.state = slotGone
		}
		return s, p.load(s)
	}
	s.state = slotGone
	return s, nil
}

// whole checks that a unified diff that removes a file removes all of it.
func (p *planner) whole(s *slot, f FilePatch) error {
	if len(f.Hunks) == 0 || f.Link {
		return nil
	}
	text, err := p.content(s)
	if err != nil {
		return err
	}
	done, err := ApplyHunks(p.ctx, f.Path, text.Body, f.Hunks, p.unified)
	if err != nil {
		return err
	}
	if done.Body != "" {
		return refusef(tool.CodeConflict, "the patch deletes %s but leaves %d of its lines", f.Path, len(splitFile(done.Body)))
	}
	return nil
}

// load reads what is there; a file that is too large or a link has its size
// or target for content.
func (p *planner) load(s *slot) error {
	if s.loaded {
		return nil
	}
	if s.kind == workspace.KindLink {
		s.before, s.loaded = []byte(p.ws.LinkTarget(s.path)), true
		return nil
	}
	f, err := p.ws.Read(s.path)
	if err != nil {
		return err
	}
	s.before, s.links, s.loaded = f.Bytes, f.Links, true
	return nil
}

// content is the text at a path as the patch has it so far.
func (p *planner) content(s *slot) (workspace.Text, error) {
	switch {
	case s.fresh():
	case s.state == slotText:
		return s.text, nil
	case s.state == slotBytes, s.state == slotRenamed:
		return workspace.Decode(s.bytes)
	case s.kind == workspace.KindDirectory:
		return workspace.Text{}, refusef(tool.CodeIsDirectory, "%s is a directory", s.path.Name)
	}
	if err := p.load(s); err != nil {
		return workspace.Text{}, err
	}
	return workspace.Decode(s.before)
}
