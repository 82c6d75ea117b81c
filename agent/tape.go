package agent

import (
	"errors"
	"maps"
	"strings"

	"github.com/greenwright/greenwright/agent/model"
)

// errDiverged says that the records of a run are not those that this program
// would have made from where the last checkpoint stands.
var errDiverged = errors.New("the records do not follow from the last checkpoint")

// tape is the entries since the last checkpoint. A run that goes on lives
// through them again: instead of asking a model, running a call or saying
// something it takes what is recorded, until the tape is at its end.
type tape struct {
	seq     []Entry           // messages, requests and replies, in order
	calls   map[string]*taped // by id
	notices map[string]int
}

// taped is what is recorded of one call.
type taped struct {
	intended  *CallRecord // the last time; nil for a call that was answered without being run
	finished  *Entry
	suspended bool            // it waits for a person
	after     *SnapshotRecord // of the files behind an open call
}

func (t *taped) open() bool { return t.intended != nil && t.finished == nil }

func newTape(entries []Entry) *tape {
	t := &tape{calls: make(map[string]*taped), notices: make(map[string]int)}
	var running *taped
	for _, e := range entries {
		switch e.Kind {
		case EntryMessage, EntryRequest, EntryReply:
			t.seq = append(t.seq, e)
		case EntryIntended, EntrySuspended, EntryFinished:
			if e.Call != nil {
				running = t.note(e)
			}
		case EntrySnapshot:
			if running != nil && running.open() {
				running.after = e.Snapshot
			}
		case EntryNotice:
			t.notices[e.Notice]++
		case EntryCheckpoint:
		}
	}
	return t
}

// note takes an entry of a call.
func (t *tape) note(e Entry) *taped {
	c := t.calls[e.Call.Call.ID]
	if c == nil {
		c = &taped{}
		t.calls[e.Call.Call.ID] = c
	}
	switch e.Kind {
	case EntryIntended:
		c.intended, c.suspended, c.after = e.Call, false, nil
	case EntrySuspended:
		c.suspended = true
	default:
		c.finished = &e
	}
	return c
}

// dry says that all is lived through.
func (t *tape) dry() bool { return len(t.seq) == 0 && len(t.calls) == 0 }

// head is the next message, request or reply, nil when there is none.
func (t *tape) head() *Entry {
	if len(t.seq) == 0 {
		return nil
	}
	return &t.seq[0]
}

// pop is the head if it is of the kind.
func (t *tape) pop(kind EntryKind) (Entry, bool) {
	h := t.head()
	if h == nil || h.Kind != kind {
		return Entry{}, false
	}
	e := *h
	t.seq = t.seq[1:]
	return e, true
}

// call takes what is recorded of a call.
func (t *tape) call(id string) taped {
	c := t.calls[id]
	if c == nil {
		return taped{}
	}
	delete(t.calls, id)
	return *c
}

// next is the role of the request at the head.
func (t *tape) next() (Role, bool) {
	h := t.head()
	if h == nil || h.Kind != EntryRequest || h.Request == nil {
		return "", false
	}
	return h.Request.Role, true
}

// reply takes requests of a role and the reply that came. Without one none
// came: the request is still open, or it was refused.
func (t *tape) reply(role Role) (*model.Response, bool) {
	for {
		next, ok := t.next()
		if !ok || next != role {
			return nil, false
		}
		t.seq = t.seq[1:]
		if e, came := t.pop(EntryReply); came {
			return e.Reply, e.Reply != nil
		}
	}
}

// noted takes a notice, if it is recorded.
func (t *tape) noted(text string) bool {
	if t.notices[text] == 0 {
		return false
	}
	t.notices[text]--
	return true
}

// reopen forgets that the run had ended: it ends anew.
func (t *tape) reopen() {
	maps.DeleteFunc(t.notices, func(text string, _ int) bool { return strings.HasPrefix(text, endedMark) })
}
