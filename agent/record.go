package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/greenwright/greenwright/agent/model"
	"github.com/greenwright/greenwright/agent/tool"
)

// EntryKind says what an [Entry] records.
type EntryKind string

// The closed set of kinds, in the order in which they appear in a step.
const (
	EntryMessage    EntryKind = "message"    // text that joined the transcript (task, inbox, nudge)
	EntryRequest    EntryKind = "request"    // a request is about to be sent
	EntryReply      EntryKind = "reply"      // a reply arrived
	EntryIntended   EntryKind = "intended"   // a call is about to run, or to run again
	EntrySnapshot   EntryKind = "snapshot"   // the state of the files was kept
	EntrySuspended  EntryKind = "suspended"  // a call waits for a person; it is run when the run goes on
	EntryFinished   EntryKind = "finished"   // a call has its result
	EntryCheckpoint EntryKind = "checkpoint" // where the run stands, for whoever goes on with it
	EntryNotice     EntryKind = "notice"     // something the platform did: compaction, limit, end
)

// Entry is one record. Kind says which of the pointers is set.
type Entry struct {
	Kind  EntryKind `json:"kind"`
	Time  time.Time `json:"time"`
	Step  int       `json:"step"`
	Phase Phase     `json:"phase,omitempty"`
	// ElapsedMS is how much of its wall clock the run has used, in
	// milliseconds: the time in which nobody worked on it does not count.
	ElapsedMS int64 `json:"elapsed_ms,omitempty"`

	Message *model.Message `json:"message,omitempty"`
	// Said is what a message is for, and From who wrote it if a person did.
	Said       Saying          `json:"said,omitempty"`
	From       *Sender         `json:"from,omitempty"`
	Request    *RequestRecord  `json:"request,omitempty"`
	Reply      *model.Response `json:"reply,omitempty"`
	Call       *CallRecord     `json:"call,omitempty"`
	Snapshot   *SnapshotRecord `json:"snapshot,omitempty"`
	Checkpoint *Checkpoint     `json:"checkpoint,omitempty"`
	Notice     string          `json:"notice,omitempty"`
}

// Saying is what a message of the transcript is for.
type Saying string

// The closed set of sayings.
const (
	SaidTask   Saying = "task"    // the opening message
	SaidPerson Saying = "person"  // a later message of an entitled person
	SaidWrapUp Saying = "wrap_up" // a limit is nearly used up
	SaidLast   Saying = "last"    // a limit is used up: the last step follows
	SaidNotice Saying = "notice"  // the platform's word on how the work goes
	SaidNudge  Saying = "nudge"   // the answer to a reply that cannot be acted on
	SaidMoved  Saying = "moved"   // another worker goes on with the run
)

// Sender is who wrote a message, and the message's id in the inbox.
type Sender struct {
	ID     string `json:"id"`
	Author string `json:"author"`
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
	// Proved is what the call showed of verifying commands.
	Proved []Proof `json:"proved,omitempty"`
	// Verdict is what a submission came to.
	Verdict *Verdict `json:"verdict,omitempty"`
	// Memory is what the tools remember otherwise than before the call, by
	// the cells of [Checkpoint].
	Memory map[string]json.RawMessage `json:"memory,omitempty"`
}

// SnapshotRecord names a kept state of the files.
type SnapshotRecord struct {
	ID   string `json:"id"`
	Tree string `json:"tree,omitempty"`
	// Sum vouches for what is kept of it outside, in the recorder's words; the
	// agent does not read it.
	Sum string `json:"sum,omitempty"`
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
	ID     string `json:"id"`
	Author string `json:"author"`
	Text   string `json:"text"`
}

// Inbox holds messages of entitled people. An error ends the run.
//
// Messages gives all that are not taken yet, in order; it is asked at the
// start of each step and before a submission is accepted, and may give again
// what it gave before: a message is heard once, by its ID, which must not be
// empty. Taken is told of those that are recorded, and that a worker before
// has recorded; it is idempotent.
type Inbox interface {
	Messages(ctx context.Context) ([]Message, error)
	Taken(ctx context.Context, ids ...string) error
}

// TreeHasher names the state of the workspace's files: equal contents, equal
// names. It lets the loop tell a repeated call from one in a changed tree.
type TreeHasher interface {
	TreeHash(ctx context.Context) (string, error)
}

// Snapshotter keeps states of the workspace's files, for the restore tool and
// for whoever continues the run.
//
// Take keeps the state as it is, where another worker finds it, and names it;
// the label is for people. It is asked after each call that changed the files,
// before that call is recorded as finished. An error ends no run: the state is
// then not kept, and that is recorded.
type Snapshotter interface {
	Take(ctx context.Context, label string) (id string, err error)
}
