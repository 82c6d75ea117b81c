package agent

import (
	"context"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
)

// EntryKind says what an [Entry] records.
type EntryKind string

// The closed set of kinds, in the order in which they appear in a step.
const (
	EntryMessage  EntryKind = "message"  // text that joined the transcript (task, inbox, nudge)
	EntryRequest  EntryKind = "request"  // a request is about to be sent
	EntryReply    EntryKind = "reply"    // a reply arrived
	EntryIntended EntryKind = "intended" // a call is about to run
	EntryFinished EntryKind = "finished" // a call has its result
	EntrySnapshot EntryKind = "snapshot" // the state of the files was kept
	EntryNotice   EntryKind = "notice"   // something the platform did: compaction, limit, end
)

// Entry is one record. Kind says which of the pointers is set.
type Entry struct {
	Kind  EntryKind `json:"kind"`
	Time  time.Time `json:"time"`
	Step  int       `json:"step"`
	Phase Phase     `json:"phase,omitempty"`

	Message  *model.Message  `json:"message,omitempty"`
	Request  *RequestRecord  `json:"request,omitempty"`
	Reply    *model.Response `json:"reply,omitempty"`
	Call     *CallRecord     `json:"call,omitempty"`
	Snapshot *SnapshotRecord `json:"snapshot,omitempty"`
	Notice   string          `json:"notice,omitempty"`
}

// RequestRecord says what was sent without repeating the transcript.
type RequestRecord struct {
	Model           string `json:"model"`
	Role            Role   `json:"role,omitempty"`
	Messages        int    `json:"messages"`
	EstimatedTokens int    `json:"estimated_tokens"`
	MaxOutputTokens int    `json:"max_output_tokens"`
	NoCalls         bool   `json:"no_calls,omitempty"` // the last step of a run
}

// CallRecord is one tool call; Result is nil while it is only intended.
type CallRecord struct {
	Call   model.ToolCall `json:"call"`
	Tier   tool.Tier      `json:"tier"`
	Effect tool.Effect    `json:"effect"`
	Tree   string         `json:"tree,omitempty"` // the work tree's hash: before when intended, after when finished
	Result *tool.Result   `json:"result,omitempty"`
}

// SnapshotRecord names a kept state of the files.
type SnapshotRecord struct {
	ID   string `json:"id"`
	Tree string `json:"tree,omitempty"`
}

// Recorder is the journal. Record returns when the entry is as durable as it
// will be; an error stops the run before the thing that was to be recorded
// happens. Its context outlives the run's by a few seconds, so that a canceled
// run is recorded to its end. Calls come one at a time.
type Recorder interface {
	Record(ctx context.Context, e Entry) error
}

// Message is a later message of an entitled person.
type Message struct {
	ID     string
	Author string
	Text   string
}

// Inbox hands over messages that arrived since it was last asked. It is asked
// at the start of each step. An error ends the run.
type Inbox interface {
	Messages(ctx context.Context) ([]Message, error)
}

// TreeHasher names the state of the workspace's files: equal contents, equal
// names. It lets the loop tell a repeated call from one in a changed tree.
type TreeHasher interface {
	TreeHash(ctx context.Context) (string, error)
}

// Snapshotter keeps states of the workspace's files, for the restore tool and
// for whoever continues the run.
//
// Take keeps the state as it is and names it; the label is for people. It is
// asked after each step that changed the files and before a command that may.
// An error ends no run: the state is then not kept, and that is recorded.
type Snapshotter interface {
	Take(ctx context.Context, label string) (id string, err error)
}
