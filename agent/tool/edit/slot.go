package edit

import (
	"errors"
	"io/fs"

	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/workspace"
)

// slot is one path of a patch: what is there and what shall be.
type slot struct {
	path   workspace.Path
	kind   workspace.Kind // what is there before
	before []byte         // its bytes, when loaded
	loaded bool
	links  uint64
	used   bool // a part of the patch has taken what was there

	state  slotState
	text   workspace.Text // the new content, decoded; its Body is the new body
	bytes  []byte         // or undecoded, of a file moved as it is
	source *slot          // where the new content came from, nil for a new file
	mode   fs.FileMode
	exact  []workspace.Change // of the only hunks applied, relative to the source
	rounds int                // how often hunks were applied
	steps  []Step
	copied bool
}

// fresh says that the file that was there is still to be had by the patch.
func (s *slot) fresh() bool {
	return !s.used && (s.kind == workspace.KindFile || s.kind == workspace.KindLink)
}

type slotState string

const (
	slotKept    slotState = ""
	slotGone    slotState = "gone"
	slotText    slotState = "text"
	slotBytes   slotState = "bytes"
	slotRenamed slotState = "renamed" // the very entry of source, link or file
)

func (p *planner) slot(path workspace.Path) *slot {
	s := p.slots[path.Real]
	if s == nil {
		s = &slot{path: path, kind: p.ws.Kind(path)}
		p.slots[path.Real] = s
		p.order = append(p.order, s)
	}
	return s
}

// applied notes what hunks did.
func (s *slot) applied(done Patched, f FilePatch) {
	if len(f.Hunks) > 0 {
		s.rounds++
		s.exact = done.Changes
	}
	s.steps = append(s.steps, done.Steps...)
	if f.Mode != 0 {
		s.mode = f.Mode
	}
}

func isBinary(err error) bool {
	f, ok := errors.AsType[*workspace.FaultError](err)
	return ok && f.Code == tool.CodeBinaryFile
}

// now is what a path holds in bytes as the patch has it so far.
func (s *slot) now() []byte {
	if s.fresh() {
		return s.before
	}
	switch s.state {
	case slotText:
		return s.text.Encode(s.text.Body)
	case slotBytes, slotRenamed:
		return s.bytes
	case slotKept, slotGone:
	}
	return s.before
}

// take takes the content away from a path, unless it is to stay, and says where
// it came from at first: nil for a file that the patch itself has added.
func (s *slot) take(leave bool) *slot {
	if !s.fresh() {
		if !leave {
			s.state = slotGone
		}
		return s.source
	}
	if !leave {
		s.used = true
		if s.state == slotKept {
			s.state = slotGone
		}
	}
	return s
}
