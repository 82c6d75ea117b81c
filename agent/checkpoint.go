package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"github.com/greenwright/greenwright/agent/model"
)

// CheckpointVersion is the version of [Checkpoint] that is written. Fields and
// cells may be added to a version if a reader may do without them.
const CheckpointVersion = 1

// Checkpoint is where a run stands at a boundary: after the opening message,
// after each step, and when a compaction has rewritten the transcript before a
// request. It holds what differs from the checkpoint before: the state of a
// run is the fold of all of them.
//
// The transcript is not in it, but is the fold of the entries: messages as
// said, replies of the roles plan and edit, and, after each reply with calls,
// one message with the results of all of them in order. Where that is not what
// the model is shown, the checkpoint says it: Line, Tail, Messages.
//
// A reader that finds a newer version, or a transcript that does not follow,
// goes on by the entries that every version has: task, people's messages,
// plan, snapshots, counts; the transcript begins anew with them.
type Checkpoint struct {
	Version int `json:"version"`
	// Whole: the cells are all there are. Else they are those that differ from
	// the checkpoint before, null for one that is gone.
	Whole bool                       `json:"whole,omitempty"`
	Cells map[string]json.RawMessage `json:"cells,omitempty"`
	// Asking says that the step has begun and its request is to be sent.
	Asking Asking `json:"asking,omitempty"`
	// Line stands behind the last result since the checkpoint before.
	Line string `json:"line,omitempty"`
	// Tail is what joined the transcript since the checkpoint before, where it
	// is not what the entries fold to: a long reply is shown shortened.
	Tail []model.Message `json:"tail,omitempty"`
	// Messages is the whole transcript, after a compaction.
	Messages []model.Message `json:"messages,omitempty"`
}

// Asking is which request is to be sent next.
type Asking string

// The closed set of requests within a step.
const (
	AskingNothing Asking = ""     // the step has not begun
	AskingStep    Asking = "step" // the ordinary one
	AskingLast    Asking = "last" // the one without tools
)

// UnmarshalJSON reads only the version of a checkpoint that is newer than
// [CheckpointVersion]: what it holds besides may have any form.
func (c *Checkpoint) UnmarshalJSON(data []byte) error {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return fmt.Errorf("reading the version of a checkpoint: %w", err)
	}
	if head.Version > CheckpointVersion {
		*c = Checkpoint{Version: head.Version}
		return nil
	}
	type plain Checkpoint
	return json.Unmarshal(data, (*plain)(c))
}

// checkpoint records where the run stands.
func (r *run) checkpoint(ctx context.Context, asking Asking) error {
	if !r.live() {
		return fmt.Errorf("a step has ended before its records: %w", errDiverged)
	}
	cells, err := r.cells()
	if err != nil {
		return err
	}
	c := &Checkpoint{Version: CheckpointVersion, Asking: asking, Whole: r.cellsKept == nil, Cells: changed(r.cellsKept, cells)}
	if c.Whole {
		r.memory = nil
	}
	maps.Copy(c.Cells, r.newMemory())
	r.writeTranscript(c)
	if err := r.record(ctx, Entry{Kind: EntryCheckpoint, Checkpoint: c}); err != nil {
		return err
	}
	r.cellsKept, r.sealed = cells, r.out.State
	r.segment, r.line = newSegment(), ""
	r.counted, r.rewritten = len(r.window.Messages()), r.window.Rewritten()
	return nil
}

// writeTranscript says what the entries do not.
func (r *run) writeTranscript(c *Checkpoint) {
	all := r.window.Messages()
	if r.window.Rewritten() != r.rewritten {
		c.Messages = all
		return
	}
	c.Line = r.line
	since := all[r.counted:]
	if !reflect.DeepEqual(r.segment.closed(r.line), since) && len(since) > 0 {
		c.Line, c.Tail = "", since
	}
}
