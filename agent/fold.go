package agent

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
	"github.com/greenwright/greenwright/agent/tool/plan"
)

// LastSnapshot is the kept state of the files to which the entries of an
// interrupted run lead: restore it before [Agent.Resume]. One that was taken
// behind a call which never finished is passed over: the files are to be as
// they were before it.
func LastSnapshot(entries []Entry) (SnapshotRecord, bool) {
	var last, behind *SnapshotRecord
	running := ""
	for _, e := range entries {
		switch {
		case e.Kind == EntrySnapshot && e.Snapshot != nil && running == "":
			last = e.Snapshot
		case e.Kind == EntrySnapshot && e.Snapshot != nil:
			behind = e.Snapshot
		case e.Call == nil:
		case e.Kind == EntryIntended && changes(e.Call.Effect):
			running, behind = e.Call.Call.ID, nil
		case e.Kind == EntrySuspended && e.Call.Call.ID == running:
			running, behind = "", nil
		case e.Kind == EntryFinished && e.Call.Call.ID == running:
			if behind != nil && behind.Tree == e.Call.Tree {
				last = behind
			}
			running, behind = "", nil
		}
	}
	if last == nil {
		return SnapshotRecord{}, false
	}
	return *last, true
}

func changes(e tool.Effect) bool { return e == tool.EffectWrite || e == tool.EffectExec }

// View is what entries say of a run.
type View struct {
	Steps     int
	ToolCalls int
	Elapsed   time.Duration
	// Ended says that the run has come to an end of its own: State is which.
	// A run that waits for an approval, was yielded, canceled or failed for
	// what is outside of it has not.
	Ended bool
	State State
	// Suspended is the call that waits for a person, nil if none does.
	Suspended *CallRecord
}

// Fold looks at the entries of one run, in order.
func Fold(entries []Entry) View {
	p := foldPast(entries)
	v := View{Steps: p.steps, ToolCalls: p.toolCalls, Elapsed: p.elapsed, State: p.state, Ended: p.state != ""}
	for _, c := range p.tape {
		switch {
		case c.Kind == EntrySuspended:
			v.Suspended = c.Call
		case c.Call != nil && v.Suspended != nil && c.Call.Call.ID == v.Suspended.Call.ID:
			v.Suspended = nil
		}
	}
	return v
}

// past is what the entries of a run fold to.
type past struct {
	// Up to the last checkpoint.
	readable bool // no checkpoint of a newer version stands between
	begun    bool
	cells    map[string]string
	messages []model.Message
	asking   Asking
	ids      []string
	first    *model.Message
	people   []string
	heard    []string

	tape []Entry // since the last checkpoint

	// Of all entries.
	everHeard []string
	words     []string // of people
	ran       bool     // commands ran where the last worker was
	elapsed   time.Duration
	steps     int
	calls     map[string]*taped
	order     []*CallRecord // intended, each call once
	toolCalls int           // of the model's
	usage     model.Usage
	cost      int64
	phase     Phase
	plan      plan.Plan
	state     State // how the run has ended
}

func foldPast(entries []Entry) *past {
	p := &past{readable: true, cells: make(map[string]string), calls: make(map[string]*taped)}
	s := newSegment()
	for _, e := range entries {
		p.count(e)
		if e.Kind != EntryCheckpoint {
			s.take(e)
			p.tape = append(p.tape, e)
			continue
		}
		if p.pass(e.Checkpoint, s) {
			s = newSegment()
		}
	}
	return p
}

// pass takes a checkpoint and says whether it can be gone on from.
func (p *past) pass(c *Checkpoint, s *segment) bool {
	if c == nil || c.Version > CheckpointVersion || c.Version < 1 {
		p.readable = false
		return false
	}
	if c.Whole {
		p.readable, p.cells, p.messages = true, make(map[string]string), nil
	}
	if !p.readable {
		return false
	}
	for _, e := range p.tape {
		if e.Kind == EntryFinished && e.Call != nil {
			applied(p.cells, e.Call.Memory)
		}
		p.learn(e)
	}
	applied(p.cells, c.Cells)
	switch {
	case len(c.Messages) > 0:
		p.messages = slices.Clone(c.Messages)
	case len(c.Tail) > 0:
		p.messages = append(p.messages, c.Tail...)
	default:
		p.messages = append(p.messages, s.closed(c.Line)...)
	}
	p.begun, p.asking, p.tape = true, c.Asking, nil
	return true
}

// learn keeps of an entry before a checkpoint what no checkpoint says.
func (p *past) learn(e Entry) {
	switch {
	case e.Kind == EntryReply && e.Reply != nil:
		for _, c := range e.Reply.Message.Calls() {
			p.ids = append(p.ids, c.ID)
		}
	case e.Call != nil:
		p.ids = append(p.ids, e.Call.Call.ID)
	case e.Kind == EntryMessage && e.Message != nil:
		if e.Said == SaidTask {
			p.first = e.Message
		}
		if e.From != nil {
			p.people = append(p.people, e.Message.Plain())
			p.heard = append(p.heard, e.From.ID)
		}
	}
}

// count keeps what is told of all entries.
func (p *past) count(e Entry) {
	p.elapsed = max(p.elapsed, time.Duration(e.ElapsedMS)*time.Millisecond)
	p.steps = max(p.steps, e.Step)
	if e.Phase != "" {
		p.phase = e.Phase
	}
	switch {
	case e.Kind == EntryReply && e.Reply != nil:
		p.usage, p.cost = p.usage.Add(e.Reply.Usage), p.cost+e.Reply.CostMicroUSD
	case e.Kind == EntryMessage && e.From != nil && e.Message != nil:
		p.everHeard = append(p.everHeard, e.From.ID)
		p.words = append(p.words, e.Message.Plain())
	case e.Kind == EntryMessage && e.Said == SaidMoved:
		p.ran = false
	case e.Kind == EntryCheckpoint && e.Checkpoint != nil:
		if raw, there := e.Checkpoint.Cells[cellEnd]; there {
			p.state = stateOf(raw)
		}
	case e.Call != nil:
		p.countCall(e)
	}
}

func (p *past) countCall(e Entry) {
	c := p.calls[e.Call.Call.ID]
	if c == nil && e.Kind == EntryIntended {
		c = &taped{}
		p.calls[e.Call.Call.ID] = c
		p.order = append(p.order, e.Call)
		if !strings.HasPrefix(e.Call.Call.ID, platformPrefix) {
			p.toolCalls++
		}
	}
	switch e.Kind {
	case EntryIntended:
		c.intended = e.Call
		p.ran = p.ran || e.Call.Effect == tool.EffectExec
	case EntryFinished:
		if c != nil {
			c.finished = &e
		}
		if e.Call.Result == nil {
			return
		}
		if data, ok := decodeData(e.Call.Call.Name, e.Call.Result.Data).(plan.Plan); ok {
			p.plan = data
		}
	default:
	}
}

// memory is the cells with what the calls since the last checkpoint changed of
// the tools' memory.
func (p *past) memory() map[string]string {
	for _, e := range p.tape {
		if e.Kind == EntryFinished && e.Call != nil {
			applied(p.cells, e.Call.Memory)
		}
	}
	return p.cells
}

func stateOf(raw json.RawMessage) State {
	var e endCell
	if json.Unmarshal(raw, &e) != nil {
		return ""
	}
	return e.State
}
