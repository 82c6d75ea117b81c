package tool

import (
	"context"
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
