package git

import (
	"cmp"
	"fmt"
	"slices"
)

// NoteKind is why something in a workspace was left as it is or left out.
type NoteKind string

// The kinds of note.
const (
	NoteSubmodule  NoteKind = "submodule"   // left at the commit it names
	NoteLFS        NoteKind = "lfs"         // pointers left as they are
	NoteLFSRefused NoteKind = "lfs_refused" // a change to a file kept in LFS: refused
	NoteIgnored    NoteKind = "ignored"     // untracked and ignored: left out
	NoteLink       NoteKind = "link"        // a link that leads out of the tree: refused
	NoteSpecial    NoteKind = "special"     // FIFO, device or socket: refused
	NoteHardLink   NoteKind = "hard_link"   // other names outside the workspace: refused
	NoteTooLarge   NoteKind = "too_large"   // over a limit: refused
	NoteTooDeep    NoteKind = "too_deep"    // over a limit: refused
	NoteDotGit     NoteKind = "dot_git"     // a nested .git or a name taken for one: left out
	NoteUnreadable NoteKind = "unreadable"  // could not be read: refused
	NoteMoving     NoteKind = "moving"      // changed while it was read: refused
	NoteName       NoteKind = "name"        // not UTF-8 or with control characters: kept as it is
	NoteConflict   NoteKind = "conflict"    // stands where something kept stands: refused
)

// Refused reports whether notes of this kind mean that a change was not taken
// over and the base's state, if any, was kept.
func (k NoteKind) Refused() bool {
	switch k {
	case NoteLFSRefused, NoteLink, NoteSpecial, NoteHardLink, NoteTooLarge, NoteTooDeep, NoteUnreadable, NoteMoving, NoteConflict:
		return true
	case NoteSubmodule, NoteLFS, NoteIgnored, NoteDotGit, NoteName:
	}
	return false
}

// Note is one such thing. Path is the first of Count; text is for people.
type Note struct {
	Kind  NoteKind `json:"kind"`
	Path  string   `json:"path"`
	Text  string   `json:"text"`
	Count int      `json:"count"`
}

// maxNotes bounds the notes of one kind that are kept with their paths.
const maxNotes = 50

// notes collects Notes, one per path up to a limit, one in all for kinds that
// are merely counted.
type notes struct {
	list  []Note
	count map[NoteKind]int // notes listed per kind
	last  map[NoteKind]int // index of the note that counts further ones
}

func newNotes() *notes { return &notes{count: map[NoteKind]int{}, last: map[NoteKind]int{}} }

func (n *notes) add(kind NoteKind, path, format string, args ...any) {
	limit := maxNotes
	if kind == NoteIgnored || kind == NoteSubmodule || kind == NoteLFS {
		limit = 1
	}
	if n.count[kind] >= limit {
		n.list[n.last[kind]].Count++
		return
	}
	n.count[kind]++
	n.last[kind] = len(n.list)
	n.list = append(n.list, Note{Kind: kind, Path: path, Text: fmt.Sprintf(format, args...), Count: 1})
}

func (n *notes) sorted() []Note {
	slices.SortFunc(n.list, func(a, b Note) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Text, b.Text))
	})
	return n.list
}
