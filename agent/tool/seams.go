package tool

import (
	"context"
	"errors"
	"time"
)

// Executor runs commands where they can do no harm. The agent does not know
// where that is: jobs/runner adapts one from a sandbox.
//
// Execute returns an error only when the command could not be started or its
// end could not be learnt. A command that ran, however it ended, is an
// Execution. A canceled ctx ends the command and returns what it had printed,
// with cause [CauseCanceled]. Implementations serialise or allow concurrent
// commands as they like; the agent asks for one at a time.
type Executor interface {
	Execute(ctx context.Context, cmd Command) (Execution, error)
}

// Command is one script to run.
type Command struct {
	Script string // for /bin/sh -c
	// Dir is relative to the workspace, slash-separated; empty means its root.
	Dir string
	// Env holds extra NAME=value pairs; never a secret.
	Env []string
	// Timeout ends the command; Idle ends it when it prints nothing for so
	// long. Zero means the executor's default.
	Timeout, Idle time.Duration
}

// Cause says why a command ended.
type Cause string

// The closed set of causes.
const (
	CauseExited      Cause = "exited"
	CauseTimedOut    Cause = "timed_out"
	CauseIdle        Cause = "idle"
	CauseOOM         Cause = "oom"
	CauseOutputLimit Cause = "output_limit"
	CauseDiskLimit   Cause = "disk_limit"
	CauseLost        Cause = "lost" // the sandbox is gone; the next command gets a new one
	CauseCanceled    Cause = "canceled"
)

// Execution is a command that ended. Head and Tail are the first and the last
// bytes of its combined output as kept (they do not overlap; when TotalBytes
// is their sum nothing is missing between them).
type Execution struct {
	ExitCode   int           `json:"exit_code"`
	Signal     string        `json:"signal,omitempty"` // "SIGKILL", empty when none
	Cause      Cause         `json:"cause"`
	Duration   time.Duration `json:"duration_ns"`
	Head       []byte        `json:"-"`
	Tail       []byte        `json:"-"`
	TotalBytes int64         `json:"total_bytes"`
	TotalLines int64         `json:"total_lines"`
	Artifact   string        `json:"artifact,omitempty"` // where the whole output is kept
}

// Differ tells what a run changed, from the trusted side (never by running git
// in the workspace).
//
// Diff returns a unified diff with git's headers between the base and the
// workspace, limited to the given workspace-relative paths, all when empty.
// No change is an empty string.
type Differ interface {
	Diff(ctx context.Context, paths []string) (string, error)
}

// Spawner starts commands that live on while others run: servers, watchers.
//
// Spawn returns when the command has started; ctx bounds the start alone. What
// was started ends by itself, by Stop, or with the run.
type Spawner interface {
	Spawn(ctx context.Context, cmd Command) (Process, error)
}

// Process is a command that was spawned. It is safe for concurrent use.
type Process interface {
	// Done is closed when it has ended.
	Done() <-chan struct{}
	// Execution is how it ended, or, before that, its output so far with an
	// empty Cause.
	Execution() Execution
	// Stop asks it to end, ends it after a grace, and returns how it ended.
	Stop(ctx context.Context) (Execution, error)
}

// Historian reads the history of the base commit from the trusted side. Text
// and names in it are untrusted. A path that the commit does not have is an
// [ErrNoSuchPath].
type Historian interface {
	// Log gives the newest commits first.
	Log(ctx context.Context, q LogQuery) ([]Commit, error)
	// Blame says for lines from..to of a file (counted from 1, to included; 0
	// means the end) which commit last changed each.
	Blame(ctx context.Context, path string, from, to int) ([]BlameLine, error)
}

// ErrNoSuchPath is wrapped by the error of a path that is not in the commit.
var ErrNoSuchPath = errors.New("no such path in the commit")

// LogQuery selects commits.
type LogQuery struct {
	Path  string // file or directory; empty means all
	Text  string // in the message, ignoring case; empty means any
	Limit int    // how many at most, at least 1
}

// Commit is one entry of a log.
type Commit struct {
	ID      string // full hash
	Author  string
	Date    time.Time
	Message string
	Files   []string // changed, at most a few
	More    int      // files beyond those
}

// BlameLine is one line with where it came from.
type BlameLine struct {
	Line   int
	Commit string
	Author string
	Date   time.Time
	Text   string
}

// Restorer takes the workspace's files back to a kept state.
//
// Restore touches only files that differ between now and then (all, or those
// at or below the given paths), keeps the state before as a snapshot of its
// own, and never removes an ignored file that the run did not make. An id that
// is not known is an [ErrNoSuchSnapshot].
type Restorer interface {
	// Snapshots lists what is kept, oldest first.
	Snapshots(ctx context.Context) ([]Snapshot, error)
	Restore(ctx context.Context, id string, paths []string) (Restored, error)
}

// ErrNoSuchSnapshot is wrapped by the error of an id that is not kept.
var ErrNoSuchSnapshot = errors.New("no such snapshot")

// Snapshot is a kept state of the workspace's files.
type Snapshot struct {
	ID    string
	Label string // for people: "after step 12"
}

// Restored is what a restore did.
type Restored struct {
	// Before is the snapshot that was made first.
	Before  string
	Effects []FileEffect
}
